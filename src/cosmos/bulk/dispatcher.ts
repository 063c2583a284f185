/**
 * Sends operations to the ranges of one container, in batches. The load control decides how many batches of a range are
 * in flight at once.
 *
 *   add -> range queue -> batch -> admitted -> sent -> done | ambiguous: the operation has ended
 *              ^                                 -> refused: back to the front, and the range rests
 *              |                                 -> split: the ranges are listed again, operations regrouped
 *              +---------------------------------+
 *   drain -> batches leave without waiting for more; run() returns when all operations have ended
 *   abort -> waiting operations end as not done, those in flight as ambiguous; run() throws the reason
 *
 * Invariant: every operation that was added ends exactly once; a write without a known outcome ends as ambiguous and is
 * never sent again; no range waits for another longer than it takes to fill a batch, and `waits` gives the reason of
 * every wait. A throttled range rests as long as the range limit says; a range in other trouble as long as its patience
 * says. The sequencer admits one operation at a time for each document.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ChildSignal, orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { group, type Group } from '../../lib/group.ts';
import type { LiveRanges } from '../feed/live-ranges.ts';
import type { Governor } from '../load/governor.ts';
import type { Patience, Wait } from '../load/retry.ts';
import type { Trouble } from '../transport/trouble.ts';
import type { Batch } from './batcher.ts';
import { Filling, sleepUntilDrained, type Running } from './filling.ts';
import type {
  BatchReply,
  OperationRun,
  RangeOperation,
  RangeWait,
  Refused,
  WaitReason,
} from './operation.ts';
import { RangeQueue } from './range-queue.ts';
import { areCreated, hintOf, isWhole, refusalsIn, resultAt, silence } from './refused-operations.ts';
import { Unfinished } from './unfinished.ts';

/** The most batches in flight to one range, whatever the load control admits: more would only queue in the service. */
const IN_FLIGHT_MAX = 64;

export interface DispatcherParts<V> {
  readonly side: {
    readonly ranges: Pick<LiveRanges, 'rangeOf' | 'refresh'>;
    readonly governor: Pick<Governor, 'admit' | 'operationsMax' | 'observe'>;
    /** The dispatcher gives each range a `fresh()` copy, which limits how long the range may refuse operations. */
    readonly patience: Patience;
  };
  readonly executor: {
    /** Sends a batch once. An error that it throws ends the run. */
    execute(range: string, batch: Batch<RangeOperation<V>>, signal: AbortSignal): Promise<BatchReply<V>>;
  };
  readonly clock: Clock;
  /** Called for each wait, for a caller that does not poll `waits`. */
  readonly onWait?: ((wait: Wait) => void) | undefined;
}

