/**
 * Finds out why a run does not move: what the ranges of the target and the readers of the source are waiting for.
 * Invariant: a long wait for the service is reported with its side and its reason.
 */
import type { Wait } from '../../cosmos/load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RangeWait, WaitReason } from '../../cosmos/bulk/operation.ts';

/** Waits that are shorter than this are normal and not reported. */
const REPORT_AFTER_MS = 2000;
/** How long a run must stall before a warning, and before each further warning. */
const WARN_EVERY_MS = 30_000;
/**
 * For how long after the delay of a retry its side still counts as waiting: the repeated request needs time to get a
 * reply.
 */
const REQUEST_GRACE_MS = 1000;

/** The words for each reason; null for a reason that the operator does not need to know. */
const WORDS: Readonly<Record<WaitReason, ((side: string) => string) | null>> = {
  throttled: (side) => `throttled by the ${side}`,
  transient: (side) => `the ${side} has temporary trouble`,
  denied: (side) => `the ${side} refuses access`,
  split: (side) => `a range of the ${side} is splitting`,
  splitting: (side) => `a range of the ${side} is splitting`,
  'no budget': null,
  'in flight': null,
  filling: null,
  'nothing to do': null,
};

/**
 * What the ranges of both sides wait for. `feeds`: when the unanswered request for the feed of each source range was
 * sent.
 */
export interface PendingRequests {
  readonly target: readonly RangeWait[];
  readonly source: readonly RangeWait[];
  readonly feeds: ReadonlyArray<{ readonly range: string; readonly sinceMs: number | null }>;
}

/** Remembers the retries of requests to both sides, and says in words what a run is waiting for. */
export class ServiceWaits {
  readonly #clock: Clock;
  readonly #retries = new Map<
    string,
    { readonly wait: Wait; readonly sinceMs: number; readonly untilMs: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a request to this side waits before it is sent again. */
  record(side: 'source' | 'target', wait: Wait): void {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#retries.get(side);
    const continues =
      before !== undefined &&
      nowMs <= before.untilMs + REQUEST_GRACE_MS &&
      before.wait.reason === wait.reason;
    this.#retries.set(side, {
      wait,
      sinceMs: continues ? before.sinceMs : nowMs,
      untilMs: nowMs + wait.delayMs,
    });
  }

  /** Returns the most serious wait at this moment: that of a retried request, or else the longest wait of a range. */
  current(target: readonly RangeWait[], source: readonly RangeWait[] = []): string | null {
    const nowMs = this.#clock.monotonicMs();
    for (const [side, { wait, sinceMs, untilMs }] of this.#retries) {
      if (nowMs > untilMs + REQUEST_GRACE_MS || nowMs - sinceMs < REPORT_AFTER_MS) continue;
      // People know throttling by its name. Of other trouble, the answer says more.
      return wait.reason === 'throttled'
        ? `throttled by the ${side} (${Math.round((nowMs - sinceMs) / 1000)} s)`
        : `the ${side}: ${wait.trouble.what}`;
    }
    return this.#longest('target', target) ?? this.#longest('source', source);
  }

  /** Returns the cause of a stall that has lasted this many seconds, and for which `current` has found no wait. */
  explainStall(seconds: number, { target, source, feeds }: PendingRequests): string {
    const nowMs = this.#clock.monotonicMs();
    const last = [...this.#retries].findLast(([, { untilMs }]) => untilMs > nowMs - seconds * 1000);
    if (last !== undefined) return `the ${last[0]}: ${last[1].wait.trouble.what}`;
    const since = (range: string, sinceMs: number): string =>
      `(range ${range}, ${Math.round((nowMs - sinceMs) / 1000)} s)`;
    for (const [side, waits] of [
      ['target', target],
      ['source', source],
    ] as const) {
      const starved = waits.find(({ reason }) => reason === 'no budget');
      if (starved !== undefined)
        return `requests in flight have used up the RU/s of the ${side} ${since(starved.range, starved.sinceMs)}`;
      const asked = waits.find(({ inFlight }) => inFlight > 0);
      if (asked !== undefined) return `the ${side} does not answer ${since(asked.range, asked.sinceMs)}`;
    }
    for (const { range, sinceMs } of feeds)
      if (sinceMs !== null) return `the source does not answer ${since(range, sinceMs)}`;
    return 'requests in flight are not answered';
  }

  #longest(side: string, waits: readonly RangeWait[]): string | null {
    const nowMs = this.#clock.monotonicMs();
    const [longest] = waits
      .filter(({ reason, sinceMs }) => WORDS[reason] !== null && nowMs - sinceMs >= REPORT_AFTER_MS)
      .toSorted((a, b) => a.sinceMs - b.sinceMs);
    const words = longest && WORDS[longest.reason];
    if (longest === undefined || !words) return null;
    const seconds = Math.round((nowMs - longest.sinceMs) / 1000);
    return `${words(side)} (range ${longest.range}, ${seconds} s)`;
  }
}

/** Detects that nothing has changed for a while, and says when to repeat the warning. */
export class Watchdog {
  readonly #clock: Clock;
  #progress = '';
  #sinceMs: number;
  #warnedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = this.#warnedMs = clock.monotonicMs();
  }

  /**
   * Returns the length of the stall if a warning is due, else null. `progress` is a text that changes whenever the run
   * has moved.
   */
  stalledSeconds(progress: string): number | null {
    const nowMs = this.#clock.monotonicMs();
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#sinceMs = this.#warnedMs = nowMs;
      return null;
    }
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) return null;
    this.#warnedMs = nowMs;
    return Math.round((nowMs - this.#sinceMs) / 1000);
  }
}
