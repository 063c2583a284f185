/**
 * Sends operations to the target: batches per range, as many at once as the governor admits.
 *
 *   add -> its range -> batch -> admitted -> sent -> done | ambiguous: the operation is complete
 *                         ^                       -> refused: back to the front, the range rests
 *                         |                       -> split: ranges are asked for, grouped anew
 *                         +--------------------------------+
 *   drain -> everything goes at once; run() ends when all is complete
 *   abort -> what waits is not done, what is on its way is ambiguous; run() throws the reason
 *
 * What always holds: every operation that was added is completed exactly once; what may have happened is ambiguous and
 * never sent again; a range waits for nobody but itself, and for a reason that `waits` tells. That a document has one
 * operation at a time is the sequencer's promise.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { troubleOf, type Trouble } from '../transport/trouble.ts';
import type { Patience } from '../load/retry.ts';
import { ChildSignal, orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { group, type Group } from '../../lib/group.ts';
import { BODY_BYTES_MAX, type Batch } from './batcher.ts';
import type {
  Governor,
  Operation,
  Outcome,
  RangeMap,
  RangeWait,
  Refused,
  Reply,
  Send,
  WaitReason,
} from './operation.ts';
import { newLane, type Lane } from './range-queue.ts';
import { hintOf, refusalsIn, resultAt } from './refusals.ts';

/** Operations that wait in one range, in batches: enough to keep it busy through a round trip. */
const WAITING_MAX = 1000;
/** The same for big documents: memory does not grow with them. */
const WAITING_BYTES_MAX = 10 * BODY_BYTES_MAX;
/** Whatever a governor says: more only waits in the service's queues. */
const IN_FLIGHT_MAX = 64;

export interface WriterParts<V> {
  readonly send: Send<V>;
  readonly ranges: RangeMap;
  readonly governor: Governor;
  readonly clock: Clock;
  /** For each range afresh: how long refusals are borne. */
  readonly patience: Patience;
  /** Resolves after a delay; rejects when called off. */
}

/** While run() runs. */
interface Running {
  readonly members: Group;
  readonly alarms: ChildSignal;
}

export class Writer<V> {
  readonly #parts: WriterParts<V>;
  readonly #lanes = new Map<string, Lane<V>>();
  #running: Running | undefined;
  #ended: Error | undefined;
  #draining = false;
  #unfinished = 0;
  #drained = (): void => {};
  readonly #whenDrained = new Promise<void>((resolve) => (this.#drained = resolve));

  constructor(parts: WriterParts<V>) {
    this.#parts = parts;
  }

