/**
 * Collects the operations of one range into the bodies of bulk requests: single ones, and runs, which are added, sent and
 * finished together. The bytes of a body are made only when its batch is sent, so operations can be grouped differently
 * until then.
 *
 *   add -> open batch -> sealed by count, by bytes or by time -> next
 *   putBack (refused, to be sent again) -> ahead of all others -> next
 *
 * Invariant: operations that were put back leave first, then those of documents that have begun, then the others, each
 * in the order in which they were added; a batch has at most OPERATIONS_MAX operations, and at most BODY_BYTES_MAX bytes
 * unless it is a single operation. The sequencer admits one operation at a time for each slot, so two writes of one
 * document are never in one batch.
 */
import { assert } from '../../lib/assert.ts';
import { BufferPool } from '../../lib/buffers.ts';
import type { Clock } from '../../lib/clock.ts';
import { OPERATIONS_MAX } from './batch-request.ts';
import type { OperationRun, OperationText, RangeOperation } from './operation.ts';

/**
 * The most bytes of a body: well below the service's limit of 2 MB, so that a batch takes seconds at most, and a retry
 * repeats little.
 */
export const BODY_BYTES_MAX = 200 * 1024;
/** A busy range waits this long for more operations: shorter than a round trip, longer than making an operation takes. */
const LINGER_MS = 5;
/** A request costs the client as much as about ten operations, so a batch of this size is cheap. */
export const WORTH_OPERATIONS = 32;
const WORTH_BYTES = 64 * 1024;

/** Body memory comes in multiples of this size: little is wasted, and most bodies can reuse earlier memory. */
const BODY_STEP_BYTES = 16 * 1024;
/** Pooled memory for bodies: more than the requests in flight usually need. Excess is garbage-collected. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024;

const [OPEN, CLOSE, COMMA] = [0x5b, 0x5d, 0x2c];

/** An operation, or a run of them. */
type Item<T> = T | OperationRun<T>;

function isRun<T extends OperationText>(item: Item<T>): item is OperationRun<T> {
  return 'isRun' in item;
}

/** The operations of a request, as single ones and as runs. */
export class Batch<T extends OperationText> {
  /** In the order in which they stand in the request. */
  readonly items: Item<T>[] = [];
  /** Number of operations. */
  count = 0;
  /** Size of the batch's request body in bytes: at first that of the closing bracket. */
  sizeBytes = 1;
  #operations: readonly T[] | undefined;

  /** Adds an operation or a whole run, with the bracket or comma before it. */
  add(item: Item<T>): void {
    this.items.push(item);
    this.count += isRun(item) ? item.count : 1;
    this.sizeBytes += item.sizeBytes + 1;
  }

  /**
   * Adds the first of these items, as long as the batch has at most `countMax` operations and fits into a body. The last
   * run may be divided. Returns how many items were added as a whole.
   */
  fill(items: readonly Item<T>[], countMax: number): number {
    for (const [whole, item] of items.entries()) {
      const left = countMax - this.count;
      const leftBytes = BODY_BYTES_MAX - this.sizeBytes - 1;
      if (left === 0) return whole;
      // The first operation is in, however large it is.
      const least = this.count === 0 ? 1 : 0;
      const fitting = isRun(item) ? item.fitting(0, left, leftBytes) : Number(item.sizeBytes <= leftBytes);
      const taken = Math.max(fitting, least);
      if (taken === 0) return whole;
      if (isRun(item) && taken < item.count) {
        this.add(item.take(taken));
        return whole;
      }
      this.add(item);
    }
    return items.length;
  }

  /** The operations that are not in a run. */
  get singles(): readonly T[] {
    return this.items.filter((item): item is T => !isRun(item));
  }

  /** The runs, if the batch has nothing else; otherwise undefined. */
  get onlyRuns(): readonly OperationRun<T>[] | undefined {
    const runs = this.items.filter(isRun);
    return runs.length === this.items.length ? runs : undefined;
  }

  /** Each operation by itself, also those of the runs. */
  get operations(): readonly T[] {
    return (this.#operations ??= this.items.flatMap((item) => (isRun(item) ? item.operations() : [item])));
  }
}

export function batchOf<T extends OperationText>(operations: readonly T[]): Batch<T> {
  const batch = new Batch<T>();
  for (const operation of operations) batch.add(operation);
  return batch;
}

type WaitingOperation = OperationText & Pick<RangeOperation<never>, 'hasBegun'>;

/** Whether a range has other batches in flight. While a range is busy, waiting for more operations costs no time. */
type Pace = 'idle' | 'busy';

export class Batcher<T extends WaitingOperation> {
  readonly #clock: Clock;
  /** Operations that were put back, and then those of documents that have begun. */
  #first: T[] = [];
  #others: Item<T>[] = [];
  #othersCount = 0;
  /**
   * How many operations at the front may leave now, because they are sealed or were put back. The others form the open
   * batch.
   */
  #sealed = 0;
  #openBytes = 1;
  #openSinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of operations that wait. */
  get size(): number {
    return this.#first.length + this.#othersCount;
  }

