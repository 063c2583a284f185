/**
 * Builds the tree of the names that a scan looks for, in flat tables that the kernel reads.
 *
 * A node is a value that a scan looks for, or a value on the path to one. Node 1 is the root. The number 0 stands for a
 * value that the scan does not look for. Nodes are numbered in preorder, so the nodes below a node have the numbers
 * that follow, up to the NODE_LAST of this node. Each node has a small hash table of its children. Most names of a
 * document fall into an empty bucket of this table, so the kernel skips them after a single load.
 */
import { assert } from '../lib/assert.ts';

/** A value that a scan looks for, and the values below it by name. */
export interface Wanted {
  /** Whether the value is the document, from which the system properties are cut out. */
  document?: boolean;
  /** Whether the value is a top-level system property of the document. */
  system?: boolean;
  readonly below: Map<string, Wanted>;
}

export function wanted(): Wanted {
  return { below: new Map() };
}

/** Returns the wanted value at `path` below `from`; adds it and the values on the path if they are missing. */
export function want(from: Wanted, path: readonly string[]): Wanted {
  let node = from;
  for (const name of path) {
    let next = node.below.get(name);
    if (next === undefined) node.below.set(name, (next = wanted()));
    node = next;
  }
  return node;
}

export const ROOT = 1;
/** The flags of a node, for the properties `document` and `system` of Wanted. */
export const DOCUMENT = 1;
export const SYSTEM = 2;
/** The number of buckets in the hash table of a node's children; a power of two. */
export const NAME_BUCKETS = 32;
/**
 * The most nodes in a tree: a node number must fit in a byte. Key levels, their inputs and system properties need far
 * fewer.
 */
const NODES_MAX = 255;

/** The number of fields that a node has in `NameTree.nodes`; the constants below are the indexes of the fields. */
export const NODE_FIELDS = 6;
export const NODE_FLAGS = 0;
export const NODE_LAST = 1;
/** The field with the next node in the same bucket of the parent's hash table; 0: none. */
export const NODE_NEXT = 2;
export const NODE_NAME = 3;
export const NODE_NAME_BYTES = 4;
/** The field that is set if the node has children. */
export const NODE_PARENT = 5;

export interface NameTree {
  readonly count: number;
  /** `NODE_FIELDS` numbers for each node, beginning with node 0. */
  readonly nodes: Int32Array;
  /** The hash table of each node: `NAME_BUCKETS` node numbers. */
  readonly buckets: Uint8Array;
  readonly names: Uint8Array;
  /** The size of the longest name in bytes. */
  readonly longest: number;
}

/** Returns the bucket of a name, from its first byte, its last byte and its size. The kernel uses the same formula. */
export function nameBucketOf(first: number, last: number, sizeBytes: number): number {
  return (first + 3 * last + 5 * sizeBytes) & (NAME_BUCKETS - 1);
}

/** Builds the tables below `root`; returns them with the node of each wanted value. */
export function nameTree(root: Wanted): { tree: NameTree; nodeOf: ReadonlyMap<Wanted, number> } {
  const nodeOf = new Map<Wanted, number>();
  const listed: Array<{ name: string; parent: number; wanted: Wanted; last: number }> = [
    { name: '', parent: 0, wanted: wanted(), last: 0 },
  ];
  const visit = (name: string, parent: number, value: Wanted): void => {
    const entry = { name, parent, wanted: value, last: 0 };
    const node = listed.push(entry) - 1;
    nodeOf.set(value, node);
    for (const [below, child] of value.below) visit(below, node, child);
    entry.last = listed.length - 1;
  };
  visit('', 0, root);
  const count = listed.length;
  assert(count <= NODES_MAX, 'a scan looks for fewer than 255 names');

  const nodes = new Int32Array(count * NODE_FIELDS);
  const buckets = new Uint8Array(count * NAME_BUCKETS);
  const bytes: number[] = [];
  listed.forEach(({ name, parent, wanted: value, last }, node) => {
    const text = encodeUnits(name);
    const flags = (value.document === true ? DOCUMENT : 0) | (value.system === true ? SYSTEM : 0);
    const bucket = parent * NAME_BUCKETS + nameBucketOf(text[0] ?? 0, text.at(-1) ?? 0, text.length);
    const next = parent === 0 ? 0 : (buckets[bucket] ?? 0);
    nodes.set([flags, last, next, bytes.length, text.length, last > node ? 1 : 0], node * NODE_FIELDS);
    if (parent !== 0) buckets[bucket] = node;
    bytes.push(...text);
  });
  const longest = Math.max(...listed.map(({ name }) => encodeUnits(name).length));
  return { tree: { count, nodes, buckets, names: Uint8Array.from(bytes), longest }, nodeOf };
}

/**
 * Encodes the UTF-16 units of a text as UTF-8, a lone surrogate as three bytes. Two texts have the same bytes only if
 * all their units are equal. On a page a text without escapes has the same bytes.
 */
export function encodeUnits(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3);
  return bytes.subarray(0, writeUnits(bytes, 0, text));
}

/** Writes `encodeUnits(text)` to `bytes[at]`, which must have space for it; returns the offset after it. */
export function writeUnits(bytes: Uint8Array, at: number, text: string): number {
  const { length } = text;
  let i = 0;
  for (; i < length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) break;
    bytes[at + i] = unit;
  }
  let end = at + i;
  for (; i < length; i += 1) {
    // codePointAt returns a lone surrogate unchanged and a pair as one code point.
    const code = text.codePointAt(i) ?? 0;
    if (code < 0x80) {
      bytes[end++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[end++] = 0xc0 | (code >>> 6);
    } else {
      if (code < 0x1_0000) {
        bytes[end++] = 0xe0 | (code >>> 12);
      } else {
        bytes[end++] = 0xf0 | (code >>> 18);
        bytes[end++] = 0x80 | ((code >>> 12) & 0x3f);
        i += 1;
      }
      bytes[end++] = 0x80 | ((code >>> 6) & 0x3f);
    }
    bytes[end++] = 0x80 | (code & 0x3f);
  }
  return end;
}
