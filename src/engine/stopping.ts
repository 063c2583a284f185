/** How a run comes to its end: reasons to stop reading, and the tasks that are finished first. */
import { ChildSignal, sleep, whenAborted } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { BudgetError } from '../lib/errors.ts';
import type { Group } from '../lib/group.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';

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
  async atDeadline(
    { deadline }: MigrationSpec,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<void> {
    if (deadline.kind === 'none') return whenAborted(signal);
    const leftMs = deadline.atMs - clock.now();
    const marginMs = Math.min(DRAIN_MS, leftMs / 10);
    try {
      for (let restMs = leftMs - marginMs; restMs > 0; restMs = deadline.atMs - marginMs - clock.now())
        await sleep(Math.min(restMs, DAY_MS), signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
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

/** Batches and commits that are under way take seconds. */
const DRAIN_MS = 10_000;
const DAY_MS = 24 * 3600 * 1000;

/** Everything a run does besides what lasts as long as the run. */
export class Tasks {
  #running = 0;
  #idle = (): void => {};

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
