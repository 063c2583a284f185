/**
 * Looks at open dead letters from time to time, for what no feed reports: the document of a letter was deleted or got
 * another id, or the same has become of the document that has its slot. Then the letter is retried; a retry closes the
 * letter of a document that is gone. Invariant: a look only reads, with no lock, and writes nothing to the ledger. What it
 * has seen is a reason for a retry and never a result: the retry reads again, under its locks.
 *
 * A letter that the operator has discarded ends when its document is gone. A run that catches up, and the gate of a cutover,
 * look at these as well: until then the ledger counts their documents as left behind.
 *
 * The cost is bounded: a look takes one point read of the source, and where the letter waits for a slot one more on each
 * side. A tail looks at so few letters in a round that no number of them is noticed; it only takes longer until each of
 * them was looked at.
 */
import { whenAborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';
import { keyLevels, type Letter } from '../../state/dead-letters.ts';
import { idOf } from '../apply/identity.ts';
import { stillMaps } from '../apply/put-in-slot.ts';
import type { RunContext } from '../context.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import type { Goal } from '../progress/snapshot.ts';
import { identityOf } from './dead-letters.ts';

/** How many letters are looked at together; a tail does this once in a round. */
const AT_ONCE = 32;
/** The time between two rounds of a tail, in waits at the end of a feed: 5 seconds. 1,000 letters take 160 seconds. */
const ROUND_POLLS = 5;
/** How many letters a run that catches up looks at. More would take longer than a short window of a schedule lasts. */
const LETTERS_A_RUN = 1000;

/** Runs the leases, and looks at letters: meanwhile in a tail, and afterwards in a run that catches up. */
export async function withLooks(
  goal: Goal,
  leases: LeasesParts,
  runLeases: () => Promise<void>,
): Promise<void> {
  if (goal === 'tail') leases.context.tasks.start(async () => keepLooking(leases));
  await runLeases();
  if (goal === 'catch-up') await lookOnce(leases);
}

/** Looks at some letters in each round, until `reading` is aborted. Changes of the source come first. */
async function keepLooking({ context, reporter, reading }: LeasesParts): Promise<void> {
  const { clock, timing, pending } = context;
  const looks = new LetterLooks(context, 'open', 0);
  for (;;) {
    try {
      await clock.sleep(timing.pollMs * ROUND_POLLS, reading);
    } catch (error) {
      if (reading.aborted) return;
      throw error;
    }
    if (pending.anyLetters && reporter.haveAllCaughtUp()) await looks.atNext(reading);
  }
}

/**
 * Looks once at the letters that are open, and at those that were discarded, until `reading` is aborted. If there are more
 * than a run may look at, each run begins behind the last one.
 */
export async function lookOnce({ context, reading }: LeasesParts): Promise<void> {
  const { pending, tasks } = context;
  if (!pending.anyLetters && !pending.anyDiscarded) return;
  const over = deferred();
  tasks.start(async () => {
    for (const state of ['open', 'discarded'] as const) await lookAtAll(context, state, reading);
    over.resolve();
  });
  // If the run stops, the task is finished like all others.
  await Promise.race([over.promise, whenAborted(reading)]);
}

async function lookAtAll(context: RunContext, state: State, reading: AbortSignal): Promise<void> {
  const { letters, runs } = context.ledger;
  const count = letters.counts().reduce((sum, one) => sum + (one.state === state ? one.letters : 0), 0);
  const newest = letters.newest(1)[0]?.number ?? 0;
  const run = runs.last()?.number ?? 0;
  const after = count <= LETTERS_A_RUN ? 0 : (run * LETTERS_A_RUN) % newest;
  const looks = new LetterLooks(context, state, after);
  for (let left = Math.min(count, LETTERS_A_RUN); left > 0 && !reading.aborted; left -= AT_ONCE)
    await looks.atNext(reading);
}

type State = 'open' | 'discarded';

class LetterLooks {
  readonly #context: RunContext;
  readonly #state: State;
  /** The number of the letter that was looked at last. */
  #after: number;

  constructor(context: RunContext, state: State, after: number) {
    this.#context = context;
    this.#state = state;
    this.#after = after;
  }

  /** Looks at the next letters, and retries those that may succeed. After the last letter the first one follows. */
  async atNext(reading: AbortSignal): Promise<void> {
    const { ledger, promoter } = this.#context;
    const letters = ledger.letters.list({ state: this.#state, after: this.#after, limit: AT_ONCE });
    this.#after = letters.length < AT_ONCE ? 0 : (letters.at(-1)?.number ?? 0);
    await Promise.all(
      letters.map(async (letter) => {
        if ((await this.#mayEnd(letter)) && !reading.aborted) await promoter.retry(letter);
      }),
    );
  }

  /** Whether the document is gone, or its slot is free or held by a document that does not belong there any longer. */
  async #mayEnd(letter: Letter): Promise<boolean> {
    const { source, slots } = this.#context;
    const { waits, targetKey, reason } = letter;
    // The operator has to decide about such a copy, also when its document is gone.
    if (reason === 'changed-by-others') return false;
    const identity = identityOf(letter);
    if ((await source.read(identity)) === 'gone') return true;
    // Its document is left behind, whatever has become of the slot.
    if (this.#state === 'discarded') return false;
    if (waits.for !== 'slot' || targetKey === null) return false;
    const slot = { hash: waits.slot, key: keyLevels(targetKey) };
    const seen = await slots.read(slot, idOf(identity));
    if (seen === null) return true;
    // What another process has written there is not replaced, whatever the source says.
    if (reason === 'foreign-document' || seen.foreign) return false;
    return !(await stillMaps(this.#context, seen.identity, slot));
  }
}
