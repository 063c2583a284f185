/**
 * Compares documents by their meaning as JSON. The order of members does not matter. If a name is repeated, its last
 * value counts. Texts are compared by UTF-16 units. Numbers are compared as decimals and never become doubles: 1.10
 * equals 1.1 and 11e-1, and 9223372036854775807 differs from 9223372036854775808.
 *
 * Only documents whose bytes differ are compared here. These are usually few, so the code may be slower than the scan,
 * but it must be as exact. Invariant: a difference is reported as its path, never with a value of the document.
 */
import { isUtf8 } from 'node:buffer';
import { assert } from '../lib/assert.ts';
import { DEPTH_MAX } from './kernel/scan-kernel.ts';
import { NOT_UTF8, PageError } from './page-error.ts';
import { STORED_PROPERTIES } from './system-properties.ts';

/** A JSON value in a form that is the same for values of the same meaning. */
export type Canonical =
  | { readonly kind: 'text' | 'number' | 'word'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly Canonical[] }
  | { readonly kind: 'object'; readonly members: Map<string, Canonical> };

/** Where two documents differ: the property names and array indexes from the root. */
export type DifferencePath = ReadonlyArray<string | number>;

/** Reads a document without its top-level system properties and without the values at the paths `omitted`. */
export function readCanonical(json: Uint8Array, omitted: ReadonlyArray<readonly string[]> = []): Canonical {
  if (!isUtf8(json)) throw new PageError(NOT_UTF8, 0);
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString();
  try {
    JSON.parse(text);
  } catch {
    // The error of JSON.parse is not passed on, because its message quotes the document.
    throw new PageError('a document is not JSON', 0);
  }
  const form = new Reader(text).read();
  for (const name of STORED_PROPERTIES) omit(form, [name]);
  for (const path of omitted) omit(form, path);
  return form;
}

function omit(form: Canonical, path: readonly string[]): void {
  let at: Canonical | undefined = form;
  for (const [i, name] of path.entries()) {
    if (at?.kind !== 'object') return;
    if (i === path.length - 1) at.members.delete(name);
    else at = at.members.get(name);
  }
}

const SPACE = /[ \n\r\t]*/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Reads a JSON text that JSON.parse has accepted, so its syntax needs no check. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Canonical {
    this.#match(SPACE);
    return this.#value(0);
  }

  #value(depth: number): Canonical {
    if (depth > DEPTH_MAX) throw new PageError('it is nested too deeply', this.#at);
    switch (this.#text[this.#at]) {
      case '"':
        return { kind: 'text', text: this.#string() };
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case 't':
        return this.#word('true');
      case 'f':
        return this.#word('false');
      case 'n':
        return this.#word('null');
      default:
        return { kind: 'number', text: decimalOf(this.#match(NUMBER)) };
    }
  }

  #object(depth: number): Canonical {
    const members = new Map<string, Canonical>();
    this.#list('}', () => {
      const name = this.#string();
      this.#match(SPACE);
      this.#at += 1;
      this.#match(SPACE);
      members.set(name, this.#value(depth + 1));
    });
    return { kind: 'object', members };
  }

  #array(depth: number): Canonical {
    const items: Canonical[] = [];
    this.#list(']', () => items.push(this.#value(depth + 1)));
    return { kind: 'array', items };
  }

  /** Reads the items between an opening bracket and `close`, and both brackets. */
  #list(close: string, readItem: () => void): void {
    this.#at += 1;
    this.#match(SPACE);
    while (this.#text[this.#at] !== close) {
      readItem();
      this.#match(SPACE);
      if (this.#text[this.#at] === ',') this.#at += 1;
      this.#match(SPACE);
    }
    this.#at += 1;
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    let escaped = false;
    for (; this.#text[end] !== '"'; end += 1) {
      if (this.#text[end] !== '\\') continue;
      escaped = true;
      end += 1;
    }
    this.#at = end + 1;
    if (!escaped) return this.#text.slice(start + 1, end);
    return JSON.parse(this.#text.slice(start, end + 1)) as string;
  }

  #word(text: string): Canonical {
    this.#at += text.length;
    return { kind: 'word', text };
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [match] = pattern.exec(this.#text) ?? [];
    assert(match !== undefined, 'JSON.parse has accepted the text');
    this.#at += match.length;
    return match;
  }
}

/**
 * Returns a number as text that is the same for equal numbers: digits without zeros at both ends, and a power of ten.
 */
export function decimalOf(json: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(json) ?? [];
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start += 1;
  if (start === digits.length) return '0';
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  const power = BigInt(exponent.replace('+', '')) + BigInt(digits.length - end - fraction.length);
  return `${sign}${digits.slice(start, end)}e${power}`;
}

/**
 * Returns the path at which two documents first differ; undefined if they are equal. Members are compared in the order
 * in which `a` has them, then those that only `b` has.
 */
export function firstDifference(a: Canonical, b: Canonical): DifferencePath | undefined {
  if (a.kind === 'array' && b.kind === 'array') {
    for (let i = 0; i < Math.max(a.items.length, b.items.length); i += 1) {
      const path = differenceOf(i, a.items[i], b.items[i]);
      if (path !== undefined) return path;
    }
    return undefined;
  }
  if (a.kind === 'object' && b.kind === 'object') {
    for (const name of new Set([...a.members.keys(), ...b.members.keys()])) {
      const path = differenceOf(name, a.members.get(name), b.members.get(name));
      if (path !== undefined) return path;
    }
    return undefined;
  }
  const isSame = a.kind === b.kind && 'text' in a && 'text' in b && a.text === b.text;
  return isSame ? undefined : [];
}

function differenceOf(
  step: string | number,
  a: Canonical | undefined,
  b: Canonical | undefined,
): DifferencePath | undefined {
  if (a === undefined || b === undefined) return [step];
  const below = firstDifference(a, b);
  return below === undefined ? undefined : [step, ...below];
}
