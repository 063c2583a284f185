/**
 * Ends a run: collects the reasons to stop reading, and finishes the tasks before the end. Invariant: once stopped, a
 * run does not wait for tasks that make no progress. The next run settles the documents that such tasks left in doubt.
 */
import { abortReason, ChildSignal, whenAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { BudgetError } from '../../lib/errors.ts';
import type { Group } from '../../lib/group.ts';
import type { Log } from '../../lib/log.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import { timeLeft } from '../../spec/time-left.ts';

/** Collects the reasons to stop reading; the first one counts. */
export class RunStop implements Disposable {
  readonly #child: ChildSignal;
  #reason: Error | undefined;
  #drain: AbortSignal;
  #isOverdue = (): boolean => false;

  constructor(drain: AbortSignal) {
    this.#drain = drain;
    this.#child = new ChildSignal(drain);
  }

  get signal(): AbortSignal {
    return this.#child.signal;
  }

  stop(reason: Error): void {
    this.#reason ??= reason;
    this.#child.abort(reason);
  }

  /** Stops before the deadline, early enough to finish the work in progress. */
  async atDeadline({ deadline }: MigrationSpec, { clock, signal, say, drainMs }: Timekeeping): Promise<void> {
    if (deadline.kind === 'none') return whenAborted(signal);
    const leftMs = timeLeft(deadline, clock);
    const budgetMs = Math.max(0, leftMs());
    this.#isOverdue = () => leftMs() < -(budgetMs * OVERDUE_SHARE + OVERDUE_MS);
    const leastMs = Math.min(DRAIN_MS, budgetMs / 10);
    const untilThenMs = (): number => leftMs() - Math.max(leastMs, drainMs());
    try {
      for (let restMs = untilThenMs(); restMs > 0; restMs = untilThenMs())
        await clock.sleep(Math.min(restMs, ESTIMATE_EVERY_MS), signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    if (!this.signal.aborted) say('time limit reached; finishing the work in progress');
    this.stop(
      new BudgetError('time limit reached before the work was finished', {
        why: `${deadline.asked} was given`,
        hint: 'run the same command again; it continues where this one stopped',
      }),
    );
  }

  /** Whether the time budget is exceeded by so much that the run must not wait any longer for its work in progress. */
  isOverdue(): boolean {
    return this.#isOverdue();
  }

  throwIfStopped(isComplete: boolean): void {
    if (this.#drain.aborted) this.#drain.throwIfAborted();
    // If no work was left at the time limit, the run has ended as planned.
    if (isComplete && this.#reason instanceof BudgetError) return;
    if (this.#reason !== undefined) throw this.#reason;
  }

  [Symbol.dispose](): void {
    this.#child[Symbol.dispose]();
  }
}

/** The least time reserved before the deadline for finishing batches and commits; more if `drainMs` says so. */
const DRAIN_MS = 10_000;
/**
 * How far a run may exceed its time budget to finish the work in progress: OVERDUE_SHARE of the budget plus OVERDUE_MS.
 * The clock is looked at in intervals, so a run ends within 1.2 times its budget plus 15 s.
 */
const OVERDUE_SHARE = 0.2;
const OVERDUE_MS = 9000;
/** How often the remaining work is estimated again. It changes with every page. */
const ESTIMATE_EVERY_MS = 1000;

interface Timekeeping {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Returns how long the work in progress will take if no more pages are read. */
  readonly drainMs: () => number;
}

interface Finishing {
  /** Aborted when the run has to stop reading. */
  readonly stop: AbortSignal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the run has to end now, whatever is in progress. */
  readonly isOverdue: () => boolean;
  /** Returns a text that changes whenever a task makes progress. */
  readonly progress: () => string;
  /** How long a request may wait for its reply. */
  readonly requestTimeoutMs: number;
}

/** Tasks may stall for the request timeout times this factor. By then the transport has given up all their requests. */
const GRACE = 1.1;
/** The shortest stall that ends the wait, even with a short timeout, because a busy machine pauses for a moment. */
const STALL_MIN_MS = 3000;
const CHECKS = 10;

/**
 * Waits for the tasks. If the run is stopped and the tasks make no progress, or if the time budget is exceeded by too
 * much, throws the reason to stop.
 */
export async function finishTasks(
  tasks: Tasks,
  { stop, isOverdue, signal, clock, log, progress, requestTimeoutMs }: Finishing,
): Promise<void> {
  using looking = new ChildSignal(signal);
  const idle = tasks.whenIdle(signal).then(() => true);
  const limitMs = Math.max(STALL_MIN_MS, requestTimeoutMs * GRACE);
  let seen = '';
  let sinceMs = 0;
  try {
    for (;;) {
      const waited = clock.sleep(limitMs / CHECKS, looking.signal).then(() => false);
      if (await Promise.race([idle, waited])) return;
      if (!stop.aborted) continue;
      const now = progress();
      if (isOverdue()) {
        log.warn('the time limit was exceeded; the next run will settle the requests in flight');
        throw abortReason(stop);
      }
      if (now !== seen) [seen, sinceMs] = [now, clock.monotonicMs()];
      else if (clock.monotonicMs() - sinceMs > limitMs) {
        log.warn('requests in flight make no progress; the next run will settle them');
        throw abortReason(stop);
      }
    }
  } finally {
    looking.abort(new Error('the wait for the tasks is over'));
  }
}

/** The tasks that a run finishes before it ends. */
export class Tasks {
  readonly #members: Group;
  #running = 0;
  #idle = (): void => {};

  constructor(members: Group) {
    this.#members = members;
  }

  get running(): number {
    return this.#running;
  }

  /** Starts a task. If the task fails, the whole run fails. */
  start(task: () => Promise<void>): void {
    this.#running += 1;
    this.#members.start(async () => {
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
