/**
 * The other chances of dead letters. When a slot is left the oldest letter that waits for it is promoted, and the next
 * one if that one no longer wants it; when a unique value may have been freed, every letter within the key value that
 * may want it tries again.
 */
import { orAborted } from '../../lib/abort.ts';
import type { Letter } from '../../state/dead-letters.ts';
import { apply } from '../apply/apply.ts';
import { identityOf, type Freed } from './dead-letters.ts';
import type { OpenLetter } from '../unit/pending-outcomes.ts';
import type { RunContext } from '../context.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';
import { mapKey, type Slot } from '../apply/identity.ts';

/** Letters that are tried at a time. */
const TOGETHER = 64;

export class Promoter {
  readonly #context: RunContext;
  /** By document: the try that has begun, and the one that comes after it. */
  readonly #begun = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();
  #roundWanted = false;
  #roundUnderWay = false;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Called by whoever leaves a slot, still under its lock: the promoted one waits for that. */
  free({ slot, emptied, given }: Freed): void {
    const { pending, start, unique } = this.#context;
    if (!pending.anyLetters) return;
    if (emptied) this.#promoteNext(slot, new Set());
    if (!unique.exist || given?.length === 0) return;
    for (const letter of pending.waitingForKey(slot.key))
      if (given === null || unique.mayWant(letter.identity, given)) start(async () => this.retry(letter));
  }

  /**
   * Applies whatever the source says now of a letter's document. A try that has begun may have been refused for what
   * is over by now, so another follows; one that has not begun will do for all who ask.
   */
  async retry(letter: OpenLetter): Promise<void> {
    const key = mapKey(letter.identity);
    let next = this.#next.get(key);
    if (next === undefined) {
      const begun = this.#begun.get(key);
      if (begun === undefined) return this.#begin(key, letter);
      next = this.#beginAfter(begun, key, letter);
      this.#next.set(key, next);
    }
    await next;
  }

  /**
   * Letters that wait for somebody else, at the start of a run and whenever a range has caught up, until nobody reads
   * any more. Whoever asks while a round is under way has the next one.
   */
  async retryWaiting(reading: AbortSignal): Promise<void> {
    this.#roundWanted = true;
    if (this.#roundUnderWay) return;
    this.#roundUnderWay = true;
    while (this.#roundWanted && !reading.aborted) {
      this.#roundWanted = false;
      for (const letters of this.#open()) {
        if (reading.aborted) break;
        await this.#retryEach(letters.filter(({ waits }) => waits.for !== 'nothing'));
      }
    }
    this.#roundUnderWay = false;
  }

  /** All open letters, or those with these numbers, once more, until told to stop; gives how many. */
  async retryAll(which: 'all' | ReadonlySet<number>, reading: AbortSignal): Promise<number> {
    let retried = 0;
    for (const letters of this.#open()) {
      if (reading.aborted) break;
      const chosen = letters.filter(({ number }) => which === 'all' || which.has(number));
      retried += chosen.length;
      await this.#retryEach(chosen);
    }
    return retried;
  }

  async #retryEach(letters: readonly Letter[]): Promise<void> {
    await Promise.all(letters.map(async (letter) => this.retry(letter)));
  }

  /** A task of the run, which waits for its end even when nobody else does. */
  async #begin(key: string, letter: OpenLetter): Promise<void> {
    const { start, signal } = this.#context;
    const over = new Promise<void>((resolve) => {
      start(async () => {
        await this.#retry(letter);
        this.#begun.delete(key);
        resolve();
      });
    });
    const begun = orAborted(over, signal);
    this.#begun.set(key, begun);
    await begun;
  }

  async #beginAfter(begun: Promise<void>, key: string, letter: OpenLetter): Promise<void> {
    await begun;
    this.#next.delete(key);
    await this.#begin(key, letter);
  }

  async #retry(letter: OpenLetter): Promise<void> {
    const context = this.#context;
    // Another try, or a change of the document, was quicker.
    if (context.pending.letterOf(letter.identity) === null) return;
    const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
    const change = {
      identity: identityOf(letter),
      kind: 'read',
      version: null,
      feed: 'LV',
      lsn: null,
      indexId: null,
    } as const;
    await apply({ context, unit, change });
    context.point('letter-promoted');
    unit.commit();
  }

  #promoteNext(slot: Slot, tried: ReadonlySet<string>): void {
    const { pending, start } = this.#context;
    const next = pending.nextForSlot(slot.hash, tried);
    if (next === null) return;
    start(async () => {
      await this.retry(next);
      const took = pending.rowOf(next.identity, null)?.slot?.equals(slot.hash) === true;
      const waits = pending.waitsForSlot(pending.letterOf(next.identity), slot.hash);
      if (!took && !waits) this.#promoteNext(slot, new Set([...tried, mapKey(next.identity)]));
    });
  }

  *#open(): Generator<Letter[]> {
    for (let after = 0; ;) {
      const letters = this.#context.ledger.letters.list({ state: 'open', after, limit: TOGETHER });
      const last = letters.at(-1);
      if (last === undefined) return;
      yield letters;
      after = last.number;
    }
  }
}
