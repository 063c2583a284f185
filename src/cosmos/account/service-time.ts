/**
 * Keeps the service's time: the dates of its replies, and between replies the monotonic clock. Documents expire by
 * the service's time, and the clock of this machine may be wrong, or may be set while a run waits.
 *
 * Invariant: one wrong date changes nothing. A date that contradicts the time kept so far is believed only when the
 * replies after it confirm it. A date that is ahead would make documents count as expired, so it needs more: either the
 * clock of this machine agrees with it, as after a computer has slept, or every reply confirms it for AHEAD_FOR_MS.
 */
import type { Clock } from '../../lib/clock.ts';
import { pluralize } from '../../lib/counting.ts';
import type { Log } from '../../lib/log.ts';

/** A date may be behind by this much, because dates have whole seconds and replies overtake each other. */
const LATE_MS = 10_000;
/**
 * A date may be ahead by this much. A delay never makes a date look later, but the clocks of the service's machines
 * differ.
 */
const EARLY_MS = 2000;
/** How many replies in a row have to say the same before the time kept so far is given up. */
const REPLIES = 3;
/**
 * For how long replies have to say the same, if their time is ahead and the clock of this machine does not agree with
 * it.
 */
const AHEAD_FOR_MS = 30_000;
/** The clock of this machine agrees with a date if they differ by less than this. */
const AGREES_MS = 60_000;

/** A time that replies claim and that is not believed yet. */
interface Claim {
  readonly offsetMs: number;
  readonly sinceMs: number;
  readonly replies: number;
}

export class ServiceTime {
  readonly #clock: Clock;
  /** The service's time minus the monotonic clock. */
  #offsetMs: number;
  /** Whether a reply has confirmed the offset. Until then it comes from the clock of this machine. */
  #isConfirmed = false;
  #claim: Claim | undefined;
  readonly #log: Log | undefined;

  constructor(clock: Clock, log?: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#offsetMs = clock.now() - clock.monotonicMs();
  }

  /** Takes the date of a reply. */
  see(date: string | undefined): void {
    const ms = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(ms)) return;
    const offsetMs = ms - this.#clock.monotonicMs();
    if (agree(offsetMs, this.#offsetMs)) {
      this.#offsetMs = this.#isConfirmed ? Math.max(offsetMs, this.#offsetMs) : offsetMs;
      this.#isConfirmed = true;
      this.#claim = undefined;
      return;
    }
    const claim = this.#claimOf(offsetMs);
    this.#claim = claim;
    if (!this.#isBelievable(claim)) return;
    this.#offsetMs = claim.offsetMs;
    this.#isConfirmed = true;
    this.#claim = undefined;
    const off = clockOff(this.#clock.now() - this.nowMs());
    if (off !== undefined)
      this.#log?.warn(`${off}; expiry and signatures follow the service's time`, {
        now: "set this machine's clock",
      });
  }

  /** The service's time in whole seconds, as in the `_ts` of documents. */
  nowTs(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** The service's time. Until the first reply it is the time of this machine. */
  nowMs(): number {
    return this.#clock.monotonicMs() + this.#offsetMs;
  }

  #claimOf(offsetMs: number): Claim {
    const before = this.#claim;
    if (before === undefined || !agree(offsetMs, before.offsetMs))
      return { offsetMs, sinceMs: this.#clock.monotonicMs(), replies: 1 };
    return { ...before, offsetMs: Math.max(offsetMs, before.offsetMs), replies: before.replies + 1 };
  }

  #isBelievable({ offsetMs, sinceMs, replies }: Claim): boolean {
    if (replies < REPLIES) return false;
    // Until a reply confirms it, the time comes from this machine's clock, which three replies outweigh.
    if (offsetMs < this.#offsetMs || !this.#isConfirmed) return true;
    const nowMs = this.#clock.monotonicMs();
    return nowMs - sinceMs >= AHEAD_FOR_MS || Math.abs(nowMs + offsetMs - this.#clock.now()) < AGREES_MS;
  }
}

/** Whether a date with the offset `offsetMs` may come from a service whose time has the offset `knownMs`. */
function agree(offsetMs: number, knownMs: number): boolean {
  return offsetMs > knownMs - LATE_MS && offsetMs <= knownMs + EARLY_MS;
}

/** A difference of less than this is not reported: requests take time, and dates have whole seconds. */
const OFF_WORDED_MS = 60_000;

/** Returns how wrong this machine's time is, in words, compared with the date of a reply. */
export function clockOffBy(nowMs: number, date: string | undefined): string | undefined {
  return clockOff(nowMs - Date.parse(date ?? ''));
}

/** Returns how wrong this machine's clock is, in words; undefined if it is off by seconds only, or if that is not known. */
export function clockOff(aheadMs: number): string | undefined {
  if (!(Math.abs(aheadMs) >= OFF_WORDED_MS)) return undefined;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const amount =
    minutes < 120
      ? pluralize(minutes, 'minute')
      : minutes < 48 * 60
        ? pluralize(Math.round(minutes / 60), 'hour')
        : pluralize(Math.round(minutes / 1440), 'day');
  return `this machine's clock is ${amount} ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's`;
}
