/**
 * Owns time while the engine runs under the model: timers fire only when the scheduler says so, in the order of their
 * times. It replaces the two timer functions of the process until it is disposed of.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '../../../src/lib/abort.ts';
import type { Clock } from '../../../src/lib/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

/** More turns than any chain of immediates of the engine has. */
const TURNS_MAX = 1000;

export class VirtualTimers implements Disposable {
  nowMs = Date.UTC(2026, 0, 1);
  /** For the engine. */
  readonly clock: Clock = { now: () => this.nowMs, monotonicMs: () => this.nowMs, sleep };
  readonly #set = globalThis.setTimeout;
  readonly #clear = globalThis.clearTimeout;
  #timers: Timer[] = [];

  constructor() {
    const set = (fire: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): unknown => {
      const timer = { atMs: this.nowMs + Math.max(0, delayMs), fire: () => fire(...args) };
      this.#timers.push(timer);
      return Object.assign(timer, { ref: () => timer, unref: () => timer, hasRef: () => true });
    };
    const clear = (timer: unknown): void => {
      const others = this.#timers.filter((one) => one !== timer);
      // A timer from before belongs to the test runner.
      if (others.length === this.#timers.length) this.#clear(timer as NodeJS.Timeout | undefined);
      this.#timers = others;
    };
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  }

  /** When the next timer is due; Infinity if there is none. */
  get nextMs(): number {
    return this.#timers.reduce((least, { atMs }) => Math.min(least, atMs), Infinity);
  }

  /** Moves time to the next timer, and fires it. */
  tick(): void {
    const [first] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
    if (first === undefined) return;
    this.#timers = this.#timers.filter((one) => one !== first);
    this.nowMs = Math.max(this.nowMs, first.atMs);
    first.fire();
  }

  /** Forgets all timers: the process to which they belonged has ended. */
  forget(): void {
    this.#timers = [];
  }

  /** Resolves when the engine waits for nothing but timers and replies. */
  async whenIdle(): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      await nextTurn();
      if (!process.getActiveResourcesInfo().includes('Immediate')) return;
    }
    throw new Error('the engine never waits');
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, { setTimeout: this.#set, clearTimeout: this.#clear });
  }
}
