/**
 * Detects that the source is about to forget deletes that are not replicated, as when no run has been started for days.
 * Invariant: it is notified when 2 days are left, then at halves of the time, and when the time is over.
 */
import { formatCount } from '../../lib/counting.ts';
import type { Happening } from './happening.ts';

const LEFT_MS = 48 * 3_600_000;
const HOUR_MS = 3_600_000;
/** Shorter times are not halved again: they are too short to act. */
const STEPS_MAX = 5;

export class RetentionWatch {
  /** How often the time was halved at the last notification; null: there was none. */
  #notified: number | 'over' | null = null;

  /** `endMs`: when the source begins to forget; null: it does not matter. */
  look(endMs: number | null, nowMs: number): Happening | null {
    const leftMs = (endMs ?? Infinity) - nowMs;
    if (endMs === null || leftMs > LEFT_MS) {
      this.#notified = null;
      return null;
    }
    const step = leftMs <= 0 ? 'over' : Math.min(STEPS_MAX, Math.floor(Math.log2(LEFT_MS / leftMs)));
    if (step === this.#notified) return null;
    this.#notified = step;
    const left = `${formatCount(Math.max(1, Math.round(leftMs / HOUR_MS)))} h`;
    const text =
      leftMs <= 0
        ? 'the source may have forgotten deletes that are not replicated; run cosmig tail, then cosmig verify --repair'
        : `in ${left} the source may begin to forget deletes that are not replicated; run cosmig tail`;
    return {
      event: 'retention',
      text,
      key: `retention ${Math.round(endMs)} ${step}`,
      retention: { end: new Date(endMs).toISOString(), seconds: Math.round(leftMs / 1000) },
    };
  }
}
