/**
 * Reads a config file in YAML, which includes JSON. Invariants: messages repeat nothing from the file except names of
 * keys, since the file may contain a secret; aliases and tags are refused, so that a small file cannot become a large
 * value; every value keeps its line number.
 *
 * Why the package yaml: it has no dependencies, reports lines and duplicate keys, and returns nodes before it builds
 * objects. js-yaml loses the lines, and the messages of JSON.parse repeat content.
 */
import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { codeOf, CosmigError, type Problem, type UsageError } from '../../lib/errors.ts';
import { A_DEVICE, describeFsError, describeSpecialFile } from '../../lib/fs-error.ts';
import { nearest } from '../../lib/nearest.ts';
import { exampleOf, FIELD_NAMES, fieldOf } from '../fields.ts';
import { asUsageError } from './problems.ts';
import type { Given, Origin } from './given.ts';
import { parseYaml } from './yaml-text.ts';

/** The values of a file, and the problems with single values. */
export interface ConfigFile {
  readonly givens: readonly Given[];
  readonly problems: readonly Problem[];
}

/** The maximum size of the file. Settings need about a page of text; a larger file was probably named by mistake. */
const SIZE_MAX = 16 * 1024;

/**
 * Reads a config file; `name` is its name in messages. Returns undefined when the file does not exist, and throws
 * when it cannot be used at all.
 */
export function readConfigFile(path: string, name: string): ConfigFile | undefined {
  const bytes = readBytes(path, name);
  if (bytes === undefined) return undefined;
  if (bytes.length > SIZE_MAX) {
    throw refused(name, `${name} is too large for a config file`, `it has more than ${SIZE_MAX / 1024} KB`);
  }
  if (!isUtf8(bytes)) throw refused(name, `${name} cannot be read`, 'it is not text in UTF-8');
  return parseConfig(bytes.toString('utf8'), name);
}

/**
 * Reads at most one byte more than SIZE_MAX, which is enough to detect a larger file. Returns undefined when the file
 * does not exist.
 */
function readBytes(path: string, name: string): Buffer | undefined {
  let file: number | undefined;
  try {
    const special = describeSpecialFile(path);
    if (special !== undefined && special !== A_DEVICE) throw refused(name, `${name} is not a file`, special);
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
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof CosmigError) throw error;
    throw refused(name, `${name} cannot be read`, describeFsError(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Returns the error for a file that cannot be used at all. It contains no further problems, since they would only be
 * consequences of this one.
 */
function refused(name: string, message: string, why: string): UsageError {
  const hint = 'give a YAML or JSON file with the settings, or fix this one';
  return asUsageError([{ from: name, message, why, hint }]);
}

/** The maximum number of brackets, dashes and question marks: settings nest two levels deep. */
const MARKS_MAX = 256;

/** Parses the text of a config file; `name` is its name in messages. */
export function parseConfig(text: string, name: string): ConfigFile {
  const nodes = parseYaml(text, MARKS_MAX);
  if ('why' in nodes) {
    const { line, why } = nodes;
    if (line === null) throw refused(name, `${name} has no settings`, why);
    throw refused(name, `${name} line ${line} cannot be read`, why);
  }
  const { contents, lineOf } = nodes;
  if (contents === null) return { givens: [], problems: [] };
  if (!isMap(contents))
    throw refused(name, `${name} has no settings`, 'it is not a list of names with values');
  const read = contents.items.map(({ key, value }) => {
    const line = lineOf(isScalar(key) ? key.range?.[0] : undefined);
    const setting = isScalar(key) && typeof key.value === 'string' ? key.value : '';
    return readSetting(setting, value, { kind: 'file', file: name, line });
  });
  return {
    givens: read.filter((one) => 'field' in one),
    problems: read.filter((one) => 'message' in one),
  };
}

type InFile = Extract<Origin, { readonly kind: 'file' }>;

/** Returns the value of a setting, or the problem with it. */
function readSetting(name: string, value: Node | null, origin: InFile): Given | Problem {
  const field = FIELD_NAMES.find((known) => known === name);
  if (field === undefined) return problemOfName(name, origin);
  const { type, env } = fieldOf(field);
  if (type === 'secret') {
    const why = 'files are copied and committed, together with the secrets in them';
    const hint = `set ${env} instead, and remove it from the file`;
    return problemAt(origin, `${field} is not accepted in a file`, why, hint);
  }
  const texts = textsOf(value);
  if (texts !== undefined && (type === 'list' || !isSeq(value))) return { field, texts, origin };
  const expected = type === 'list' ? 'it is one text, or a list of texts' : 'it has one value';
  const why = isAlias(value) ? 'aliases are not accepted' : expected;
  const hint = `for example ${field}: ${exampleOf(field)}`;
  return problemAt(origin, `${field} is not valid like this`, why, hint);
}

function problemOfName(name: string, origin: InFile): Problem {
  const near = FIELD_NAMES.find((known) => known === nearest(name, FIELD_NAMES));
  const isSecret = near === undefined ? SECRET_NAMES.test(name) : fieldOf(near).type === 'secret';
  const hint = isSecret
    ? 'remove it if it is a secret: account keys and connection strings are given by variables only'
    : near === undefined
      ? 'see cosmig copy --help for the settings; names are in camelCase'
      : `did you mean ${near}?`;
  // Only a plain word is shown, since any other text may be a secret.
  const shown = /^[\w.-]{1,40}$/.test(name) ? name : 'this name';
  return problemAt(origin, `unknown setting: ${shown}`, 'cosmig has no setting of this name', hint);
}

function problemAt({ file, line }: InFile, message: string, why: string, hint: string): Problem {
  const from = `${file} line ${line}`;
  return { from, message: `${message} (${from})`, why, hint };
}

const SECRET_NAMES = /(?:key|secret|password|token|connection_?string)$/i;

/**
 * Returns the texts of a scalar, or of a list of scalars, as they are written in the file; undefined for any other
 * node.
 */
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
  // A number is returned as it is written, so that 1e3 and 0x10 are refused instead of converted.
  return value === null ? '' : (source ?? '');
}
