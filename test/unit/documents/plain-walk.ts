/**
 * The scan written plainly, byte by byte: what the kernel (`wasm/scan.ts`) must agree with, offsets and errors
 * included. It was the first scanner; the kernel took over because it is several times faster.
 */
import {
  DOCUMENT,
  NODE_FIELDS,
  NODE_FLAGS,
  NODE_LAST,
  NODE_NAME,
  NODE_NAME_BYTES,
  NODE_NEXT,
  NODE_PARENT,
  NAME_BUCKETS,
  ROOT,
  SYSTEM,
  encodeUnits,
  nameBucketOf,
} from '../../../src/documents/name-tree.ts';
import { FAULTS } from '../../../src/documents/page-error.ts';
import type { NameTree } from '../../../src/documents/name-tree.ts';

export const ROW_HEAD = 4;
export const DEPTH_MAX = 1024;

/** The kernel's faults, in the order of its numbers. */
const KINDS = [
  'none',
  'end',
  'trailing',
  'page',
  'documents',
  'element',
  'comma',
  'colon',
  'name',
  'control',
  'escape',
  'value',
  'number',
  'depth',
  'memory',
] as const;

/** A fault found by the walk: which one, and at which byte. */
export class Fault extends Error {
  readonly what: string;
  readonly at: number;
  constructor(kind: (typeof KINDS)[number], at: number) {
    super(`${kind} at ${at}`);
    this.what = FAULTS[KINDS.indexOf(kind)] ?? '';
    this.at = at;
  }
}

const text = (word: string): number[] => [...Buffer.from(word)];
const DOCUMENTS = text('Documents');
const ESCAPES = new Set(text('"\\/bfnrt'));

export class PlainWalk {
  rows: Int32Array = new Int32Array(1024);
  cuts: Int32Array = new Int32Array(256);
  count = 0;
  readonly #tree: NameTree;
  readonly #stride: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #end = 0;
  #row = 0;
  #cutEnd = 0;
  readonly #stack = new Int32Array(DEPTH_MAX + 1);
  readonly #isObject = new Uint8Array(DEPTH_MAX + 1);
  #escaped = false;
  #hasLongInteger = false;

  constructor(tree: NameTree) {
    this.#tree = tree;
    this.#stride = ROW_HEAD + 2 * tree.count;
  }

  walk(shape: 'feed' | 'array', page: Uint8Array): void {
    if (shape === 'feed') this.feed(page);
    else this.reply(page);
  }

  /** A feed page: an object with an array `Documents`. */
  feed(page: Uint8Array): void {
    this.#start(page);
    let found = false;
    let at = this.#space(0);
    if (page[at] !== 0x7b) throw this.#fault('page', at);
    at = this.#space(at + 1);
    if (page[at] === 0x7d) at += 1;
    else {
      for (;;) {
        const name = at;
        at = this.#string(at);
        const isDocuments = this.#nameIs(name + 1, at - 1, DOCUMENTS);
        at = this.#space(at);
        if (page[at] !== 0x3a) throw this.#fault('colon', at);
        at = this.#space(at + 1);
        if (isDocuments) {
          if (page[at] !== 0x5b) throw this.#fault('documents', at);
          at = this.#array(at, 1);
          found = true;
        } else at = this.#value(at, 0, 1);
        at = this.#space(at);
        if (page[at] === 0x7d) break;
        if (page[at] !== 0x2c) throw this.#fault('comma', at);
        at = this.#space(at + 1);
      }
      at += 1;
    }
    this.#trailing(at);
    if (!found) throw this.#fault('documents', at);
  }

  /** An array of objects. */
  reply(page: Uint8Array): void {
    this.#start(page);
    const at = this.#space(0);
    if (page[at] !== 0x5b) throw this.#fault('page', at);
    this.#trailing(this.#array(at, 0));
  }

