/**
 * Lends reusable memory for pages and request bodies: allocating megabytes for each page or body would keep the garbage
 * collector busy. Invariant: a buffer is lent to one user at a time, and at most `idleBytesMax` unused bytes are kept.
 * A buffer that is not given back is left to the garbage collector.
 */
import { assert } from './assert.ts';

export interface PoolLimits {
  /** The size of a new buffer is rounded up to a multiple of this, so that a slightly larger request can reuse it. */
  readonly stepBytes: number;
  /** How many bytes of unused memory are kept. */
  readonly idleBytesMax: number;
}

const NOTHING = { length: 0 };

export class BufferPool {
  readonly #limits: PoolLimits;
  readonly #idle: Buffer[] = [];
  #idleBytes = 0;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Lends a buffer of at least `sizeBytes`, with arbitrary contents. */
  lend(sizeBytes: number): Buffer {
    const { stepBytes } = this.#limits;
    const bytes = Math.ceil(Math.max(sizeBytes, 1) / stepBytes) * stepBytes;
    const smallest = this.#smallest(bytes);
    const [idle] = smallest < 0 ? [] : this.#idle.splice(smallest, 1);
    if (idle === undefined) return Buffer.allocUnsafeSlow(bytes);
    this.#idleBytes -= idle.length;
    return idle;
  }

  /** Returns the index of the smallest idle buffer of at least `bytes`, of several the one that was used last; -1 for none. */
  #smallest(bytes: number): number {
    let [found, foundBytes] = [-1, Infinity];
    for (let at = this.#idle.length - 1; at >= 0 && foundBytes > bytes; at -= 1) {
      const { length } = this.#idle[at] ?? NOTHING;
      if (length >= bytes && length < foundBytes) [found, foundBytes] = [at, length];
    }
    return found;
  }

  /** Takes back a buffer that `lend` has returned. The caller must not use it afterwards. */
  giveBack(buffer: Buffer): void {
    assert(!this.#idle.includes(buffer), 'memory is given back once');
    if (this.#idleBytes + buffer.length > this.#limits.idleBytesMax) return;
    this.#idle.push(buffer);
    this.#idleBytes += buffer.length;
  }
}
