/**
 * A Bloom filter over the identities that have a row. The copy meets each document once, and hardly any document has a
 * row, so the filter saves nearly all look-ups of rows. Invariant: the filter may answer yes for a document without a
 * row, but never no for a document with a row. While no range is being copied the filter reads no rows and always
 * answers yes.
 */
import type { Ledger } from '../../state/ledger.ts';

/** With this size and a million rows, about one document in twenty is looked up although it has no row. */
const BITS = 8 * 1024 * 1024;

export class RowFilter {
  readonly #bits = new Uint32Array(BITS / 32);
  #empty = true;
  /** Whether the filter has read no rows, and so always answers yes. */
  readonly #blind: boolean;

  constructor({ rows, leases }: Pick<Ledger, 'rows' | 'leases'>) {
    const live = leases.live();
    this.#blind = live.length > 0 && live.every(({ phase }) => phase !== 'copy');
    if (this.#blind) return;
    let after: Buffer = Buffer.alloc(0);
    for (;;) {
      const some = rows.identitiesAfter(after, 10_000);
      for (const identity of some) this.add(identity);
      const last = some.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  add(identity: Buffer): void {
    this.#empty = false;
    this.#set(identity.readUInt32BE(0));
    this.#set(identity.readUInt32BE(4));
  }

  /** Whether an identity may have a row. Its hash is the four words from `words[at]` on. */
  mayHave(words: Uint32Array, at: number): boolean {
    if (this.#blind) return true;
    if (this.#empty) return false;
    return this.#has(words[at] ?? 0) && this.#has(words[at + 1] ?? 0);
  }

  #set(word: number): void {
    const bit = word % BITS;
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  #has(word: number): boolean {
    const bit = word % BITS;
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}