export class RangeDispatcher<V> {
  readonly #parts: DispatcherParts<V>;
  readonly #queues = new Map<string, RangeQueue<V>>();
  /** Queues on which `#pump` is called after this turn. */
  #scheduled: RangeQueue<V>[] = [];
  #running: Running | undefined;
  #ended: Error | undefined;
  #draining = false;
  readonly filling: Filling;
  #drained = (): void => {};
  readonly #whenDrained = new Promise<void>((resolve) => (this.#drained = resolve));
  readonly #operations = new Unfinished<V>(() => {
    if (this.#draining) this.#drained();
  });

  constructor(parts: DispatcherParts<V>) {
    this.#parts = parts;
    this.filling = new Filling(parts.clock, () => {
      for (const queue of this.#queues.values()) if (queue.reason === 'filling') this.#pump(queue);
    });
  }

  /** Number of operations that have not ended. */
  get unfinished(): number {
    return this.#operations.count;
  }

  /** Number of operations that have ended. It grows as long as operations get through. */
  get finished(): number {
    return this.#operations.ended;
  }

  /** Returns what every range waits for. */
  waits(): RangeWait[] {
    return [...this.#queues.values()].map(({ range, batches, inFlight, ...queue }) => {
      // While refused operations are sent again and have no answer yet, the refusal remains the reason for the wait.
      const [reason, sinceMs] =
        queue.refusedSinceMs !== undefined && queue.reason === 'in flight'
          ? [queue.refusedFor, queue.refusedSinceMs]
          : [queue.reason, Math.min(queue.sinceMs, queue.refusedSinceMs ?? Infinity)];
      return { range, reason, sinceMs, operations: batches.size, inFlight };
    });
  }

  /** Takes an operation. After the run has ended, the operation ends at once as not done. */
  add(operation: RangeOperation<V>): void {
    if (this.#ended !== undefined) {
      operation.complete({ is: 'not-done', cause: this.#ended });
      return;
    }
    this.#queueFor(this.#parts.side.ranges.rangeOf(operation.effectiveKey), 1).batches.add(operation);
  }

  /** Takes a run of operations to a range. Precondition: the range holds their keys, as the ranges are known now. */
  addRun(range: string, run: OperationRun<RangeOperation<V>>): void {
    const cause = this.#ended;
    if (cause === undefined) return this.#queueFor(range, run.count).batches.addRun(run);
    for (const operation of run.operations()) operation.complete({ is: 'not-done', cause });
  }

  /** Returns the queue of a range, to which so many operations are now added. */
  #queueFor(range: string, count: number): RangeQueue<V> {
    assert(!this.#draining, 'nothing is added while the dispatcher drains');
    this.#operations.add(count);
    const queue = this.#queueOf(range);
    queue.isGone = false;
    this.#schedule(queue);
    return queue;
  }

  /** Stops taking operations: batches no longer wait to fill, and `run` returns after the last operation. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    if (this.#operations.count === 0) this.#drained();
    for (const queue of this.#queues.values()) this.#schedule(queue);
  }

  /** Sends operations until the dispatcher is drained, or until `signal` aborts it. */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#running === undefined && this.#ended === undefined, 'a dispatcher runs once');
    let ended = new Error('the dispatcher has ended');
    try {
      await group(signal, async (members) => {
        const alarms = new ChildSignal(members.signal);
        try {
          this.#running = { members, alarms };
          for (const queue of this.#queues.values()) this.#schedule(queue);
          await orAborted(this.#whenDrained, members.signal);
        } finally {
          alarms.abort(ended);
          alarms[Symbol.dispose]();
        }
      });
    } catch (error) {
      if (error instanceof Error) ended = error;
      throw error;
    } finally {
      this.#running = undefined;
      this.#ended = ended;
      const queues = [...this.#queues.values()];
      const left = queues.flatMap(({ batches }) => batches.takeAll());
      this.#operations.complete(left, () => ({ is: 'not-done', cause: ended }));
    }
  }

  #queueOf(range: string): RangeQueue<V> {
    const known = this.#queues.get(range);
    if (known !== undefined) return known;
    const { clock, side } = this.#parts;
    const queue = new RangeQueue<V>(range, { clock, patience: side.patience });
    this.#queues.set(range, queue);
    return queue;
  }

  /** Calls `#pump` after this turn of the event loop, so that the operations of a page fill whole batches. */
  #schedule(queue: RangeQueue<V>): void {
    const members = this.#running?.members;
    // After an abort the group may have ended; it then accepts no new members.
    if (members === undefined || members.signal.aborted || queue.isScheduled) return;
    queue.isScheduled = true;
    // One task is enough for all queues of a turn: a page may have documents for hundreds of ranges.
    if (this.#scheduled.push(queue) > 1) return;
    members.start(async () => {
      await nextTurn();
      const scheduled = this.#scheduled;
      this.#scheduled = [];
      for (const one of scheduled) {
        one.isScheduled = false;
        this.#pump(one);
      }
    });
  }

  /** Sends the batches that may leave, and records why the other operations wait. */
  #pump(queue: RangeQueue<V>): void {
    const { clock } = this.#parts;
    while (this.#running !== undefined && !this.#running.members.signal.aborted) {
      const wait = this.#waitOf(queue);
      if (wait === undefined) {
        this.#launch(queue, this.#running.members);
        continue;
      }
      if (wait.reason !== queue.reason) {
        queue.reason = wait.reason;
        queue.sinceMs = clock.monotonicMs();
      }
      if (wait.untilMs !== undefined) this.#setAlarm(queue, wait.untilMs, this.#running);
      break;
    }
    const isOver = queue.isGone && queue.batches.size === 0 && queue.inFlight === 0;
    if (isOver && this.#queues.get(queue.range) === queue) this.#queues.delete(queue.range);
  }

  /** Returns why no batch of this range may leave now; undefined if a batch may leave. */
  #waitOf(queue: RangeQueue<V>): { readonly reason: WaitReason; readonly untilMs?: number } | undefined {
    const { batches, inFlight } = queue;
    const nowMs = this.#parts.clock.monotonicMs();
    if (queue.isSplitting) return { reason: 'splitting' };
    if (batches.size === 0) return { reason: inFlight > 0 ? 'in flight' : 'nothing to do' };
    if (nowMs < queue.restsUntilMs) return { reason: queue.refusedFor, untilMs: queue.restsUntilMs };
    if (inFlight >= IN_FLIGHT_MAX) return { reason: 'in flight' };
    if (this.#mustFill(queue)) return { reason: 'filling' };
    const { dueMs } = batches;
    if (!batches.isReady(this.#paceOf(queue)) && dueMs !== undefined)
      return { reason: 'filling', untilMs: dueMs };
    const admission = this.#parts.side.governor.admit(queue.range, { inFlight });
    if (admission === 'go') return undefined;
    const { reason, delayMs } = admission;
    assert(delayMs !== undefined || inFlight > 0, 'an idle range is admitted, or has a delay');
    return delayMs === undefined ? { reason } : { reason, untilMs: nowMs + delayMs };
  }

  #paceOf({ inFlight }: RangeQueue<V>): 'idle' | 'busy' {
    return inFlight === 0 || this.#draining ? 'idle' : 'busy';
  }

  #mustFill({ range, batches }: RangeQueue<V>): boolean {
    if (this.#draining || this.#running === undefined) return false;
    return this.filling.mustWait(batches, this.#parts.side.governor.operationsMax(range), this.#running);
  }

  /** Calls `#pump` again at `atMs`. A superfluous alarm does no harm. */
  #setAlarm(queue: RangeQueue<V>, atMs: number, { members, alarms }: Running): void {
    if (queue.alarmMs <= atMs) return;
    queue.alarmMs = atMs;
    const { clock } = this.#parts;
    members.start(async (signal) => {
      // A timer may fire up to a millisecond early, because the clock rounds.
      const delayMs = Math.max(1, atMs - clock.monotonicMs());
      if (!(await sleepUntilDrained(clock, delayMs, { alarms, signal }))) return;
      if (queue.alarmMs === atMs) queue.alarmMs = Infinity;
      this.#pump(queue);
    });
  }

  #launch(queue: RangeQueue<V>, members: Group): void {
    const operationsMax = this.#parts.side.governor.operationsMax(queue.range);
    const batch = queue.batches.next(this.#paceOf(queue), operationsMax);
    assert(batch !== undefined, 'a batch that is ready can be taken');
    queue.inFlight += 1;
    this.filling.count(1);
    members.start(async (signal) => this.#send(queue, batch, signal));
  }

  async #send(queue: RangeQueue<V>, batch: Batch<RangeOperation<V>>, signal: AbortSignal): Promise<void> {
    const { clock, executor } = this.#parts;
    const sentMs = clock.monotonicMs();
    let reply: BatchReply<V>;
    try {
      reply = await orAborted(executor.execute(queue.range, batch, signal), signal);
      assert(
        !Array.isArray(reply.results) || reply.results.length === batch.count,
        'a reply has a result for each operation',
      );
    } catch (cause) {
      this.#landed(queue);
      this.#operations.complete(batch.operations, () => ({ is: 'ambiguous', cause }));
      throw cause;
    }
    this.#landed(queue);
    this.#take(reply, { queue, batch, sentMs });
    this.#schedule(queue);
  }

  #landed(queue: RangeQueue<V>): void {
    queue.inFlight -= 1;
    this.filling.count(-1);
  }

  #take(reply: BatchReply<V>, { queue, batch, sentMs }: Sent<V>): void {
    const { again, throttled, troubled, split } = refusalsIn(batch, reply);
    // This comes first, so that every operation is back in its queue or complete if anything below throws.
    if (again.length > 0) queue.batches.putBack(again);
    const { results } = reply;
    if (areCreated(results)) this.#operations.completeRuns(batch);
    else
      this.#operations.complete(batch.operations, (i) => {
        const result = resultAt(reply, i);
        return result.is === 'refused' ? undefined : result;
      });
    const completed = batch.count - again.length;
    const nowMs = this.#parts.clock.monotonicMs();
    this.#parts.side.governor.observe(queue.range, {
      chargeRu: reply.chargeRu,
      operations: batch.count,
      throttled: throttled.count,
      retryAfterMs: throttled.longest?.trouble.retryAfterMs,
      elapsedMs: nowMs - sentMs,
    });
    if (completed > 0) queue.sinceMs = nowMs;
    // If the service did not reply, the range rests: the next batch would probably become ambiguous as well.
    const isSilent = isWhole(results) && results.is === 'ambiguous';
    if (completed > 0 && !isSilent) {
      queue.patience.reset();
      queue.refusedSinceMs = undefined;
    }
    const { longest } = throttled;
    if (longest !== undefined) this.#endure(queue, longest.trouble, sentMs);
    const refused = isSilent ? silence(results.cause) : troubled;
    if (refused !== undefined) this.#rest(queue, refused, sentMs);
    if (split !== undefined) this.#split(queue, split, sentMs);
  }

  /** Counts throttling; throws if it lasts too long. The range limit decides how long the range rests. */
  #endure(queue: RangeQueue<V>, trouble: Trouble, sentMs: number): void {
    const wait = queue.patience.endure(trouble);
    this.#parts.onWait?.(wait);
    queue.refusedSinceMs ??= sentMs;
    queue.refusedFor = 'throttled';
  }

  /**
   * Lets a range rest. A batch that was sent before the last rest ended says nothing new, so only the service's hint in
   * its reply may prolong the rest.
   */
  #rest(queue: RangeQueue<V>, refused: Refused, sentMs: number): void {
    const nowMs = this.#parts.clock.monotonicMs();
    const isNew = sentMs >= queue.restsUntilMs;
    const { kind, trouble } = refused;
    const wait = isNew ? queue.patience.next({ ...trouble, kind }) : undefined;
    if (wait !== undefined) this.#parts.onWait?.(wait);
    const delayMs = wait?.delayMs ?? hintOf(refused);
    queue.refusedSinceMs ??= sentMs;
    if (nowMs + delayMs <= queue.restsUntilMs) return;
    queue.restsUntilMs = nowMs + delayMs;
    queue.refusedFor = kind;
  }

  /** Lists the ranges again after a split, and regroups the waiting operations of the queue by the new ranges. */
  #split(queue: RangeQueue<V>, trouble: Trouble, sentMs: number): void {
    if (queue.isSplitting || this.#regroup(queue)) return;
    queue.isSplitting = true;
    this.#running?.members.start(async (signal) => {
      await orAborted(this.#parts.side.ranges.refresh(queue.range, signal), signal);
      queue.isSplitting = false;
      // The service may refuse a range as split before it lists the new ranges.
      if (!this.#regroup(queue)) this.#rest(queue, { is: 'refused', kind: 'split', trouble }, sentMs);
      this.#schedule(queue);
    });
  }

  /** Moves waiting operations to the ranges that hold their keys now; false if some still belong to this range. */
  #regroup(queue: RangeQueue<V>): boolean {
    const moved = new Map<RangeQueue<V>, RangeOperation<V>[]>();
    for (const operation of queue.batches.takeAll()) {
      const other = this.#queueOf(this.#parts.side.ranges.rangeOf(operation.effectiveKey));
      const list = moved.get(other);
      if (list === undefined) moved.set(other, [operation]);
      else list.push(operation);
    }
    for (const [other, operations] of moved) {
      other.isGone = false;
      other.batches.putBack(operations);
      this.#schedule(other);
    }
    queue.isGone = !moved.has(queue);
    return queue.isGone;
  }
}

interface Sent<V> {
  readonly queue: RangeQueue<V>;
  readonly batch: Batch<RangeOperation<V>>;
  readonly sentMs: number;
}
