/**
 * Memory for pages and bodies, used again and again: what is allocated and let go by the megabyte keeps the garbage
 * collector busy. What always holds: memory is lent to one user at a time, only what was given back is lent again, and
 * so much of it is kept and no more. Who does not give it back has it for himself.
 */
import { assert } from './assert.ts';

export interface PoolLimits {
  /** Sizes are rounded up to this, so that the next one, a little larger, still fits. */
  readonly stepBytes: number;
  /** How much may lie idle. */
  readonly idleBytesMax: number;
}

export class BufferPool {
  readonly #limits: PoolLimits;
  readonly #idle: Buffer[] = [];
  #idleBytes = 0;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** At least so many bytes, with anything in them. */
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

  /** What was lent, whole; nobody may look at it any more. */
  giveBack(buffer: Buffer): void {
    assert(!this.#idle.includes(buffer), 'memory is given back once');
    if (this.#idleBytes + buffer.length > this.#limits.idleBytesMax) return;
    this.#idle.push(buffer);
    this.#idleBytes += buffer.length;
  }
}
