/**
 * Why nothing moves, in words: what the target's ranges wait for, what the source's readers wait for, or that there is
 * nothing to do. What always holds: whoever waits for the service for long is named, with the reason.
 */
import type { Wait } from '../../cosmos/load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RangeWait, WaitReason } from '../../cosmos/bulk/operation.ts';

/** Shorter waits are how the service works; nobody is told of them. */
const WORTH_TELLING_MS = 2000;
/** Told once, then again after so long. */
const TELL_AGAIN_MS = 30_000;

const WORDS: Readonly<Record<WaitReason, ((side: string) => string) | null>> = {
  throttled: (side) => `throttled by the ${side}`,
  transient: (side) => `the ${side} does not answer well`,
  denied: (side) => `the ${side} refuses access`,
  split: (side) => `a range of the ${side} is splitting`,
  splitting: (side) => `a range of the ${side} is splitting`,
  'no budget': null,
  'in flight': null,
  filling: null,
  'nothing to do': null,
};

export class Waits {
  readonly #clock: Clock;
  readonly #asked = new Map<
    string,
    { readonly wait: Wait; readonly sinceMs: number; readonly untilMs: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody waits for a side of the migration. */
  see(side: 'source' | 'target', wait: Wait): void {
    const nowMs = this.#clock.now();
    const before = this.#asked.get(side);
    const goesOn =
      before !== undefined && nowMs <= before.untilMs + 1000 && before.wait.reason === wait.reason;
    this.#asked.set(side, { wait, sinceMs: goesOn ? before.sinceMs : nowMs, untilMs: nowMs + wait.delayMs });
  }

  /** The gravest of what is waited for now: of what each side is asked for, and of what was sent in batches. */
  now(target: readonly RangeWait[], source: readonly RangeWait[] = []): string | null {
    const nowMs = this.#clock.now();
    for (const [side, { wait, sinceMs, untilMs }] of this.#asked) {
      if (nowMs > untilMs + 1000 || nowMs - sinceMs < WORTH_TELLING_MS) continue;
      return `the ${side}: ${wait.trouble.what}`;
    }
    return this.#longest('target', target) ?? this.#longest('source', source);
  }

  /** Of a run that has not moved for so long, though nobody has told of a wait. */
  whyStill(
    seconds: number,
    {
      target,
      source,
      feeds,
    }: {
      readonly target: readonly RangeWait[];
      readonly source: readonly RangeWait[];
      readonly feeds: ReadonlyArray<{ readonly range: string; readonly sinceMs: number | null }>;
    },
  ): string {
    const nowMs = this.#clock.now();
    const last = [...this.#asked].findLast(([, { untilMs }]) => untilMs > nowMs - seconds * 1000);
    if (last !== undefined) return `the ${last[0]}: ${last[1].wait.trouble.what}`;
    const since = (range: string, sinceMs: number): string =>
      `(range ${range}, ${Math.round((nowMs - sinceMs) / 1000)} s)`;
    for (const [side, waits] of [
      ['target', target],
      ['source', source],
    ] as const) {
      const poor = waits.find(({ reason }) => reason === 'no budget');
      if (poor !== undefined)
        return `the RU/s of the ${side} are spent by what was sent ${since(poor.range, poor.sinceMs)}`;
      const asked = waits.find(({ inFlight }) => inFlight > 0);
      if (asked !== undefined) return `the ${side} does not answer ${since(asked.range, asked.sinceMs)}`;
    }
    for (const { range, sinceMs } of feeds)
      if (sinceMs !== null) return `the source does not answer ${since(range, sinceMs)}`;
    return 'requests are under way and not answered';
  }

  #longest(side: string, waits: readonly RangeWait[]): string | null {
    const nowMs = this.#clock.now();
    const [longest] = waits
      .filter(({ reason, sinceMs }) => WORDS[reason] !== null && nowMs - sinceMs >= WORTH_TELLING_MS)
      .toSorted((a, b) => a.sinceMs - b.sinceMs);
    const words = longest && WORDS[longest.reason];
    if (longest === undefined || !words) return null;
    const seconds = Math.round((nowMs - longest.sinceMs) / 1000);
    return `${words(side)} (range ${longest.range}, ${seconds} s)`;
  }
}

/** Notices that nothing has happened for a while, and says so once in a while. */
export class Watchdog {
  readonly #clock: Clock;
  #progress = '';
  #sinceMs: number;
  #toldMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = this.#toldMs = clock.now();
  }

  /** `progress` changes with everything that happens; gives for how many seconds nothing has, when it is time to tell. */
  look(progress: string): number | null {
    const nowMs = this.#clock.now();
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#sinceMs = this.#toldMs = nowMs;
      return null;
    }
    if (nowMs - this.#toldMs < TELL_AGAIN_MS) return null;
    this.#toldMs = nowMs;
    return Math.round((nowMs - this.#sinceMs) / 1000);
  }
}
