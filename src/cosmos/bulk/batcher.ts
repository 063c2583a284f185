/**
 * Collects ready-made operations of one target range into bodies of bulk requests. An operation is one JSON object as
 * bytes; a batch is a list of them, and becomes a body only when it is sent, so that operations can be grouped anew.
 *
 *   add -> open batch -> sealed by count, by bytes, by a second operation of one slot, or by time -> next
 *   putBack (refused, to be tried again) -> before all others -> next
 *
 * What always holds: operations leave in the order they came, those that were put back first; a batch has at most
 * OPERATIONS_MAX operations and BODY_BYTES_MAX bytes unless it is a single operation; no slot is in a batch twice.
 */
import { assert } from '../../lib/assert.ts';
import { BufferPool } from '../../lib/buffers.ts';
import type { Clock } from '../../lib/clock.ts';

/** The service refuses more (fact SDK-8). */
export const OPERATIONS_MAX = 100;
/** Well below the service's 2 MB: a batch runs for seconds at most, and a retry repeats little. */
export const BODY_BYTES_MAX = 200 * 1024;
/** What a busy range waits for company: little beside a round trip, long beside the making of an operation. */
const LINGER_MS = 5;

/** Bodies are multiples of this: little is lent in vain, and most fit the next one. */
const BODY_STEP_BYTES = 64 * 1024;
/** Bodies of as many requests as are hardly ever under way at once: what is let go comes back as garbage. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024;

const [OPEN, CLOSE, COMMA] = [0x5b, 0x5d, 0x2c];

/** What a batch needs to know of an operation. */
export interface Batched {
  /** The size of its JSON text (fact SDK-8). */
  readonly sizeBytes: number;
  /** Writes that text, whenever the operation is sent; its size stays the same until the operation is done. */
  writeTo(body: Buffer, at: number): void;
  /** The hash of its slot, four words from `slotAt`. */
  readonly slot: Uint32Array;
  readonly slotAt: number;
}

/** An operation whose bytes are there. */
export function textOf(bytes: Uint8Array): Pick<Batched, 'sizeBytes' | 'writeTo'> {
  return { sizeBytes: bytes.length, writeTo: (body, at) => body.set(bytes, at) };
}

export interface Batch<T extends Batched> {
  readonly operations: readonly T[];
  /** The size of its body. */
  readonly sizeBytes: number;
}

/** Whether a range has other batches on their way: then a little waiting costs nothing. */
type Pace = 'idle' | 'busy';

export class Batcher<T extends Batched> {
  readonly #clock: Clock;
  #refused: T[] = [];
  readonly #sealed: Batch<T>[] = [];
  #open: T[] = [];
  #openBytes = 0;
  #openSinceMs = 0;
  readonly #slots = new SlotSet();
  #size = 0;
  #sizeBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Operations inside. */
  get size(): number {
    return this.#size;
  }

