/** Detects that nothing moves, and that it moves again. Invariant: a stall is notified at doubling distances. */
import type { Clock } from '../../lib/clock.ts';
import { formatCount } from '../../lib/counting.ts';
import type { VerifyProgress } from '../../verify/verify.ts';
import type { Happening } from './happening.ts';

/** How long nothing must move before a notification. Shorter pauses are common, as when a partition splits. */
export const STALLED_AFTER_MS = 60_000;

/** Steps of a cutover that wait for a command of the operator, or only for time to pass. */
const STANDING: readonly string[] = [
  'stopping writers',
  'resuming writers',
  'after the commit',
  'watching for late writes',
];

/** What a run does. */
export interface Activity {
  /** The step of a cutover; null: none. */
  readonly step: string | null;
  /** What a comparison has done that is part of the run; null: it does not compare. */
  readonly compared: Pick<VerifyProgress, 'stage' | 'source' | 'target' | 'open'> | null;
  /** Whether the run may wait for changes. */
  readonly isTail: boolean;
  readonly lagSeconds: number | null;
  /** What it has moved so far, as a text that changes whenever a document moves. */
  readonly moved: string;
}

/** Returns a text that changes whenever the run has moved; null while it need not move. */
export function figuresOf({ step, compared, isTail, lagSeconds, moved }: Activity): string | null {
  if (step !== null && STANDING.includes(step)) return null;
  if (compared !== null) {
    // A comparison that looks at documents again gives the mover time to replicate them, within its deadline.
    return compared.stage === 'rechecking' ? null : comparedText(compared);
  }
  // A tail without new changes is not behind.
  if (isTail && lagSeconds !== null && lagSeconds * 1000 < STALLED_AFTER_MS) return null;
  return moved;
}

/** Returns what a comparison has done, as a text. */
export function comparedText({ stage, source, target, open }: NonNullable<Activity['compared']>): string {
  return `${stage} ${source} ${target} ${open}`;
}

export interface StallLook {
  /** What `figuresOf` returns. */
  readonly figures: string | null;
  readonly waitsFor: string | null;
  /** Returns the key of a stall that begins; null: the ledger has none. */
  readonly key: () => string | null;
}

/** Measures how long something lasts, and when to notify it: after STALLED_AFTER_MS, then at doubling distances. */
export class Lasting {
  readonly #clock: Clock;
  #sinceMs: number;
  #notifiedMs = 0;
  /** How often it was notified. */
  times = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  get ms(): number {
    return this.#clock.monotonicMs() - this.#sinceMs;
  }

  /** Whether a notification is due, which counts as sent. */
  isDue(): boolean {
    const { ms } = this;
    if (ms < Math.max(STALLED_AFTER_MS, this.#notifiedMs * 2)) return false;
    this.#notifiedMs = ms;
    this.times += 1;
    return true;
  }
}

export class Stall {
  readonly #clock: Clock;
  #figures: string | null = '';
  #lasting: Lasting;
  #key: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lasting = new Lasting(clock);
  }

  look({ figures, waitsFor, key }: StallLook): Happening | null {
    const lasting = this.#lasting;
    if (figures === null || figures !== this.#figures) {
      this.#figures = figures;
      this.#lasting = new Lasting(this.#clock);
      return lasting.times === 0 ? null : this.#happening('moving', lasting, null);
    }
    if (!lasting.isDue()) return null;
    if (lasting.times === 1) this.#key = key();
    return this.#happening('stalled', lasting, waitsFor);
  }

  #happening(event: 'stalled' | 'moving', { ms, times }: Lasting, waitsFor: string | null): Happening {
    const seconds = Math.round(ms / 1000);
    const why = waitsFor === null ? '' : `: ${waitsFor}`;
    const text =
      event === 'moving'
        ? `documents move again, after ${formatCount(seconds)} s`
        : `nothing has moved for ${formatCount(seconds)} s${why}`;
    const key = this.#key === null ? null : `${this.#key} ${event} ${times}`;
    return { event, text, stalled: { seconds, waitsFor }, key };
  }
}
