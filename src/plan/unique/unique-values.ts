/**
 * The values that the unique keys of a container take from a document. A unique key holds within one value of the
 * partition key, so under another key documents may conflict that never did before. Invariant: as in the service, a
 * missing value counts as null; an object or an array counts by its text.
 */
import { IdentityHasher } from '../../documents/identity.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { decodeScalar, isComposite } from '../../documents/scalar.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { parsePath } from '../../keys/path.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { UsageError } from '../../lib/errors.ts';
import type { KeyColumns } from '../pass/key-columns.ts';

/** The paths of one unique key. */
export interface UniqueKey {
  readonly text: readonly string[];
  readonly paths: readonly Path[];
}

/** How many words of a hash are kept: documents with equal hashes are taken to have equal values. */
export const HASH_WORDS = 3;

/** Returns the paths of each unique key of a policy, as the service sends it. */
export function uniqueKeyPaths(policy: unknown): string[][] {
  const keys: unknown = Reflect.get(Object(policy), 'uniqueKeys');
  if (!Array.isArray(keys)) return [];
  return keys.map((key: unknown) => {
    const paths: unknown = Reflect.get(Object(key), 'paths');
    return Array.isArray(paths) ? paths.map(String) : [];
  });
}

/** Returns the unique keys of a policy. A key with a path of an unknown form is left out. */
export function uniqueKeysOf(policy: unknown): readonly UniqueKey[] {
  return uniqueKeyPaths(policy).flatMap((text) => {
    if (text.length === 0) return [];
    try {
      return [{ text, paths: text.map((path) => parsePath(path)) }];
    } catch (error) {
      if (error instanceof UsageError) return [];
      throw error;
    }
  });
}

export class UniquePage {
  readonly #scan: PageScan;
  readonly #nodes: ReadonlyArray<readonly number[]>;
  readonly #hasher = new IdentityHasher();
  readonly #hash = new Uint32Array(4);
  /** Three words for each row and unique key: the hash of the values. */
  #words = new Int32Array(0);

  /** Precondition: the scan looks for all paths. */
  constructor(scan: PageScan, keys: readonly UniqueKey[]) {
    this.#scan = scan;
    this.#nodes = keys.map(({ paths }) => paths.map((path) => scan.nodeAt(path)));
  }

  /** Hashes the values of all rows of the last scanned page. */
  read({ rows, count }: Pick<KeyColumns, 'rows' | 'count'>): void {
    const words = HASH_WORDS * this.#nodes.length * count;
    if (this.#words.length < words) this.#words = new Int32Array(2 * words);
    for (let i = 0; i < count; i += 1) this.#readRow(rows[i] ?? 0, i);
  }

  /**
   * Writes three words that two documents have in common only if they have the same key, whose hash is given, and the
   * same values of a unique key.
   */
  // oxlint-disable-next-line max-params -- an object for each document would cost more than the hash
  pair(key: number, i: number, high: number, low: number, out: Int32Array): void {
    const at = HASH_WORDS * (i * this.#nodes.length + key);
    out[0] = high ^ (this.#words[at] ?? 0);
    out[1] = low ^ (this.#words[at + 1] ?? 0);
    out[2] = ((high << 16) | (high >>> 16)) ^ (this.#words[at + 2] ?? 0);
  }

  /** The values of a row, for people. */
  valuesOf(key: number, row: number): readonly KeyComponent[] {
    const scan = this.#scan;
    return (this.#nodes[key] ?? []).map((node) => {
      const start = scan.start(row, node);
      if (start === 0) return null;
      const end = scan.end(row, node);
      return isComposite(scan.page, start)
        ? scan.page.toString('utf8', start, end)
        : decodeScalar(scan.page, start, end);
    });
  }

  #readRow(row: number, i: number): void {
    const hasher = this.#hasher;
    for (let key = 0; key < this.#nodes.length; key += 1) {
      hasher.clear();
      // The hash of a value differs from that of the same value as a partition key, since both are combined later.
      hasher.add(`unique key ${key}`);
      for (const node of this.#nodes[key] ?? []) this.#add(row, node);
      hasher.finish(this.#hash, 0);
      const at = HASH_WORDS * (i * this.#nodes.length + key);
      for (let word = 0; word < HASH_WORDS; word += 1) this.#words[at + word] = this.#hash[word] ?? 0;
    }
  }

  #add(row: number, node: number): void {
    const scan = this.#scan;
    const start = scan.start(row, node);
    const end = scan.end(row, node);
    const hasher = this.#hasher;
    if (start === 0) hasher.add(null);
    else if (isComposite(scan.page, start)) {
      const parsed: unknown = JSON.parse(scan.page.toString('utf8', start, end));
      // No other value begins with a missing one.
      hasher.add(undefined);
      hasher.add(JSON.stringify(parsed));
    } else hasher.addRaw(scan.page, start, end);
  }
}