  /** Their bytes, each with its comma. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** When the open batch is due; undefined when there is none, or when something else can go now. */
  get dueMs(): number | undefined {
    if (this.#refused.length > 0 || this.#sealed.length > 0 || this.#open.length === 0) return undefined;
    return this.#openSinceMs + LINGER_MS;
  }

  add(operation: T): void {
    const { slot, slotAt } = operation;
    const sizeBytes = operation.sizeBytes + 1; // with its comma, or the bracket
    const fits = this.#openBytes + sizeBytes < BODY_BYTES_MAX;
    if (this.#open.length > 0 && (!fits || this.#slots.has(slot, slotAt))) this.#seal();
    if (this.#open.length === 0) this.#openSinceMs = this.#clock.now();
    this.#slots.add(slot, slotAt);
    this.#open.push(operation);
    this.#openBytes += sizeBytes;
    this.#size += 1;
    this.#sizeBytes += sizeBytes;
    if (this.#open.length === OPERATIONS_MAX || this.#openBytes >= BODY_BYTES_MAX - 1) this.#seal();
  }

  /** Operations that were handed out and not done; they go before all others, in their order. */
  putBack(operations: readonly T[]): void {
    this.#refused = [...operations, ...this.#refused];
    this.#size += operations.length;
    for (const operation of operations) this.#sizeBytes += operation.sizeBytes + 1;
  }

  /** Whether `next` would give something. */
  isReady(pace: Pace): boolean {
    if (this.#refused.length > 0 || this.#sealed.length > 0) return true;
    if (this.#open.length === 0) return false;
    return pace === 'idle' || this.#clock.now() >= this.#openSinceMs + LINGER_MS;
  }

  /** The next batch, if one is ready; of a larger one the first of its operations. */
  next(pace: Pace, operationsMax = OPERATIONS_MAX): Batch<T> | undefined {
    if (!this.isReady(pace)) return undefined;
    if (this.#refused.length === 0 && this.#sealed.length === 0) this.#seal();
    const batch =
      this.#refused.length > 0 ? this.#nextRefused(operationsMax) : this.#nextSealed(operationsMax);
    if (batch === undefined) return undefined;
    this.#size -= batch.operations.length;
    this.#sizeBytes -= batch.sizeBytes - 1; // the last bracket
    return batch;
  }

  /** Everything inside, in order; nothing is left. */
  takeAll(): T[] {
    const all = [...this.#refused, ...this.#sealed.flatMap(({ operations }) => operations), ...this.#open];
    this.#refused = [];
    this.#sealed.length = 0;
    this.#clearOpen();
    this.#size = 0;
    this.#sizeBytes = 0;
    return all;
  }

  #seal(): void {
    this.#sealed.push({ operations: this.#open, sizeBytes: this.#openBytes + 1 });
    this.#clearOpen();
  }

  #clearOpen(): void {
    this.#open = [];
    this.#openBytes = 0;
    this.#slots.clear();
  }

  #nextSealed(operationsMax: number): Batch<T> | undefined {
    const batch = this.#sealed.shift();
    if (batch === undefined || batch.operations.length <= operationsMax) return batch;
    const operations = batch.operations.slice(0, operationsMax);
    const sizeBytes = operations.reduce((sum, operation) => sum + operation.sizeBytes + 1, 1);
    const rest = {
      operations: batch.operations.slice(operationsMax),
      sizeBytes: batch.sizeBytes - sizeBytes + 1,
    };
    this.#sealed.unshift(rest);
    return { operations, sizeBytes };
  }

  /** As many of the refused as make a batch: they may come from several. */
  #nextRefused(operationsMax: number): Batch<T> {
    const slots = new SlotSet();
    let sizeBytes = 1;
    let count = 0;
    for (const operation of this.#refused) {
      const { slot, slotAt } = operation;
      const fits = sizeBytes + operation.sizeBytes + 1 <= BODY_BYTES_MAX && count < operationsMax;
      if (count > 0 && (!fits || slots.has(slot, slotAt))) break;
      slots.add(slot, slotAt);
      sizeBytes += operation.sizeBytes + 1;
      count += 1;
    }
    return { operations: this.#refused.splice(0, count), sizeBytes };
  }
}

/** A body, and what to do when the service has had all of it. */
export interface Body {
  readonly bytes: Uint8Array;
  readonly free: () => void;
}

/**
 * Bodies that use memory again. A socket may still be writing a request that was answered early or called off: only a
 * body whose operations have all been answered for was taken as a whole, and may be freed. Others need not be.
 */
export class Bodies {
  readonly #memory = new BufferPool({ stepBytes: BODY_STEP_BYTES, idleBytesMax: IDLE_BYTES_MAX });

  make<T extends Batched>(batch: Batch<T>): Body {
    const lent = this.#memory.lend(batch.sizeBytes);
    return { bytes: fill(lent, batch), free: () => this.#memory.giveBack(lent) };
  }
}

function fill<T extends Batched>(body: Buffer, { operations, sizeBytes }: Batch<T>): Uint8Array {
  let at = 0;
  for (const operation of operations) {
    body[at] = at === 0 ? OPEN : COMMA;
    operation.writeTo(body, at + 1);
    at += operation.sizeBytes + 1;
  }
  body[at] = CLOSE;
  assert(at === sizeBytes - 1, 'a body has the size that was told');
  return body.subarray(0, sizeBytes);
}

/** The slots of one batch: open addressing on their first word, at most 100 of 256 places taken. */
class SlotSet {
  readonly #places = new Uint8Array(256);
  readonly #words = new Uint32Array(OPERATIONS_MAX * 4);
  #count = 0;

  has(slot: Uint32Array, at: number): boolean {
    return this.#places[this.#find(slot, at)] !== 0;
  }

  add(slot: Uint32Array, at: number): void {
    for (let i = 0; i < 4; i += 1) this.#words[this.#count * 4 + i] = slot[at + i] ?? 0;
    this.#count += 1;
    this.#places[this.#find(slot, at)] = this.#count;
  }

  clear(): void {
    this.#places.fill(0);
    this.#count = 0;
  }

  #find(slot: Uint32Array, at: number): number {
    const words = this.#words;
    for (let place = (slot[at] ?? 0) & 255; ; place = (place + 1) & 255) {
      const taken = this.#places[place] ?? 0;
      const i = (taken - 1) * 4;
      const same =
        words[i] === slot[at] &&
        words[i + 1] === slot[at + 1] &&
        words[i + 2] === slot[at + 2] &&
        words[i + 3] === slot[at + 3];
      if (taken === 0 || same) return place;
    }
  }
}