  /** Operations that are not complete. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** What every range waits for. */
  waits(): RangeWait[] {
    return [...this.#lanes.values()].map(({ range, batches, inFlight, ...lane }) => {
      // Another try of what was refused is under way, and will be refused as well for all we know.
      const [reason, sinceMs] =
        lane.refusedSinceMs !== undefined && lane.reason === 'in flight'
          ? [lane.restsFor, lane.refusedSinceMs]
          : [lane.reason, Math.min(lane.sinceMs, lane.refusedSinceMs ?? Infinity)];
      return { range, reason, sinceMs, operations: batches.size, inFlight };
    });
  }

  /**
   * For those who bring new work, right before `add`, with nothing awaited in between. A task under way adds without
   * asking: there are only so many tasks, and it holds locks that others wait for.
   */
  hasRoom(place: string): boolean {
    const lane = this.#lanes.get(this.#parts.ranges.rangeOf(place));
    return lane === undefined || isRoomy(lane);
  }

  /** Resolves when it is worth looking at `hasRoom` again. */
  async whenRoom(place: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.hasRoom(place) || this.#ended !== undefined) return;
    const lane = this.#laneOf(this.#parts.ranges.rangeOf(place));
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    lane.outside.push(wake);
    try {
      await orAborted(woken, signal);
    } finally {
      lane.outside = lane.outside.filter((other) => other !== wake);
    }
  }

  /** Takes an operation over. After the end it is completed at once, as not done. */
  add(operation: Operation<V>): void {
    if (this.#ended !== undefined) {
      operation.complete({ is: 'not-done', cause: this.#ended });
      return;
    }
    assert(!this.#draining, 'nothing is added while the writer drains');
    this.#unfinished += 1;
    const lane = this.#laneOf(this.#parts.ranges.rangeOf(operation.place));
    lane.gone = false;
    lane.batches.add(operation);
    this.#touch(lane);
  }

  /** Nobody will add anything: no batch waits for company any more, and run() ends when all is complete. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    if (this.#unfinished === 0) this.#drained();
    for (const lane of this.#lanes.values()) this.#touch(lane);
  }

  /** Works until it is drained; `signal` calls it off. */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#running === undefined && this.#ended === undefined, 'a writer runs once');
    let ended = new Error('the writer has ended');
    try {
      await group(signal, async (members) => {
        const alarms = new ChildSignal(members.signal);
        try {
          this.#running = { members, alarms };
          for (const lane of this.#lanes.values()) this.#touch(lane);
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
      const lanes = [...this.#lanes.values()];
      const left = lanes.flatMap(({ batches }) => batches.takeAll());
      for (const lane of lanes) this.#wakeOutside(lane);
      this.#completeAll(left, () => ({ is: 'not-done', cause: ended }));
    }
  }

  #laneOf(range: string): Lane<V> {
    const known = this.#lanes.get(range);
    if (known !== undefined) return known;
    const lane: Lane<V> = newLane(range, this.#parts);
    this.#lanes.set(range, lane);
    return lane;
  }

  /** Looks at a range once everything that this turn of the loop brings has come: whole pages become whole batches. */
  #touch(lane: Lane<V>): void {
    const members = this.#running?.members;
    // Called off: the group may have ended already, and takes nobody any more.
    if (members === undefined || members.signal.aborted || lane.touched) return;
    lane.touched = true;
    members.start(async () => {
      await nextTurn();
      lane.touched = false;
      this.#pump(lane);
    });
  }

  /** Sends what may go, and notes what the rest waits for. */
  #pump(lane: Lane<V>): void {
    const { clock } = this.#parts;
    while (this.#running !== undefined && !this.#running.members.signal.aborted) {
      const wait = this.#waitOf(lane);
      if (wait === undefined) {
        this.#launch(lane, this.#running.members);
        continue;
      }
      if (wait.reason !== lane.reason) {
        lane.reason = wait.reason;
        lane.sinceMs = clock.now();
      }
      if (wait.untilMs !== undefined) this.#setAlarm(lane, wait.untilMs, this.#running);
      break;
    }
    if (isRoomy(lane)) this.#wakeOutside(lane);
    const isOver = lane.gone && lane.batches.size === 0 && lane.inFlight === 0;
    if (isOver && this.#lanes.get(lane.range) === lane) this.#lanes.delete(lane.range);
  }

  /** Why no batch of this range may go now; undefined when one may. */
  #waitOf(lane: Lane<V>): { readonly reason: WaitReason; readonly untilMs?: number } | undefined {
    const { batches, inFlight } = lane;
    const nowMs = this.#parts.clock.now();
    if (lane.splitting) return { reason: 'splitting' };
    if (batches.size === 0) return { reason: inFlight > 0 ? 'in flight' : 'nothing to do' };
    if (nowMs < lane.restsUntilMs) return { reason: lane.restsFor, untilMs: lane.restsUntilMs };
    if (inFlight >= IN_FLIGHT_MAX) return { reason: 'in flight' };
    const { dueMs } = batches;
    if (!batches.isReady(this.#paceOf(lane)) && dueMs !== undefined)
      return { reason: 'filling', untilMs: dueMs };
    const admission = this.#parts.governor.admit(lane.range, { inFlight });
    if (admission === 'go') return undefined;
    const { reason, delayMs } = admission;
    assert(delayMs !== undefined || inFlight > 0, 'a governor lets an idle range go, or says when');
    return delayMs === undefined ? { reason } : { reason, untilMs: nowMs + delayMs };
  }

  #paceOf({ inFlight }: Lane<V>): 'idle' | 'busy' {
    return inFlight === 0 || this.#draining ? 'idle' : 'busy';
  }

  /** Looks again at that time; an alarm that is not needed any more does no harm. */
  #setAlarm(lane: Lane<V>, atMs: number, { members, alarms }: Running): void {
    if (lane.alarmMs <= atMs) return;
    lane.alarmMs = atMs;
    const { clock } = this.#parts;
    members.start(async (signal) => {
      try {
        // A timer may be early by what the clock rounds away.
        await clock.sleep(Math.max(1, atMs - clock.now()), alarms.signal);
      } catch (error) {
        // Drained: nobody needs it.
        if (alarms.signal.aborted && !signal.aborted) return;
        throw error;
      }
      if (lane.alarmMs === atMs) lane.alarmMs = Infinity;
      this.#pump(lane);
    });
  }

  #launch(lane: Lane<V>, members: Group): void {
    const operationsMax = this.#parts.governor.operationsMax(lane.range);
    const batch = lane.batches.next(this.#paceOf(lane), operationsMax);
    assert(batch !== undefined, 'a batch that is ready is there');
    lane.inFlight += 1;
    members.start(async (signal) => this.#exchange(lane, batch, signal));
  }

  async #exchange(lane: Lane<V>, batch: Batch<Operation<V>>, signal: AbortSignal): Promise<void> {
    const { clock, send } = this.#parts;
    const sentMs = clock.now();
    let reply: Reply<V>;
    try {
      reply = await orAborted(send(lane.range, batch, signal), signal);
      assert(
        !Array.isArray(reply.results) || reply.results.length === batch.operations.length,
        'a reply tells of every operation',
      );
    } catch (cause) {
      lane.inFlight -= 1;
      this.#completeAll(batch.operations, () => ({ is: 'ambiguous', cause }));
      throw cause;
    }
    lane.inFlight -= 1;
    this.#settle({ lane, batch, reply, sentMs });
    this.#touch(lane);
  }

  #settle({ lane, batch, reply, sentMs }: Exchange<V>): void {
    const { operations } = batch;
    const { again, throttled, split, ...refusals } = refusalsIn(operations, reply);
    let { rest } = refusals;
    // Whatever is thrown from here on finds every operation either in its range or complete.
    if (again.length > 0) lane.batches.putBack(again);
    this.#completeAll(operations, (i) => {
      const result = resultAt(reply, i);
      return result.is === 'refused' ? undefined : result;
    });
    const completed = operations.length - again.length;
    this.#parts.governor.observe(lane.range, {
      chargeRu: reply.chargeRu,
      operations: operations.length,
      throttled,
      retryAfterMs: rest?.trouble.retryAfterMs,
      elapsedMs: this.#parts.clock.now() - sentMs,
      inFlight: lane.inFlight,
    });
    if (completed > 0) lane.sinceMs = this.#parts.clock.now();
    // No reply at all: the next batch would become ambiguous as well.
    const { results } = reply;
    if ('is' in results && results.is === 'ambiguous')
      rest = { is: 'refused', kind: 'transient', trouble: silence(results.cause) };
    else if (completed > 0) {
      lane.patience.reset();
      lane.refusedSinceMs = undefined;
    }
    if (rest !== undefined) this.#rest(lane, rest, sentMs);
    if (split !== undefined) this.#split(lane, split, sentMs);
  }

  /** Lets a range rest; replies to what was sent before the rest tell nothing new but their hints. */
  #rest(lane: Lane<V>, refused: Refused, sentMs: number): void {
    const nowMs = this.#parts.clock.now();
    const isNew = sentMs >= lane.restsUntilMs;
    const { kind, trouble } = refused;
    const delayMs = isNew ? lane.patience.next({ ...trouble, kind }).delayMs : hintOf(refused);
    lane.refusedSinceMs ??= sentMs;
    if (nowMs + delayMs <= lane.restsUntilMs) return;
    lane.restsUntilMs = nowMs + delayMs;
    lane.restsFor = kind;
  }

  /** The range is gone: what waits there is grouped by the new ranges, which somebody may have asked for already. */
  #split(lane: Lane<V>, trouble: Trouble, sentMs: number): void {
    if (lane.splitting || this.#regroup(lane)) return;
    lane.splitting = true;
    this.#running?.members.start(async (signal) => {
      await orAborted(this.#parts.ranges.refresh(lane.range, signal), signal);
      lane.splitting = false;
      // The service may know of a split before it tells where the ranges are now.
      if (!this.#regroup(lane)) this.#rest(lane, { is: 'refused', kind: 'split', trouble }, sentMs);
      this.#touch(lane);
    });
  }

  /** Moves what belongs elsewhere by now; false when all of it still belongs here. */
  #regroup(lane: Lane<V>): boolean {
    const moved = new Map<Lane<V>, Operation<V>[]>();
    for (const operation of lane.batches.takeAll()) {
      const other = this.#laneOf(this.#parts.ranges.rangeOf(operation.place));
      const list = moved.get(other);
      if (list === undefined) moved.set(other, [operation]);
      else list.push(operation);
    }
    for (const [other, operations] of moved) {
      other.gone = false;
      other.batches.putBack(operations);
      this.#touch(other);
    }
    lane.gone = !moved.has(lane);
    return lane.gone;
  }

  /** Completes all that have an outcome, even if one of those who are told throws. */
  #completeAll(
    operations: readonly Operation<V>[],
    outcomeOf: (index: number) => Outcome<V> | undefined,
  ): void {
    const thrown: unknown[] = [];
    for (let i = 0; i < operations.length; i += 1) {
      const outcome = outcomeOf(i);
      if (outcome === undefined) continue;
      this.#unfinished -= 1;
      try {
        operations[i]?.complete(outcome);
      } catch (error) {
        thrown.push(error);
      }
    }
    if (this.#draining && this.#unfinished === 0) this.#drained();
    if (thrown.length > 0) throw thrown[0];
  }

  #wakeOutside(lane: Lane<V>): void {
    for (const wake of lane.outside.splice(0)) wake();
  }
}

function isRoomy<V>({ batches }: Lane<V>): boolean {
  return batches.size < WAITING_MAX && batches.sizeBytes < WAITING_BYTES_MAX;
}

/** A request that was not answered, as the range feels it. */
function silence(cause: unknown): Trouble {
  const what = 'the target did not answer';
  return troubleOf(cause) ?? { kind: 'transient', status: 0, substatus: 0, what, chargeRu: 0, cause };
}

interface Exchange<V> {
  readonly lane: Lane<V>;
  readonly batch: Batch<Operation<V>>;
  readonly reply: Reply<V>;
  /** When it was sent. */
  readonly sentMs: number;
}
