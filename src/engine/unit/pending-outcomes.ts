/**
 * Outcomes of documents that are not committed yet, over those in the ledger. Invariant: a caller gets the newest outcome,
 * committed or not. An outcome leaves the memory when it is committed and no other unit has touched its document, so memory
 * does not grow with the number of documents.
 */
import { mapKey } from '../../documents/hash.ts';
import { must } from '../../lib/assert.ts';
import type { Ledger } from '../../state/ledger.ts';
import { packKey } from '../../state/segments/key-bytes.ts';
import type { Letter, LetterChange, Waits } from '../../state/dead-letters.ts';
import type { Override, LedgerRow } from '../../state/rows.ts';
import { RowFilter } from '../copy/row-filter.ts';
import { type Slot } from '../apply/identity.ts';

/** A letter before it has its number. */
export type OpenLetter = Extract<LetterChange, { change: 'open' }>['letter'];

interface Pending {
  /** Units that have touched the document and are not committed. */
  units: number;
  row: LedgerRow | undefined;
  letter: LetterChange | undefined;
  /** Attempts that the ledger does not know of. */
  attempts: number;
}

export class PendingOutcomes {
  /** Whether a document may have a row at all. */
  readonly filter: RowFilter;
  /** Whether letters must be looked up at all. */
  anyLetters: boolean;
  readonly #ledger: Ledger;
  readonly #pending = new Map<string, Pending>();
  /** Letters that are not committed, by what they wait for, and by identity. */
  readonly #waiting = new Map<string, Map<string, OpenLetter>>();
  /** By identity and slot; the number of the newest override. */
  readonly #overrides = new Map<string, { sequence: number; units: number }>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.filter = new RowFilter(ledger);
    this.anyLetters = ledger.letters.openCount() > 0;
  }

  /** What is known of a document. With the tree of its lease one index is asked, with null all that are done. */
  rowOf(identity: Buffer, indexId: number | null): LedgerRow | null {
    const pending = this.#pending.get(mapKey(identity))?.row;
    if (pending !== undefined) return pending;
    return this.#ledger.lookup.find(
      identity,
      indexId,
      ({ slot, sequence }) =>
        (this.#overrides.get(mapKey(identity) + mapKey(slot))?.sequence ?? -1) > sequence,
    );
  }

  letterOf(identity: Buffer): OpenLetter | null {
    const pending = this.#pending.get(mapKey(identity))?.letter;
    if (pending === undefined) return this.#ledger.letters.findOpen(identity);
    return pending.change === 'open' ? pending.letter : null;
  }

  /** Whether the letter waits for this slot. A letter may belong there and wait for something else. */
  waitsForSlot(letter: OpenLetter | null, slot: Buffer): boolean {
    return letter !== null && letter.waits.for === 'slot' && letter.waits.slot.equals(slot);
  }

  /** The oldest open letter that waits for this slot and is none of `tried`. */
  nextForSlot(slot: Buffer, tried: ReadonlySet<string>): OpenLetter | null {
    let after = 0;
    for (;;) {
      const letter = this.#ledger.letters.nextForSlot({ slot, after });
      if (letter === null) break;
      after = letter.number;
      if (!tried.has(mapKey(letter.identity)) && this.waitsForSlot(this.letterOf(letter.identity), slot))
        return letter;
    }
    for (const [key, letter] of this.#waiting.get(nameOf({ for: 'slot', slot })) ?? [])
      if (!tried.has(key)) return letter;
    return null;
  }

  /** Every open letter that waits for a target key value. */
  waitingForKey(key: Slot['key']): OpenLetter[] {
    const waiting: OpenLetter[] = [];
    for (let after = 0; ;) {
      const letter: Letter | null = this.#ledger.letters.nextForKey({ key, after });
      if (letter === null) break;
      after = letter.number;
      // What is not committed is newer, and among the others.
      if (this.#pending.get(mapKey(letter.identity))?.letter === undefined) waiting.push(letter);
    }
    return [...waiting, ...(this.#waiting.get(nameOf({ for: 'key', key }))?.values() ?? [])];
  }

  // For units of work only: they touch documents, set outcomes, and let go of both when they are committed.

  touch(identity: Buffer): void {
    const key = mapKey(identity);
    const pending = this.#pending.get(key);
    if (pending === undefined)
      this.#pending.set(key, { units: 1, row: undefined, letter: undefined, attempts: 0 });
    else pending.units += 1;
  }

  setRow(row: LedgerRow): void {
    this.#touched(row.identity).row = row;
    this.filter.add(row.identity);
  }

  setLetter(identity: Buffer, letter: LetterChange): void {
    const pending = this.#touched(identity);
    this.#waitNoMore(pending);
    pending.letter = letter;
    if (letter.change === 'open') pending.attempts += 1;
    if (letter.change !== 'open' || letter.letter.waits.for === 'nothing') return;
    const name = nameOf(letter.letter.waits);
    const others = this.#waiting.get(name) ?? new Map<string, OpenLetter>();
    this.#waiting.set(name, others.set(mapKey(identity), letter.letter));
  }

  setOverride({ identity, slot, sequence }: Override): void {
    const key = mapKey(identity) + mapKey(slot);
    const units = (this.#overrides.get(key)?.units ?? 0) + 1;
    this.#overrides.set(key, { sequence, units });
  }

  /**
   * The newest outcome of a document, for the commit of a unit that has touched it: another unit may have been later. The
   * attempts are returned to the first caller only.
   */
  newest(identity: Buffer): {
    readonly row: LedgerRow | undefined;
    readonly letter: LetterChange | undefined;
  } {
    const pending = this.#touched(identity);
    const { row, letter, attempts } = pending;
    if (letter?.change !== 'open') return { row, letter };
    pending.attempts = 0;
    return { row, letter: { ...letter, attempts } };
  }

  letGo(identities: Iterable<Buffer>, overrides: Iterable<Override>): void {
    for (const identity of identities) {
      const key = mapKey(identity);
      const pending = must(this.#pending.get(key), 'what a unit has touched stays until it is committed');
      pending.units -= 1;
      if (pending.units > 0) continue;
      this.#pending.delete(key);
      this.#waitNoMore(pending);
    }
    for (const { identity, slot } of overrides) {
      const key = mapKey(identity) + mapKey(slot);
      const pending = must(this.#overrides.get(key), 'an override stays until it is committed');
      pending.units -= 1;
      if (pending.units === 0) this.#overrides.delete(key);
    }
  }

  #touched(identity: Buffer): Pending {
    return must(this.#pending.get(mapKey(identity)), 'a unit says what it touches');
  }

  #waitNoMore({ letter }: Pending): void {
    if (letter?.change !== 'open' || letter.letter.waits.for === 'nothing') return;
    const name = nameOf(letter.letter.waits);
    const others = must(this.#waiting.get(name), 'a waiting letter is found by what it waits for');
    others.delete(mapKey(letter.letter.identity));
    if (others.size === 0) this.#waiting.delete(name);
  }
}

/** What is waited for, as a name. */
function nameOf(waits: Exclude<Waits, { for: 'nothing' }>): string {
  return waits.for === 'slot' ? mapKey(waits.slot) : `key ${packKey(waits.key).toString('latin1')}`;
}
