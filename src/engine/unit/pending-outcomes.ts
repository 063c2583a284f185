/**
 * Looks up what is known of a document: in the outcomes that are not committed yet, and otherwise in the ledger.
 * Invariant: a caller gets the newest outcome, committed or not. An outcome stays in memory until every unit of work
 * that has touched its document is committed, so memory does not grow with the number of documents.
 */
import { mapKey } from '../../documents/hash.ts';
import { must } from '../../lib/assert.ts';
import type { Ledger } from '../../state/ledger.ts';
import { packKey } from '../../state/segments/key-bytes.ts';
import type { Letter, LetterChange, Waits } from '../../state/dead-letters.ts';
import type { Override, LedgerRow } from '../../state/rows.ts';
import { RowFilter } from '../copy/row-filter.ts';
import { type Slot } from '../apply/identity.ts';

/** An open dead letter, without the number that the ledger gives it. */
export type OpenLetter = Extract<LetterChange, { change: 'open' }>['letter'];

interface Pending {
  /** How many units of work have touched the document and are not committed. */
  units: number;
  row: LedgerRow | undefined;
  letter: LetterChange | undefined;
  /** How many attempts at the letter the ledger does not count yet. The next commit adds them. */
  attempts: number;
}

export class PendingOutcomes {
  /** Says quickly whether a document may have a row. */
  readonly filter: RowFilter;
  /** Whether any dead letter may be open. If not, look-ups of letters are skipped. */
  anyLetters: boolean;
  /** Whether any dead letter is discarded. None becomes so while a run lasts: an operator needs the ledger for that. */
  readonly anyDiscarded: boolean;
  readonly #ledger: Ledger;
  readonly #pending = new Map<string, Pending>();
  /** Letters that are not committed: first by what the letter waits for, then by identity. */
  readonly #waiting = new Map<string, Map<string, OpenLetter>>();
  /**
   * Overrides that are not committed, by identity and slot: the number of the newest, and how many units have set one.
   */
  readonly #overrides = new Map<string, { sequence: number; units: number }>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.filter = new RowFilter(ledger);
    this.anyLetters = ledger.letters.openCount() > 0;
    this.anyDiscarded = ledger.letters.counts().some(({ state }) => state === 'discarded');
  }

  /**
   * Returns what is known of a document. If `indexId` is null all finished indexes are searched, otherwise only this
   * index.
   */
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

  /** Whether the letter waits for this slot. A letter whose document belongs in the slot may wait for something else. */
  waitsForSlot(letter: OpenLetter | null, slot: Buffer): boolean {
    return letter !== null && letter.waits.for === 'slot' && letter.waits.slot.equals(slot);
  }

  /** Returns the oldest open letter that waits for this slot and is not among `tried`. */
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

  /** Returns every open letter that waits for this target key value. */
  waitingForKey(key: Slot['key']): OpenLetter[] {
    const waiting: OpenLetter[] = [];
    for (let after = 0; ;) {
      const letter: Letter | null = this.#ledger.letters.nextForKey({ key, after });
      if (letter === null) break;
      after = letter.number;
      // A change that is not committed is newer than this letter of the ledger. If the letter still waits, it is in
      // `#waiting`.
      if (this.#pending.get(mapKey(letter.identity))?.letter === undefined) waiting.push(letter);
    }
    return [...waiting, ...(this.#waiting.get(nameOf({ for: 'key', key }))?.values() ?? [])];
  }

  // The methods below are for units of work only. A unit touches a document, sets its outcome, and releases both when it
  // is committed.

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
   * Returns the newest outcome of a document, for the commit of a unit that has touched the document. The outcome may
   * come from a later unit. The attempts since the last commit are returned to the first caller only, so that each
   * counts once.
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

/** Returns a map key for what a letter waits for. */
function nameOf(waits: Exclude<Waits, { for: 'nothing' }>): string {
  return waits.for === 'slot' ? mapKey(waits.slot) : `key ${packKey(waits.key).toString('latin1')}`;
}