  #start(page: Uint8Array): void {
    this.#bytes = page;
    this.#end = page.length;
    this.count = 0;
    this.#cutEnd = 0;
  }

  #fault(kind: (typeof KINDS)[number], at: number): Fault {
    return at >= this.#end ? new Fault('end', this.#end) : new Fault(kind, at);
  }

  #trailing(from: number): void {
    const at = this.#space(from);
    if (at < this.#end) throw new Fault('trailing', at);
  }

  #array(from: number, depth: number): number {
    const bytes = this.#bytes;
    this.count = 0;
    this.#cutEnd = 0;
    let at = this.#space(from + 1);
    if (bytes[at] === 0x5d) return at + 1;
    for (;;) {
      if (bytes[at] !== 0x7b) throw this.#fault('element', at);
      this.#row = this.count * this.#stride;
      if (this.#row + this.#stride > this.rows.length) {
        const wider = new Int32Array(this.rows.length * 2 + this.#stride);
        wider.set(this.rows);
        this.rows = wider;
      }
      this.rows.fill(0, this.#row, this.#row + this.#stride);
      this.rows[this.#row] = at;
      this.rows[this.#row + 2] = this.#cutEnd;
      this.rows[this.#row + 3] = this.#cutEnd;
      this.#hasLongInteger = false;
      at = this.#value(at, ROOT, depth + 1);
      this.rows[this.#row + 1] = at;
      this.rows[this.#row + ROW_HEAD + 1] = this.#hasLongInteger ? 1 : 0;
      this.count += 1;
      at = this.#space(at);
      if (bytes[at] === 0x5d) return at + 1;
      if (bytes[at] !== 0x2c) throw this.#fault('comma', at);
      at = this.#space(at + 1);
    }
  }

  /** One value, found for `asked`; gives the position behind it. */
  #value(from: number, asked: number, above: number): number {
    const bytes = this.#bytes;
    const { nodes } = this.#tree;
    let at = from;
    let node = asked;
    let depth = 0;
    // Of the document that is open, if one is: where its current member starts, and how many were kept.
    let memberStart = 0;
    let kept = 0;
    for (;;) {
      if (node !== 0) this.#begin(node, at);
      const byte = bytes[at] ?? 0;
      let opened = 0;
      if (byte === 0x22) at = this.#string(at);
      else if (byte === 0x7b || byte === 0x5b) {
        opened = byte;
        if (depth + above >= DEPTH_MAX) throw new Fault('depth', at);
        at = this.#space(at + 1);
        if (bytes[at] === byte + 2) {
          opened = 0;
          at += 1;
        } else {
          depth += 1;
          this.#stack[depth] = node;
          this.#isObject[depth] = byte === 0x7b ? 1 : 0;
          if (node !== 0 && byte === 0x7b && (nodes[node * NODE_FIELDS + NODE_FLAGS] ?? 0) & DOCUMENT) {
            kept = 0;
            memberStart = (this.rows[this.#row + ROW_HEAD + 2 * node] ?? 0) + 1;
          }
        }
      } else at = this.#scalar(at);

      if (opened === 0) {
        // A value is complete; so may be the ones around it.
        for (;;) {
          if (node !== 0) this.rows[this.#row + ROW_HEAD + 2 * node + 1] = at;
          if (depth === 0) return at;
          at = this.#space(at);
          const next = bytes[at] ?? 0;
          const isObject = this.#isObject[depth] === 1;
          const container = this.#stack[depth] ?? 0;
          const close = next === (isObject ? 0x7d : 0x5d);
          if (!close && next !== 0x2c) throw this.#fault('comma', at);
          if (container !== 0 && isObject && (nodes[container * NODE_FIELDS + NODE_FLAGS] ?? 0) & DOCUMENT) {
            if (node !== 0 && (nodes[node * NODE_FIELDS + NODE_FLAGS] ?? 0) & SYSTEM) {
              if (kept > 0) this.#cut(memberStart - 1, at);
              else this.#cut(memberStart, close ? at : at + 1);
            } else kept += 1;
            memberStart = at + 1;
          }
          at += 1;
          if (!close) {
            at = this.#space(at);
            break;
          }
          node = container;
          depth -= 1;
        }
      }
      // At the next member or element.
      if (this.#isObject[depth] === 1) {
        const name = at;
        at = this.#string(at);
        node = this.#child(this.#stack[depth] ?? 0, name + 1, at - 1);
        at = this.#space(at);
        if (bytes[at] !== 0x3a) throw this.#fault('colon', at);
        at = this.#space(at + 1);
      } else node = 0;
    }
  }

  /** Of a name that stands twice, the last one counts, with all that is below it. */
  #begin(node: number, at: number): void {
    const first = this.#row + ROW_HEAD + 2 * node;
    const last = this.#tree.nodes[node * NODE_FIELDS + NODE_LAST] ?? 0;
    if (this.rows[first] !== 0) {
      this.rows.fill(0, first, this.#row + ROW_HEAD + 2 * last + 2);
      for (let below = node; below <= last; below += 1) {
        if ((this.#tree.nodes[below * NODE_FIELDS + NODE_FLAGS] ?? 0) & DOCUMENT) {
          this.#cutEnd = this.rows[this.#row + 2] ?? 0;
          this.rows[this.#row + 3] = this.#cutEnd;
        }
      }
    }
    this.rows[first] = at;
  }

  #cut(from: number, to: number): void {
    const { rows } = this;
    if (this.#cutEnd > (rows[this.#row + 2] ?? 0) && this.cuts[2 * this.#cutEnd - 1] === from) {
      this.cuts[2 * this.#cutEnd - 1] = to;
      return;
    }
    if (2 * this.#cutEnd + 2 > this.cuts.length) {
      const wider = new Int32Array(this.cuts.length * 2);
      wider.set(this.cuts);
      this.cuts = wider;
    }
    this.cuts[2 * this.#cutEnd] = from;
    this.cuts[2 * this.#cutEnd + 1] = to;
    this.#cutEnd += 1;
    rows[this.#row + 3] = this.#cutEnd;
  }

  #space(from: number): number {
    let at = from;
    for (;;) {
      const byte = this.#bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
      at += 1;
    }
  }

  /** From the opening quote to behind the closing one. */
  #string(from: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    if (bytes[from] !== 0x22) throw this.#fault('name', from);
    let at = from + 1;
    this.#escaped = false;
    for (;;) {
      if (at >= end) throw new Fault('end', end);
      const byte = bytes[at] ?? 0;
      if (byte === 0x22) return at + 1;
      if (byte < 0x20) throw new Fault('control', at);
      if (byte === 0x5c) {
        this.#escaped = true;
        const kind = bytes[at + 1] ?? 0;
        if (kind === 0x75) {
          for (let i = at + 2; i < at + 6; i += 1) {
            if (hexOf(bytes[i] ?? 0) < 0) throw this.#fault('escape', i);
          }
          at += 6;
        } else if (ESCAPES.has(kind)) at += 2;
        else throw this.#fault('escape', at + 1);
      } else at += 1;
    }
  }

  #scalar(from: number): number {
    const byte = this.#bytes[from] ?? 0;
    if (byte === 0x74) return this.#literal(from, 'true');
    if (byte === 0x66) return this.#literal(from, 'false');
    if (byte === 0x6e) return this.#literal(from, 'null');
    if (byte !== 0x2d && !isDigit(byte)) throw this.#fault('value', from);
    let at = byte === 0x2d ? from + 1 : from;
    if (this.#bytes[at] === 0x30) at += 1;
    else at = this.#digits(at);
    const end = at;
    if (this.#bytes[at] === 0x2e) at = this.#digits(at + 1);
    if (((this.#bytes[at] ?? 0) | 0x20) === 0x65) {
      at += 1;
      if (this.#bytes[at] === 0x2b || this.#bytes[at] === 0x2d) at += 1;
      at = this.#digits(at);
    }
    if (at === end && at - from > 15) {
      const whole = BigInt(Buffer.from(this.#bytes.subarray(from, at)).toString());
      if (whole > 2n ** 53n || whole < -(2n ** 53n)) this.#hasLongInteger = true;
    }
    return at;
  }

  #literal(from: number, word: string): number {
    for (let i = 0; i < word.length; i += 1) {
      if (this.#bytes[from + i] !== word.charCodeAt(i)) throw this.#fault('value', from + i);
    }
    return from + word.length;
  }

  #digits(from: number): number {
    let at = from;
    while (isDigit(this.#bytes[at] ?? 0)) at += 1;
    if (at === from) throw this.#fault('number', at);
    return at;
  }

  #child(parent: number, from: number, to: number): number {
    const { nodes, buckets, names } = this.#tree;
    if (parent === 0 || nodes[parent * NODE_FIELDS + NODE_PARENT] === 0) return 0;
    let bytes = this.#bytes;
    let [start, end] = [from, to];
    if (this.#escaped) {
      bytes = unescape(bytes.subarray(from, to));
      [start, end] = [0, bytes.length];
    }
    let node =
      buckets[
        parent * NAME_BUCKETS +
          nameBucketOf(bytes[start] ?? 0, end > start ? (bytes[end - 1] ?? 0) : 0, end - start)
      ] ?? 0;
    for (; node !== 0; node = nodes[node * NODE_FIELDS + NODE_NEXT] ?? 0) {
      if (nodes[node * NODE_FIELDS + NODE_NAME_BYTES] !== end - start) continue;
      const name = nodes[node * NODE_FIELDS + NODE_NAME] ?? 0;
      let same = 0;
      while (same < end - start && bytes[start + same] === names[name + same]) same += 1;
      if (same === end - start) return node;
    }
    return 0;
  }

  #nameIs(from: number, to: number, name: readonly number[]): boolean {
    const bytes = this.#escaped ? unescape(this.#bytes.subarray(from, to)) : this.#bytes.subarray(from, to);
    return bytes.length === name.length && name.every((byte, i) => bytes[i] === byte);
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function hexOf(byte: number): number {
  if (isDigit(byte)) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** The units of a string's inside, in the one-to-one form of `encodeUnits`. */
function unescape(inside: Uint8Array): Uint8Array {
  const value = JSON.parse(`"${Buffer.from(inside).toString()}"`) as string;
  return encodeUnits(value);
}
