/**
 * The instants at which the source documents of some buckets expire, by identity. Instants are in no sum, because a
 * copy may expire a little later or earlier than its original, and sums can only be equal or unequal. Invariant: the
 * memory is allocated once, for a given number of documents, and a full table fails instead of forgetting an instant.
 */
import { assert } from '../../lib/assert.ts';
import { instantIn, isSameInstant } from '../pass/expiry.ts';

/** A cell of the table: the four words of the identity, the word of the instant, and 1 if the cell is taken. */
const [IDENTITY_WORDS, INSTANT, TAKEN, CELL_WORDS] = [4, 4, 5, 6];

export class Instants {
  readonly #words: Uint32Array;
  readonly #mask: number;

  /** `documents` is the number of source entries that will be added. */
  constructor(documents: number) {
    const cells = 2 ** Math.ceil(Math.log2(2 * Math.max(1, documents)));
    this.#words = new Uint32Array(cells * CELL_WORDS);
    this.#mask = cells - 1;
  }

  /**
   * Adds a source document, whose identity is at `words[at]`. Returns false if the document is there already with
   * another instant: after a merge of ranges it may have been read twice, before and after it was written again.
   */
  add(words: Uint32Array, at: number, instant: number): boolean {
    const cell = this.#cellOf(words, at);
    const own = this.#words;
    if (own[cell + TAKEN] === 1) return own[cell + INSTANT] === instant;
    for (let i = 0; i < IDENTITY_WORDS; i += 1) own[cell + i] = words[at + i] ?? 0;
    own[cell + INSTANT] = instant;
    own[cell + TAKEN] = 1;
    return true;
  }

  /** Returns whether a target document expires when its original does. */
  isNear(words: Uint32Array, at: number, instant: number): boolean {
    const cell = this.#cellOf(words, at);
    return this.#words[cell + TAKEN] === 1 && isNear(this.#words[cell + INSTANT] ?? 0, instant);
  }

  /** Returns the cell of an identity, or the free cell where it belongs. */
  #cellOf(words: Uint32Array, at: number): number {
    const own = this.#words;
    // The first bits of an identity are those of its bucket, so they are not used here.
    const first = (words[at + 1] ?? 0) & this.#mask;
    for (let step = 0; step <= this.#mask; step += 1) {
      const cell = ((first + step) & this.#mask) * CELL_WORDS;
      if (own[cell + TAKEN] === 0 || this.#isAt(cell, words, at)) return cell;
    }
    assert(false, 'the table has a cell for every source document');
  }

  #isAt(cell: number, words: Uint32Array, at: number): boolean {
    for (let i = 0; i < IDENTITY_WORDS; i += 1) if (this.#words[cell + i] !== words[at + i]) return false;
    return true;
  }
}

/** Returns whether a copy expires when its original does; both instants are words of entries. */
export function isNear(source: number, target: number): boolean {
  return isSameInstant(instantIn(source), instantIn(target));
}
