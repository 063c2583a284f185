/**
 * Reads a config file: YAML, and JSON as the part of YAML that it is. What always holds: nothing of its content is
 * repeated except names of keys, since somebody may have put a secret there; nothing is expanded (aliases) or
 * built (tags), so that a small file cannot become a large one; every value keeps its line.
 *
 * The package: yaml has no dependencies, reports lines and duplicate keys, and hands out nodes before it builds
 * objects; js-yaml loses the lines, and JSON.parse repeats content in its messages.
 */
import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import type { Problem, UsageError } from '../lib/errors.ts';
import { fileTrouble } from '../lib/fs-error.ts';
import { nearest } from '../lib/nearest.ts';
import { FIELD_NAMES, fieldOf } from './fields.ts';
import { asUsageError } from './problems.ts';
import type { Given } from './input.ts';

/** What a file holds, and what is wrong with single values of it. */
export interface ConfigFile {
  readonly givens: readonly Given[];
  readonly problems: readonly Problem[];
}

/** A spec is a page of text; more than this is another file by mistake. */
const SIZE_MAX = 16 * 1024;

/** Reads a file; `name` is what it is called in complaints. Undefined when it is not there, an error when it is no spec. */
export function readConfigFile(path: string, name: string): ConfigFile | undefined {
  const bytes = readBytes(path, name);
  if (bytes === undefined) return undefined;
  if (bytes.length > SIZE_MAX) {
    throw refused(name, `${name} is too large for a config file`, `it has more than ${SIZE_MAX / 1024} KB`);
  }
  if (!isUtf8(bytes)) throw refused(name, `${name} cannot be read`, 'it is not text in UTF-8');
  return parseConfig(bytes.toString('utf8'), name);
}

/** The beginning of a file, a byte more than it may have; undefined when it is not there. */
function readBytes(path: string, name: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const bytes = Buffer.alloc(SIZE_MAX + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw refused(name, `${name} cannot be read`, fileTrouble(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** A file that cannot be used at all: what it would have said is not known, and guessing would only add noise. */
function refused(name: string, message: string, why: string): UsageError {
  const hint = 'give a YAML or JSON file with the spec, or mend this one';
  return asUsageError([{ from: name, message, why, hint }]);
}

/**
 * The parser recurses until the stack is full, and where that strikes inside a regular expression Node ends at once
 * (seen with 32,000 dashes). Every level takes a bracket, a dash or a question mark, or a line with more indentation
 * than the one above; SIZE_MAX bounds the latter.
 */
const MARKS_MAX = 256;
const MARKS = /[[{]|(?:^|\s)[-?](?=\s)/gm;

/** Reads the text of a config file. */
export function parseConfig(text: string, name: string): ConfigFile {
  if ((text.match(MARKS)?.length ?? 0) > MARKS_MAX) {
    throw refused(name, `${name} holds no spec`, `it has more than ${MARKS_MAX} brackets, braces and dashes`);
  }
  const lines = new LineCounter();
  const lineOf = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    stringKeys: true,
    uniqueKeys: true,
    merge: false,
    // Its errors would quote the text.
    prettyErrors: false,
    // Less, and a second document would be passed over.
    logLevel: 'error',
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    const why = REASONS[error.code] ?? error.code.toLowerCase().replaceAll('_', ' ');
    throw refused(name, `${name} line ${lineOf(error.pos[0])} cannot be read`, why);
  }
  const { contents } = document;
  // An empty file, or comments only.
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    return { givens: [], problems: [] };
  }
  if (!isMap(contents)) throw refused(name, `${name} holds no spec`, 'it is not a list of names with values');
  return new Reader(name, lineOf).read(contents.items);
}

const REASONS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'a name stands there a second time',
  MULTIPLE_DOCS: 'a second document begins there',
  TAB_AS_INDENT: 'it is indented with a tab',
  BAD_INDENT: 'its indentation does not fit',
  MISSING_CHAR: 'a quote, a bracket or a colon is missing',
  UNEXPECTED_TOKEN: 'something stands there that does not belong; texts with { } [ ] : # need quotes',
  TAG_RESOLVE_FAILED: 'it has a tag, and tags are not taken',
  NON_STRING_KEY: 'a name is not text',
};

interface Pair {
  readonly key: unknown;
  readonly value: unknown;
}

class Reader {
  readonly #name: string;
  readonly #lineOf: (offset: number | undefined) => number;
  readonly #givens: Given[] = [];
  readonly #problems: Problem[] = [];

  constructor(name: string, lineOf: (offset: number | undefined) => number) {
    this.#name = name;
    this.#lineOf = lineOf;
  }

  read(pairs: readonly Pair[]): ConfigFile {
    for (const { key, value } of pairs) {
      const line = this.#lineOf(isScalar(key) ? key.range?.[0] : undefined);
      const name = isScalar(key) && typeof key.value === 'string' ? key.value : '';
      this.#readPair(name, value as Node | null, line);
    }
    return { givens: this.#givens, problems: this.#problems };
  }

  #readPair(name: string, value: Node | null, line: number): void {
    const field = FIELD_NAMES.find((known) => known === name);
    if (field === undefined) return this.#refuseName(name, line);
    const { type, env, example } = fieldOf(field);
    if (type === 'secret') {
      return this.#refuse(
        line,
        `${field} is not taken from a file`,
        'files are copied and committed, with the secrets in them',
        `set ${env} instead, and take it out of the file`,
      );
    }
    const texts = textsOf(value);
    if (texts === undefined || (type !== 'list' && isSeq(value))) {
      const why = isAlias(value)
        ? 'aliases are not taken'
        : type === 'list'
          ? 'it is one text, or a list of texts'
          : 'it has one value';
      return this.#refuse(
        line,
        `${field} is not possible like this`,
        why,
        `write for instance ${field}: ${example}`,
      );
    }
    this.#givens.push({ field, texts, origin: { kind: 'file', file: this.#name, line } });
  }

  #refuseName(name: string, line: number): void {
    const near = FIELD_NAMES.find((known) => known === nearest(name, FIELD_NAMES));
    const isSecret = near === undefined ? SECRET_NAMES.test(name) : fieldOf(near).type === 'secret';
    const hint = isSecret
      ? 'take it out if it is a secret: account keys and connection strings are given by variables only'
      : near === undefined
        ? 'see cosmig --help for what there is; names are in camelCase'
        : `did you mean ${near}?`;
    // What is no word may be anything, a secret too.
    const shown = /^[\w.-]{1,40}$/.test(name) ? name : 'this name';
    this.#refuse(line, `there is nothing called ${shown}`, 'a spec has no such value', hint);
  }

  #refuse(line: number, message: string, why: string, hint: string): void {
    const from = `${this.#name} line ${line}`;
    this.#problems.push({ from, message: `${message} (${from})`, why, hint });
  }
}

const SECRET_NAMES = /(?:key|secret|password|token|connection_?string)$/i;

/** The texts of a scalar or of a list of them, as they stand there; nothing for what is neither. */
function textsOf(node: Node | null): string[] | undefined {
  if (node === null) return [''];
  if (isSeq(node)) {
    const parts = node.items.map((item) => (isScalar(item) ? textOf(item.value, item.source) : undefined));
    return parts.every((part) => part !== undefined) ? parts : undefined;
  }
  return isScalar(node) ? [textOf(node.value, node.source)] : undefined;
}

function textOf(value: unknown, source: string | undefined): string {
  if (typeof value === 'string') return value;
  // A number as it was written: 1e3 and 0x10 shall not pass for something else.
  return value === null ? '' : (source ?? '');
}
