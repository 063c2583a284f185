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

export class BufferPool {
  readonly #limits: PoolLimits;
  readonly #idle: Buffer[] = [];
  #idleBytes = 0;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Lends a buffer of at least `sizeBytes`, with arbitrary contents. */
  lend(sizeBytes: number): Buffer {
    const fitting = this.#idle.findLastIndex((buffer) => buffer.length >= sizeBytes);
    const [idle] = fitting < 0 ? [] : this.#idle.splice(fitting, 1);
    if (idle !== undefined) {
      this.#idleBytes -= idle.length;
      return idle;
    }
    const { stepBytes } = this.#limits;
    return Buffer.allocUnsafeSlow(Math.ceil(Math.max(sizeBytes, 1) / stepBytes) * stepBytes);
  }

  /** Takes back a buffer that `lend` has returned. The caller must not use it afterwards. */
  giveBack(buffer: Buffer): void {
    assert(!this.#idle.includes(buffer), 'memory is given back once');
    if (this.#idleBytes + buffer.length > this.#limits.idleBytesMax) return;
    this.#idle.push(buffer);
    this.#idleBytes += buffer.length;
  }
}