  /** When the open batch is sealed by time; undefined if no batch is open, or if a sealed batch can leave now. */
  get dueMs(): number | undefined {
    return this.#sealed > 0 || this.size === 0 ? undefined : this.#openSinceMs + LINGER_MS;
  }

  add(operation: T): void {
    const sizeBytes = operation.sizeBytes + 1;
    if (operation.hasBegun === true && this.#sealed > 0) {
      this.#first.push(operation);
      this.#sealed += 1;
      return;
    }
    if (this.size > this.#sealed && this.#openBytes + sizeBytes > BODY_BYTES_MAX) this.#seal();
    if (this.size === this.#sealed) this.#openSinceMs = this.#clock.monotonicMs();
    (operation.hasBegun === true ? this.#first : this.#others).push(operation);
    if (operation.hasBegun !== true) this.#othersCount += 1;
    this.#openBytes += sizeBytes;
    if (this.#isOpenFull) this.#seal();
  }

  /** Adds a run behind all others. It fills the open batch, and then as many new ones as it needs. */
  addRun(run: OperationRun<T>): void {
    this.#others.push(run);
    for (let from = 0; from < run.count;) {
      const openCount = this.size - this.#sealed;
      if (openCount === 0) this.#openSinceMs = this.#clock.monotonicMs();
      const leftBytes = BODY_BYTES_MAX - this.#openBytes - 1;
      const fitting = run.fitting(from, OPERATIONS_MAX - openCount, leftBytes);
      const to = from + (openCount === 0 ? Math.max(1, fitting) : fitting);
      this.#othersCount += to - from;
      if (to > from) this.#openBytes += run.sizeOf(from, to) + 1;
      if (to < run.count || this.#isOpenFull) this.#seal();
      from = to;
    }
  }

  /** Takes back operations that were sent and refused. They leave again ahead of all others, in their order. */
  putBack(operations: readonly T[]): void {
    this.#first = [...operations, ...this.#first];
    this.#sealed += operations.length;
  }

  /** Whether `next` returns a batch. */
  isReady(pace: Pace): boolean {
    if (this.#sealed > 0) return true;
    return this.size > 0 && (pace === 'idle' || this.#clock.monotonicMs() >= this.#openSinceMs + LINGER_MS);
  }

  /** Whether the next batch has so many operations or bytes, or has waited so long for them. */
  isWorthSending(operations: number, waitMs: number): boolean {
    if (this.#sealed > 0 || this.size >= operations || this.#openBytes >= WORTH_BYTES) return true;
    return this.#clock.monotonicMs() >= this.#openSinceMs + waitMs;
  }

  /** Removes and returns the next batch, of at most `operationsMax` operations; undefined if none is ready. */
  next(pace: Pace, operationsMax = OPERATIONS_MAX): Batch<T> | undefined {
    if (!this.isReady(pace)) return undefined;
    if (this.#sealed === 0) this.#seal();
    const countMax = Math.min(this.#sealed, operationsMax);
    const batch = new Batch<T>();
    this.#first.splice(0, batch.fill(this.#first, countMax));
    if (this.#first.length === 0) {
      const before = batch.count;
      this.#others.splice(0, batch.fill(this.#others, countMax));
      this.#othersCount -= batch.count - before;
    }
    this.#sealed -= batch.count;
    return batch;
  }

  /** Removes all operations that wait, and returns them in order. */
  takeAll(): T[] {
    const all = [
      ...this.#first,
      ...this.#others.flatMap((item) => (isRun(item) ? item.operations() : [item])),
    ];
    this.#first = [];
    this.#others = [];
    this.#othersCount = 0;
    this.#seal();
    return all;
  }

  get #isOpenFull(): boolean {
    return this.size - this.#sealed === OPERATIONS_MAX || this.#openBytes >= BODY_BYTES_MAX;
  }

  #seal(): void {
    this.#sealed = this.size;
    this.#openBytes = 1;
  }
}

/** The bytes of a batch, and `free`, which returns their memory to the pool. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  readonly free: () => void;
}

/**
 * Makes request bodies in pooled memory. A socket may still be writing a request that was answered early or canceled.
 * So a body may be freed only when all its operations have been answered: then the service has received it completely.
 */
export class RequestBodies {
  readonly #memory = new BufferPool({ stepBytes: BODY_STEP_BYTES, idleBytesMax: IDLE_BYTES_MAX });

  make<T extends OperationText>(batch: Batch<T>): RequestBody {
    const lent = this.#memory.lend(batch.sizeBytes);
    return { bytes: fill(lent, batch), free: () => this.#memory.giveBack(lent) };
  }
}

function fill<T extends OperationText>(body: Buffer, { items, sizeBytes }: Batch<T>): Uint8Array {
  let at = 0;
  for (const item of items) {
    body[at] = at === 0 ? OPEN : COMMA;
    item.writeTo(body, at + 1);
    at += item.sizeBytes + 1;
  }
  body[at] = CLOSE;
  assert(at === sizeBytes - 1, 'a body has the size that its operations announced');
  return body.subarray(0, sizeBytes);
}
