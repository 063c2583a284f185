/**
 * Whether a document may have a row, without asking the ledger: a Bloom filter, so that the copy, which meets each
 * document once, does not look a million times for what is hardly ever there. It errs by saying yes, never by no.
 * Where no range is copied any more, rows are many and nobody asks: then it reads none of them, and always says yes.
 */
import type { Ledger } from '../../state/ledger.ts';

/** A million rows, and one in fifty documents is looked up in vain. */
const BITS = 8 * 1024 * 1024;

export class RowFilter {
  readonly #bits = new Uint32Array(BITS / 32);
  #empty = true;

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

  /** A hash of four words at `words[at]`. */
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
