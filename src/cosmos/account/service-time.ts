/**
 * Keeps the service's time: the dates of its replies, and between replies a clock that nobody sets. Documents expire by
 * the service's time, and the clock of this machine may be wrong, or may be set while a run waits.
 *
 * Invariant: one wrong date changes nothing. A date that contradicts the time kept so far is believed only when the
 * replies after it confirm it. A date that is ahead would make documents count as expired, so it needs more: the clock
 * of this machine has to agree with it, as after a computer has slept, or nothing else may be heard for a while.
 */
import type { Clock } from '../../lib/clock.ts';

/** A date may be behind by this much, because dates have whole seconds and replies overtake each other. */
const LATE_MS = 10_000;
/** A date may be ahead by this much. Nothing delays a reply into the future, but the service has many machines. */
const EARLY_MS = 2000;
/** How many replies in a row have to say the same before the time kept so far is given up. */
const REPLIES = 3;
/** For how long they have to, if they are ahead and the clock of this machine does not agree with them. */
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
  /** What has to be added to the monotonic clock. */
  #offsetMs: number;
  /** Whether a reply has confirmed the offset. Until then it comes from the clock of this machine. */
  #isConfirmed = false;
  #claim: Claim | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
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
    // Before the first reply only this machine's clock is known, which is no better than three replies.
    if (offsetMs < this.#offsetMs || !this.#isConfirmed) return true;
    const nowMs = this.#clock.monotonicMs();
    return (
      nowMs - sinceMs >= AHEAD_FOR_MS || Math.abs(nowMs + offsetMs - this.#clock.now()) < AGREES_MS
    );
  }
}

/** Whether a date with this offset may come from a service whose time has the other offset. */
function agree(offsetMs: number, knownMs: number): boolean {
  return offsetMs > knownMs - LATE_MS && offsetMs <= knownMs + EARLY_MS;
}
