/**
 * Collects the operations of one range into the bodies of bulk requests. The bytes of a body are made only when its
 * batch is sent, so operations can be grouped differently until then.
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
import type { OperationText, RangeOperation } from './operation.ts';

/**
 * The most bytes of a body: well below the service's limit of 2 MB, so that a batch takes seconds at most, and a retry
 * repeats little.
 */
export const BODY_BYTES_MAX = 200 * 1024;
/** A busy range waits this long for more operations: shorter than a round trip, longer than making an operation takes. */
const LINGER_MS = 5;

/** Body memory comes in multiples of this size: little is wasted, and most bodies can reuse earlier memory. */
const BODY_STEP_BYTES = 64 * 1024;
/** Pooled memory for bodies: more than the requests in flight usually need. Excess is garbage-collected. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024;

const [OPEN, CLOSE, COMMA] = [0x5b, 0x5d, 0x2c];

export interface Batch<T extends OperationText> {
  readonly operations: readonly T[];
  /** Size of the batch's request body in bytes. */
  readonly sizeBytes: number;
}

export function batchOf<T extends OperationText>(operations: readonly T[]): Batch<T> {
  // Adds one byte for the bracket or comma before each operation, and one for the closing bracket.
  return { operations, sizeBytes: operations.reduce((sum, { sizeBytes }) => sum + sizeBytes + 1, 1) };
}

type WaitingOperation = OperationText & Pick<RangeOperation<never>, 'hasBegun'>;

/** Whether a range has other batches in flight. While a range is busy, waiting for more operations costs no time. */
type Pace = 'idle' | 'busy';

export class Batcher<T extends WaitingOperation> {
  readonly #clock: Clock;
  /** Operations that were put back, and then those of documents that have begun. */
  #first: T[] = [];
  #others: T[] = [];
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
    return this.#first.length + this.#others.length;
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
    this.#openBytes += sizeBytes;
    if (this.size - this.#sealed === OPERATIONS_MAX || this.#openBytes >= BODY_BYTES_MAX) this.#seal();
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

  /** Removes and returns the next batch, of at most `operationsMax` operations; undefined if none is ready. */
  next(pace: Pace, operationsMax = OPERATIONS_MAX): Batch<T> | undefined {
    if (!this.isReady(pace)) return undefined;
    if (this.#sealed === 0) this.#seal();
    const countMax = Math.min(this.#sealed, operationsMax);
    const ahead = this.#first.length;
    let sizeBytes = 1;
    let count = 0;
    while (count < countMax) {
      const operation = count < ahead ? this.#first[count] : this.#others[count - ahead];
      const addedBytes = (operation?.sizeBytes ?? 0) + 1;
      if (count > 0 && sizeBytes + addedBytes > BODY_BYTES_MAX) break;
      sizeBytes += addedBytes;
      count += 1;
    }
    this.#sealed -= count;
    const operations = this.#first.splice(0, count);
    if (count > ahead) operations.push(...this.#others.splice(0, count - ahead));
    return { operations, sizeBytes };
  }

  /** Removes all operations that wait, and returns them in order. */
  takeAll(): T[] {
    const all = [...this.#first, ...this.#others];
    this.#first = [];
    this.#others = [];
    this.#seal();
    return all;
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

function fill<T extends OperationText>(body: Buffer, { operations, sizeBytes }: Batch<T>): Uint8Array {
  let at = 0;
  for (const operation of operations) {
    body[at] = at === 0 ? OPEN : COMMA;
    operation.writeTo(body, at + 1);
    at += operation.sizeBytes + 1;
  }
  body[at] = CLOSE;
  assert(at === sizeBytes - 1, 'a body has the size that its operations announced');
  return body.subarray(0, sizeBytes);
}
