/**
 * How many bytes were created on which day, in UTC. The date of a document is a property of it, or `_ts`. Invariant: memory
 * is bounded whatever dates documents have: only the days of the last fifty years are kept apart.
 */
import type { Scalar } from '../../documents/scalar.ts';
import { isUnfit } from '../../keys/filters/filter.ts';
import { instantOf } from '../../keys/filters/instant.ts';

const DAY_SECONDS = 86_400;
const DAYS_MAX = 18_263;
/** Clocks differ. A date that is further in the future is not the date of a creation. */
const AHEAD_SECONDS = 3600;

export class History {
  /** Bytes without a date that can be read. */
  undatedBytes = 0;
  readonly #nowTs: number;
  readonly #bytes = new Map<number, number>();
  #firstTs: number | null = null;

  /** `nowTs` is the time when the plan began, in seconds since the epoch. */
  constructor(nowTs: number, saved?: SavedHistory) {
    this.#nowTs = nowTs;
    this.undatedBytes = saved?.undatedBytes ?? 0;
    this.#firstTs = saved?.firstTs ?? null;
    for (const [day, bytes] of saved?.days ?? []) this.#bytes.set(day, bytes);
  }

  /** Adds a document by the value of its creation date: ISO 8601, or a number of seconds or milliseconds. */
  addDated(created: Scalar | undefined, bytes: number): void {
    const instant = created === undefined ? { why: 'missing' } : instantOf(created);
    if (isUnfit(instant)) this.undatedBytes += bytes;
    else this.add(instant / 1000, bytes);
  }

  /** Adds a document that was created at `ts`, in seconds since the epoch. */
  add(ts: number, bytes: number): void {
    if (!Number.isFinite(ts) || ts > this.#nowTs + AHEAD_SECONDS) {
      this.undatedBytes += bytes;
      return;
    }
    const kept = Math.max(ts, this.#nowTs - DAYS_MAX * DAY_SECONDS);
    const day = Math.floor(kept / DAY_SECONDS);
    this.#firstTs = Math.min(kept, this.#firstTs ?? kept);
    this.#bytes.set(day, (this.#bytes.get(day) ?? 0) + bytes);
  }

  save(): SavedHistory {
    return {
      undatedBytes: this.undatedBytes,
      firstTs: this.#firstTs,
      days: [...this.#bytes].toSorted(([one], [other]) => one - other),
    };
  }
}

/** A history as it is stored between two runs, and as the forecast reads it. */
export interface SavedHistory {
  readonly undatedBytes: number;
  /** The oldest creation, in seconds since the epoch; null: no document has a date. */
  readonly firstTs: number | null;
  /** Days since the epoch in ascending order, with the bytes that were created on each. */
  readonly days: ReadonlyArray<readonly [day: number, bytes: number]>;
}
