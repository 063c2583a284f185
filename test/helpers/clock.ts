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

/** What the monotonic clock shows first: not the time of day, so that code which mixes the two is noticed. */
const BOOTED_MS = 1_000_000;

/** Time stands still until a test advances it; sleepers wake in the order of their times. */
export class VirtualClock implements Clock {
  #passedMs = BOOTED_MS;
  #wallMs: number;
  #sleepers: readonly Sleeper[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wallMs = startMs - BOOTED_MS;
  }

  now(): number {
    return this.#wallMs + this.#passedMs;
  }

  monotonicMs(): number {
    return this.#passedMs;
  }

  /** The clock of the machine is set forward or back. */
  step(deltaMs: number): void {
    this.#wallMs += deltaMs;
  }

  /** How many sleep now. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  async sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    let sleeper: Sleeper | undefined;
    const woken = new Promise<void>((wake) => {
      sleeper = { wakeAtMs: this.#passedMs + delayMs, wake };
      this.#sleepers = [...this.#sleepers, sleeper];
    });
    try {
      await orAborted(woken, signal);
    } finally {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    }
  }

  advance(deltaMs: number): void {
    this.#passedMs += deltaMs;
    const due = this.#sleepers.filter(({ wakeAtMs }) => wakeAtMs <= this.#passedMs);
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

/** A clock that shows another time than this machine's, and waits as this machine does. Its time passes for all. */
export function clockAt(now: () => number): Clock {
  const bootedMs = now() - BOOTED_MS;
  return {
    now,
    monotonicMs: () => now() - bootedMs,
    sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
  };
}

/** A clock of a machine that is set: durations are right, and the time of day is off by `offMs` from now on. */
export function setClock(offMs: () => number): Clock {
  return { ...systemClock, now: () => systemClock.now() + offMs() };
}

/** Minutes pass in seconds, for code that measures minutes. */
export function fastClock(times: number): Clock {
  const startMs = Date.now();
  return clockAt(() => startMs + (Date.now() - startMs) * times);
}
