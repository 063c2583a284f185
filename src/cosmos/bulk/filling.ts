/**
 * Decides whether a small batch waits for more operations. A page of the copy has few documents for each of hundreds of
 * ranges, and a request costs the client as much as about ten documents. Invariant: no batch waits longer than it takes to
 * become worth a request (`Batcher.isWorthSending`), and none when the dispatcher is drained.
 */
import type { ChildSignal } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Group } from '../../lib/group.ts';
import { WORTH_OPERATIONS, type Batcher } from './batcher.ts';

/**
 * With so many batches in flight to all ranges, only full ones join them at once: each takes a connection and memory, and
 * one connection more costs as much as hundreds of documents.
 */
const CROWD = 128;
/**
 * With so many in flight, batches that have waited for long still wait for replies. Otherwise hundreds of small ones would
 * leave at the same moment on a busy machine, with a connection and 0.1 MB each.
 */
const THRONG = 256;
/** How long a batch may wait for more operations at most: usually, and with THRONG batches in flight. */
const [FILL_MS, THRONG_FILL_MS] = [500, 2000];
/** How often the dispatcher looks again at batches that wait. */
const LOOK_MS = 10;

/** What exists only while a dispatcher runs: its tasks, and the signal that ends its timers when it is drained. */
export interface Running {
  readonly members: Group;
  readonly alarms: ChildSignal;
}

export class Filling {
  /** Whether more operations will soon be added. Set by the copy, in which no document is urgent. */
  expectsMore = (): boolean => false;
  readonly #clock: Clock;
  readonly #lookAgain: () => void;
  #isLooking = false;
  #inFlight = 0;

  /** `lookAgain` is called LOOK_MS after a batch began to wait. One timer is enough for hundreds of ranges. */
  constructor(clock: Clock, lookAgain: () => void) {
    this.#clock = clock;
    this.#lookAgain = lookAgain;
  }

  /** Counts a batch that is sent (1), or has its reply (-1). */
  count(delta: 1 | -1): void {
    this.#inFlight += delta;
  }

  /** Whether the next batch of a range, whose requests have at most `operationsMax` operations, has to wait. */
  mustWait(
    batches: Pick<Batcher<never>, 'isWorthSending'>,
    operationsMax: number,
    { members, alarms }: Running,
  ): boolean {
    const isCrowded = this.#inFlight >= CROWD;
    if (!isCrowded && !this.expectsMore()) return false;
    const worth = isCrowded ? operationsMax : Math.min(WORTH_OPERATIONS, operationsMax);
    const waitMs = this.#inFlight >= THRONG ? THRONG_FILL_MS : FILL_MS;
    if (batches.isWorthSending(worth, waitMs)) return false;
    if (this.#isLooking) return true;
    this.#isLooking = true;
    members.start(async (signal) => {
      if (!(await sleepUntilDrained(this.#clock, LOOK_MS, { alarms, signal }))) return;
      this.#isLooking = false;
      this.#lookAgain();
    });
    return true;
  }
}

/** Waits; returns false at once when the dispatcher is drained, because nothing has to wait then. */
export async function sleepUntilDrained(
  clock: Clock,
  delayMs: number,
  { alarms, signal }: { readonly alarms: ChildSignal; readonly signal: AbortSignal },
): Promise<boolean> {
  try {
    await clock.sleep(delayMs, alarms.signal);
    return true;
  } catch (error) {
    if (alarms.signal.aborted && !signal.aborted) return false;
    throw error;
  }
}
