/**
 * Property paths: '/a/"b c"/d' as text, ['a', 'b c', 'd'] as steps. Steps that are not plain words are quoted, with a
 * backslash before quotes and backslashes. Invariant: only own properties are read, so `__proto__` and `constructor`
 * are ordinary names.
 */
import { UsageError } from '../lib/errors.ts';
import { composite, type Path, type Value } from './strategies/strategy.ts';

const EXAMPLE = 'write a path like /tenantId, /address/zip or /a/"b c"';

/** Parses a text that is a path from beginning to end. */
export function parsePath(text: string): Path {
  const { path, end } = readPath(text, 0, '');
  if (end < text.length) throw wrongPath(text, end, 'nothing may follow a quoted step but another one');
  return path;
}

/** Parses the path that begins at `start` in a longer text and ends at one of the characters `stops`. */
export function readPath(text: string, start: number, stops: string): { path: Path; end: number } {
  if (text[start] !== '/') throw wrongPath(text, start, 'a path begins with a slash');
  const path: string[] = [];
  let at = start;
  while (text[at] === '/') {
    const step = readStep(text, at + 1, `/${stops}`);
    path.push(step.name);
    at = step.end;
  }
  return { path, end: at };
}

/** Parses one step, quoted or not, up to one of the characters `stops`. */
export function readStep(text: string, start: number, stops: string): { name: string; end: number } {
  const first = text[start];
  if (first === '"' || first === "'") {
    const quoted = readQuoted(text, start);
    if (quoted === undefined) throw wrongPath(text, start, 'this quote is never closed');
    if (quoted.text === '') throw wrongPath(text, start, 'a step has a name');
    return { name: quoted.text, end: quoted.end };
  }
  let end = start;
  while (end < text.length && !stops.includes(text.charAt(end))) {
    if (`"'\\`.includes(text.charAt(end)))
      throw wrongPath(text, end, 'only a quoted step holds such a character');
    end += 1;
  }
  const name = text.slice(start, end);
  if (name === '') throw wrongPath(text, start, 'a step has a name');
  if (name.trim() !== name) throw wrongPath(text, start, 'a step that begins or ends with a space is quoted');
  return { name, end };
}

/** Reads the quoted text that begins at `start`; undefined if the closing quote is missing. */
export function readQuoted(text: string, start: number): { text: string; end: number } | undefined {
  const quote = text[start];
  let inner = '';
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === quote) return { text: inner, end: at + 1 };
    if (text[at] === '\\') at += 1;
    inner += text.charAt(at);
  }
  return undefined;
}

/** Returns an error about a text of the operator. Positions are counted from 1. */
export function wrongAt(text: string, at: number, why: string, hint: string): UsageError {
  const position = at + 1;
  return new UsageError(`${text} is wrong at character ${position}`, {
    why,
    hint,
    details: { text, position },
  });
}

function wrongPath(text: string, at: number, why: string): UsageError {
  return wrongAt(text === '' ? 'an empty path' : text, at, why, EXAMPLE);
}

/** Returns the path as a text that `parsePath` can read. */
export function printPath(path: Path): string {
  return path.map((step) => `/${/^\w+$/.test(step) ? step : quote(step)}`).join('');
}

function quote(step: string): string {
  return `"${step.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

export function isSamePath(one: Path, other: Path): boolean {
  return one.length === other.length && isAtOrBelow(one, other);
}

/** Whether `path` equals `above`, or leads to something inside it. */
export function isAtOrBelow(path: Path, above: Path): boolean {
  return above.every((step, index) => step === path[index]);
}

/** Whether writing a value at one path would change what is read at the other path. */
export function overlap(one: Path, other: Path): boolean {
  return isAtOrBelow(one, other) || isAtOrBelow(other, one);
}

/**
 * Returns the value at a path of a document in memory. A Date counts as the text that JSON would store. What JSON
 * omits (functions, symbols) counts as missing.
 */
export function valueAt(document: unknown, path: Path): Value {
  let at = document;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, step))
      return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  switch (typeof at) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'undefined':
      return at;
    case 'object':
      if (at === null) return null;
      // JSON stores an invalid date as null.
      return at instanceof Date ? at.toJSON() : composite;
    case 'bigint':
      // JSON cannot represent a bigint.
      return composite;
    default:
      return undefined;
  }
}
