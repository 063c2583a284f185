/**
 * Retries dead letters. When a slot becomes free, the oldest letter that waits for the slot is retried. If its document
 * no longer belongs in the slot, the next letter follows. When a unique value may have become free, all letters with the
 * same target key value that may want the value are retried.
 */
import { mapKey } from '../../documents/hash.ts';
import { orAborted } from '../../lib/abort.ts';
import type { Letter } from '../../state/dead-letters.ts';
import { identityOf, type Freed } from './dead-letters.ts';
import type { OpenLetter } from '../unit/pending-outcomes.ts';
import type { RunContext } from '../context.ts';
import { reapply } from './reapply.ts';
import { type Slot } from '../apply/identity.ts';

/** How many letters are retried at the same time. */
const AT_ONCE = 64;

export class Promoter {
  readonly #context: RunContext;
  /** The retry that is in progress, for each document. */
  readonly #begun = new Map<string, Promise<void>>();
  /** The retry that follows the one in `#begun`, for each document. */
  readonly #next = new Map<string, Promise<void>>();
  #roundWanted = false;
  #roundRunning = false;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Starts the retries that a changed slot makes possible. The caller holds the slot's lock, for which the retries wait.
   */
  free({ slot, emptied, given }: Freed): void {
    const { pending, tasks, unique } = this.#context;
    if (!pending.anyLetters) return;
    if (emptied) this.#promoteNext(slot, new Set());
    if (!unique.exist || given?.length === 0) return;
    for (const letter of pending.waitingForKey(slot.key))
      if (given === null || unique.mayWant(letter.identity, given))
        tasks.start(async () => this.retry(letter));
  }

  /**
   * Applies the current version of a letter's document. If a retry has begun already, it may be refused for a reason
   * that is no longer valid, so another retry follows. Callers that come before that retry begins share it.
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
   * Retries the letters that wait for another document, until reading stops. Called when the leases begin to run, when
   * the copy is indexed, and when a range that was read again has reached its new anchor. A call during a round makes
   * another round follow.
   */
  async retryWaiting(reading: AbortSignal): Promise<void> {
    this.#roundWanted = true;
    if (this.#roundRunning) return;
    this.#roundRunning = true;
    while (this.#roundWanted && !reading.aborted) {
      this.#roundWanted = false;
      for (const letters of this.#context.ledger.letters.inLists('open', AT_ONCE)) {
        if (reading.aborted) break;
        await this.#retryEach(letters.filter(({ waits }) => waits.for !== 'nothing'));
      }
    }
    this.#roundRunning = false;
  }

  /**
   * Retries all open letters, or those with these numbers, until `reading` is aborted. Returns how many were retried.
   */
  async retryAll(which: 'all' | ReadonlySet<number>, reading: AbortSignal): Promise<number> {
    let retried = 0;
    for (const letters of this.#context.ledger.letters.inLists('open', AT_ONCE)) {
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

  /** Starts the retry as a task of the run, so that the run waits for it even if no caller does. */
  async #begin(key: string, letter: OpenLetter): Promise<void> {
    const { tasks, signal } = this.#context;
    const over = new Promise<void>((resolve) => {
      tasks.start(async () => {
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
    const { pending, ledger } = context;
    // If the letter is no longer open, another retry or a change of the document has closed it. One that was discarded is
    // retried only when its document was seen to be gone.
    const isDiscarded = pending.anyDiscarded && ledger.letters.isDiscarded(letter.identity);
    if (pending.letterOf(letter.identity) === null && !isDiscarded) return;
    const unit = await reapply(context, identityOf(letter));
    context.points.reach('letter-retried');
    unit.commit(null);
  }

  #promoteNext(slot: Slot, tried: ReadonlySet<string>): void {
    const { pending, tasks } = this.#context;
    const next = pending.nextForSlot(slot.hash, tried);
    if (next === null) return;
    tasks.start(async () => {
      await this.retry(next);
      const took = pending.rowOf(next.identity, null)?.slot?.equals(slot.hash) === true;
      const waits = pending.waitsForSlot(pending.letterOf(next.identity), slot.hash);
      if (!took && !waits) this.#promoteNext(slot, new Set([...tried, mapKey(next.identity)]));
    });
  }
}
