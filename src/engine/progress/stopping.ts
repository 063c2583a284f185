/**
 * How a run comes to its end: reasons to stop reading, and the tasks that are finished first. What always holds: who is
 * told to stop waits for nobody through whom nothing goes; what is under way then is the next run's to settle.
 */
import { abortReason, ChildSignal, whenAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { BudgetError } from '../../lib/errors.ts';
import type { Group } from '../../lib/group.ts';
import type { Log } from '../../lib/log.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import { timeLeft } from '../../spec/time-left.ts';

/** Reasons to stop reading. */
export class Stopping implements Disposable {
  readonly #child: ChildSignal;
  #reason: Error | undefined;
  #drain: AbortSignal;

  constructor(drain: AbortSignal) {
    this.#drain = drain;
    this.#child = new ChildSignal(drain);
  }

  get signal(): AbortSignal {
    return this.#child.signal;
  }

  /** The first reason stays. */
  stop(reason: Error): void {
    this.#reason ??= reason;
    this.#child.abort(reason);
  }

  /** Early enough that what is under way can be finished. */
  async atDeadline({ deadline }: MigrationSpec, { clock, signal, say, drainMs }: Timekeeping): Promise<void> {
    if (deadline.kind === 'none') return whenAborted(signal);
    const leftMs = timeLeft(deadline, clock);
    const leastMs = Math.min(DRAIN_MS, leftMs() / 10);
    const untilThenMs = (): number => leftMs() - Math.max(leastMs, drainMs());
    try {
      for (let restMs = untilThenMs(); restMs > 0; restMs = untilThenMs())
        await clock.sleep(Math.min(restMs, LOOK_MS), signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    if (!this.signal.aborted) say('the time is over; what is under way is finished first');
    this.stop(
      new BudgetError('the time is over, and work is left', {
        why: `${deadline.asked} was asked for`,
        hint: 'run the same command again; it goes on where this one stopped',
      }),
    );
  }

  throwIfStopped(isComplete: boolean): void {
    if (this.#drain.aborted) this.#drain.throwIfAborted();
    // A planned end of somebody who had nothing more to do.
    if (isComplete && this.#reason instanceof BudgetError) return;
    if (this.#reason !== undefined) throw this.#reason;
  }

  [Symbol.dispose](): void {
    this.#child[Symbol.dispose]();
  }
}

/** Batches and commits that are under way take seconds, where nothing is known of them yet. */
const DRAIN_MS = 10_000;
/** How much is under way changes with every page. */
const LOOK_MS = 1000;

interface Timekeeping {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** How long what is under way may take when no more is read. */
  readonly drainMs: () => number;
}

interface Finishing {
  /** Aborted when the run was told to stop. */
  readonly stop: AbortSignal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Another text whenever anything goes through. */
  readonly progress: () => string;
  /** What may take so long may yet be answered. */
  readonly requestTimeoutMs: number;
}

/** A request is given up by itself before this is over. */
const GRACE = 1.1;
/** A busy machine does nothing for a moment, however short requests may take. */
const STILL_MS = 3000;
const LOOKS = 10;

/** Waits for the tasks; throws the reason to stop, once that is there and nothing goes through any more. */
export async function finish(
  tasks: Tasks,
  { stop, signal, clock, log, progress, requestTimeoutMs }: Finishing,
): Promise<void> {
  using looking = new ChildSignal(signal);
  const idle = tasks.whenIdle(signal).then(() => true);
  const limitMs = Math.max(STILL_MS, requestTimeoutMs * GRACE);
  let seen = '';
  let sinceMs = 0;
  try {
    for (;;) {
      const waited = clock.sleep(limitMs / LOOKS, looking.signal).then(() => false);
      if (await Promise.race([idle, waited])) return;
      const now = stop.aborted ? progress() : '';
      if (now === '' || now !== seen) [seen, sinceMs] = [now, clock.now()];
      else if (clock.now() - sinceMs > limitMs) {
        log.warn(
          'nothing goes through any more; what is under way is left to the next run, which settles it',
        );
        throw abortReason(stop);
      }
    }
  } finally {
    looking.abort(new Error('nobody waits any more'));
  }
}

/** Everything a run does besides what lasts as long as the run. */
export class Tasks {
  #running = 0;
  #idle = (): void => {};

  get running(): number {
    return this.#running;
  }

  start(members: Group, task: () => Promise<void>): void {
    this.#running += 1;
    members.start(async () => {
      await task();
      this.#running -= 1;
      if (this.#running === 0) this.#idle();
    });
  }

  async whenIdle(signal: AbortSignal): Promise<void> {
    while (this.#running > 0) {
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      await Promise.race([idle, whenAborted(signal)]);
      signal.throwIfAborted();
    }
  }
}
