/**
 * The growth of a container in bytes per day, from the days on which its documents were created. Pure. Invariant: a
 * rate is never negative, because documents that were deleted are not seen.
 */
import type { SavedHistory } from './history.ts';

const DAY_SECONDS = 86_400;
/** Growth is that of the last month: older days say what the application once did. */
const WINDOW_DAYS = 30;
/** With less history than this, the rate is said to be unsure: it may lack a weekend. */
const SURE_DAYS = 7;
/** A day with a larger share of the bytes of the window was a load, and not growth. */
const LOAD_SHARE = 0.5;
/** A larger share of bytes without a date makes the rate unsure. */
const UNDATED_SHARE = 0.05;

export interface Rate {
  /** Bytes of data, without the index. */
  readonly bytesPerDay: number;
  /** The days from which the rate was computed. */
  readonly days: number;
  /** Why the rate is less sure than it looks; null: nothing speaks against it. */
  readonly caution: string | null;
}

/** `from` is the path of the creation date, or `_ts`. */
export function rateOf(history: SavedHistory, { from, nowTs }: { from: string; nowTs: number }): Rate {
  const { firstTs, undatedBytes } = history;
  const dated = history.days.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (firstTs === null || dated === 0) {
    const caution =
      undatedBytes > 0 ? `no document has a date at ${from} that can be read` : 'there are no documents';
    return { bytesPerDay: 0, days: 0, caution };
  }
  const firstDay = Math.floor(nowTs / DAY_SECONDS) - WINDOW_DAYS + 1;
  const days = (nowTs - Math.max(firstTs, firstDay * DAY_SECONDS)) / DAY_SECONDS;
  if (days < 1 && firstTs >= firstDay * DAY_SECONDS) {
    const caution = 'all documents were created within one day, which may have been a load';
    return { bytesPerDay: 0, days: Math.max(0, days), caution };
  }
  const window = history.days.filter(([day]) => day >= firstDay);
  const total = window.reduce((sum, [, bytes]) => sum + bytes, 0);
  const [loadDay, loaded] = window.reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0] as const);
  const isLoad = days >= SURE_DAYS && loaded > total * LOAD_SHARE;
  const bytesPerDay = isLoad ? (total - loaded) / (days - 1) : total / days;
  const share = undatedBytes / (dated + undatedBytes);
  const cautions = [
    total === 0 ? `no document was created in the last ${WINDOW_DAYS} days, so nothing grows` : null,
    days < SURE_DAYS ? `only ${days.toFixed(1)} days of history are known` : null,
    isLoad
      ? `most of the last month was written on ${dateOf(loadDay * DAY_SECONDS)}; that is left out`
      : null,
    share > UNDATED_SHARE ? `${Math.round(share * 100)} % of the data have no date at ${from}` : null,
    from === '_ts' ? 'the date is that of the last write, so updates look like growth' : null,
  ].filter((one) => one !== null);
  return { bytesPerDay, days, caution: cautions.length === 0 ? null : cautions.join('; ') };
}

/** Returns the date of a time in UTC, as YYYY-MM-DD. */
export function dateOf(ts: number): string {
  return new Date(ts * 1000).toISOString().slice(0, 10);
}
