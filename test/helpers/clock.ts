/**
 * Clocks for tests. Invariant: none of them lets a test wait longer than it asks for, and a wait that was abandoned
 * leaves nothing behind.
 */
import { orAborted } from '../../src/lib/abort.ts';
import { systemClock, type Clock } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly wakeAtMs: number;
  readonly wake: () => void;
}

/** Time stands still until a test advances it; sleepers wake in the order of their times. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #sleepers: readonly Sleeper[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** How many sleep now. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  async sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    let sleeper: Sleeper | undefined;
    const woken = new Promise<void>((wake) => {
      sleeper = { wakeAtMs: this.#nowMs + delayMs, wake };
      this.#sleepers = [...this.#sleepers, sleeper];
    });
    try {
      await orAborted(woken, signal);
    } finally {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    }
  }

  advance(deltaMs: number): void {
    this.#nowMs += deltaMs;
    const due = this.#sleepers.filter(({ wakeAtMs }) => wakeAtMs <= this.#nowMs);
    this.#sleepers = this.#sleepers.filter((sleeper) => !due.includes(sleeper));
    for (const { wake } of due.toSorted((a, b) => a.wakeAtMs - b.wakeAtMs)) wake();
  }
}

/** Time passes by sleeping only, and at once: for code whose waits are its only passing of time. */
export class HurriedClock extends VirtualClock {
  override async sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.advance(delayMs);
  }
}

/** A clock that shows another time than this machine's, and waits as this machine does. */
export function clockAt(now: () => number): Clock {
  return { now, sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal) };
}

/** Minutes pass in seconds, for code that measures minutes. */
export function fastClock(times: number): Clock {
  const startMs = Date.now();
  return clockAt(() => startMs + (Date.now() - startMs) * times);
}
