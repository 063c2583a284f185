/**
 * The other chances of dead letters. When a slot is left the oldest letter that waits for it is promoted, and the next
 * one if that one no longer wants it; when a unique value may have been freed, every letter within the key value tries
 * again.
 */
import { orAborted } from '../lib/abort.ts';
import type { Letter } from '../state/letters.ts';
import { apply } from './apply.ts';
import { whoOf, type Freed } from './letters.ts';
import type { OpenLetter } from './memory.ts';
import type { Mover } from './mover.ts';
import { Unit } from './unit.ts';
import { mapKey, type Slot } from './who.ts';

/** Letters that are tried at a time. */
const TOGETHER = 64;

export class Promoter {
  readonly #mover: Mover;
  readonly #retrying = new Map<string, Promise<void>>();

  constructor(mover: Mover) {
    this.#mover = mover;
  }

  /** Called by whoever leaves a slot, still under its lock: the promoted one waits for that. */
  free({ slot, emptied }: Freed): void {
    const { memory, start, uniqueKeys } = this.#mover;
    if (!memory.anyLetters) return;
    if (emptied) this.#promoteNext(slot, new Set());
    if (!uniqueKeys) return;
    for (const letter of memory.waitingForKey(slot.key)) start(async () => this.retry(letter));
  }

  /** Applies whatever the source says now of a letter's document. One that has begun and waits sees the newest. */
  async retry(letter: OpenLetter): Promise<void> {
    const key = mapKey(letter.identity);
    let retrying = this.#retrying.get(key);
    if (retrying === undefined) {
      retrying = this.#retry(letter).finally(() => this.#retrying.delete(key));
      this.#retrying.set(key, retrying);
    }
    await retrying;
  }

  /** Letters that wait for somebody else, at the start of a run and when a range has caught up. */
  async retryWaiting(signal: AbortSignal): Promise<void> {
    for (const letters of this.#open()) {
      const waiting = letters.filter(({ waits }) => waits.for !== 'nothing');
      await this.#retryEach(waiting, signal);
    }
  }

  /** All open letters, or those with these numbers, once more; gives how many. */
  async retryAll(which: 'all' | ReadonlySet<number>, signal: AbortSignal): Promise<number> {
    let retried = 0;
    for (const letters of this.#open()) {
      const chosen = letters.filter(({ number }) => which === 'all' || which.has(number));
      retried += chosen.length;
      await this.#retryEach(chosen, signal);
    }
    return retried;
  }

  async #retryEach(letters: readonly Letter[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await orAborted(Promise.all(letters.map(async (letter) => this.retry(letter))), signal);
  }

  async #retry(letter: OpenLetter): Promise<void> {
    const mover = this.#mover;
    const unit = new Unit(mover, { lease: null, feed: 'LV' });
    const change = {
      who: whoOf(letter),
      kind: 'read',
      version: null,
      feed: 'LV',
      lsn: null,
      tree: null,
    } as const;
    await apply({ mover, unit, change });
    mover.point('letter-promoted');
    unit.commit();
  }

  #promoteNext(slot: Slot, tried: ReadonlySet<string>): void {
    const { memory, start } = this.#mover;
    const next = memory.nextForSlot(slot.hash, tried);
    if (next === null) return;
    start(async () => {
      await this.retry(next);
      const took = memory.rowOf(next.identity, null)?.slot?.equals(slot.hash) === true;
      const waits = memory.letterOf(next.identity)?.slot?.equals(slot.hash) === true;
      if (!took && !waits) this.#promoteNext(slot, new Set([...tried, mapKey(next.identity)]));
    });
  }

  *#open(): Generator<Letter[]> {
    for (let after = 0; ;) {
      const letters = this.#mover.ledger.letters.list({ state: 'open', after, limit: TOGETHER });
      const last = letters.at(-1);
      if (last === undefined) return;
      yield letters;
      after = last.number;
    }
  }
}
