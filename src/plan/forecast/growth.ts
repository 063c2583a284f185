/**
 * The years after the move: when a key value reaches the limit, and how many partitions and RU/s the container needs
 * at the horizon. Pure. Every size includes the index, because the limits of the service do.
 */
import { GB } from '../money/bill.ts';
import { floorRu } from '../money/throughput-floor.ts';
import type { GrowthFigures, SourceFigures } from '../result.ts';
import {
  PARTITION_BYTES_MAX,
  PARTITION_RU_MAX,
  VALUE_BYTES_ALERT,
  VALUE_BYTES_MAX,
} from '../verdict/limits.ts';
import type { SavedHistory } from './history.ts';
import { dateOf, rateOf } from './rate.ts';

export interface GrowthParts {
  /** The path of the creation date, or `_ts`. */
  readonly from: string;
  /** When the plan was made, in seconds since the epoch. */
  readonly nowTs: number;
  readonly history: SavedHistory;
  /** How many documents each document that was read stands for: 1 if all were read. */
  readonly times: number;
  /** Bytes of the documents that were read. */
  readonly dataBytes: number;
  /** What the service stores for all documents: data and index. */
  readonly storedBytes: number;
  /**
   * The biggest values: bytes of their documents that were read, and of those that were created in the last
   * `recentSeconds`.
   */
  readonly values: ReadonlyArray<{
    readonly value: string;
    readonly bytes: number;
    /** Null: not known; then a value grows by its share of the growth of the container. */
    readonly recentBytes: number | null;
  }>;
  /** Bytes of all documents that were written in that time. */
  readonly recentTotalBytes: number;
  readonly recentSeconds: number;
  /** For how many days a value grows at most, as one with a month in it does; null: for ever. */
  readonly lifeDays: number | null;
  readonly defaultTtl: number | null;
  readonly partitions: number;
  readonly throughput: SourceFigures['throughput'];
  readonly horizonMonths: number;
}

const DAY_SECONDS = 86_400;

/** Something that grows: bytes with the index now and per day, and the size at which it stops. */
interface Growing {
  readonly bytes: number;
  readonly perDay: number;
  readonly stopsAt: number;
}

export function growthOf(parts: GrowthParts): GrowthFigures {
  const { from, nowTs, history, horizonMonths, throughput } = parts;
  const rate = rateOf(history, { from, nowTs });
  const data = parts.dataBytes * parts.times;
  // From what was read to what is stored: all documents, and their index.
  const scale = parts.times * (data > 0 ? Math.max(1, parts.storedBytes / data) : 1);
  const ttlDays =
    parts.defaultTtl !== null && parts.defaultTtl > 0 ? parts.defaultTtl / DAY_SECONDS : Infinity;
  const whole = growing(parts.storedBytes, rate.bytesPerDay * scale, ttlDays);
  const lifeDays = Math.min(ttlDays, parts.lifeDays ?? Infinity);
  // Where more was written than the container grew, the rest were updates or a load, of each value its part.
  const writtenPerDay = (parts.recentTotalBytes / parts.recentSeconds) * DAY_SECONDS;
  const grown = writtenPerDay > rate.bytesPerDay ? rate.bytesPerDay / writtenPerDay : 1;
  const values = parts.values.map(({ value, bytes, recentBytes }) => {
    const share = parts.dataBytes === 0 ? 0 : bytes / parts.dataBytes;
    if (recentBytes === null)
      return { value, ...growing(bytes * scale, share * rate.bytesPerDay * scale, lifeDays) };
    const recent = Math.min(Math.max(0, recentBytes), Math.max(0, bytes));
    // No value grows faster than the whole container: the rest of its recent writes were updates.
    const perDay = Math.min(rate.bytesPerDay, (recent / parts.recentSeconds) * DAY_SECONDS * grown);
    return { value, ...growing(bytes * scale, perDay * scale, lifeDays) };
  });
  const first = values
    .filter(({ perDay }) => perDay > 0)
    .toSorted(
      (one, other) =>
        daysTo(one, VALUE_BYTES_MAX.value) - daysTo(other, VALUE_BYTES_MAX.value) || other.bytes - one.bytes,
    )[0];
  const endTs = monthsLater(nowTs, horizonMonths);
  const dateWhen = (one: Growing, bytes: number): string | null => {
    const ts = nowTs + daysTo(one, bytes) * DAY_SECONDS;
    return ts <= endTs ? dateOf(ts) : null;
  };
  const at = (one: Growing, ts: number): number =>
    Math.round(sizeAfter(one, Math.max(0, ts - nowTs) / DAY_SECONDS));
  const [biggest] = values.toSorted((one, other) => other.bytes - one.bytes);
  const drawn = first ?? biggest ?? { bytes: 0, perDay: 0, stopsAt: 0 };
  const bytesAtHorizon = at(whole, endTs);
  const kind = throughput?.kind ?? 'manual';
  const floor = floorRu(kind, { gigabytes: bytesAtHorizon / GB, peakRu: 0 });
  const ruAtHorizon = Math.max(throughput?.ru ?? 0, floor);
  return {
    from,
    historyDays: rate.days,
    caution: rate.caution,
    bytesPerDay: Math.round(whole.perDay),
    first:
      first === undefined
        ? null
        : {
            value: first.value,
            bytes: Math.round(first.bytes),
            bytesPerDay: Math.round(first.perDay),
            reaches14Gb: dateWhen(first, VALUE_BYTES_ALERT.value),
            reaches20Gb: dateWhen(first, VALUE_BYTES_MAX.value),
          },
    horizonMonths,
    partitionsAtHorizon: Math.max(
      parts.partitions,
      Math.ceil(bytesAtHorizon / PARTITION_BYTES_MAX.value),
      Math.ceil(ruAtHorizon / PARTITION_RU_MAX.value),
    ),
    ruAtHorizon,
    line: Array.from({ length: horizonMonths + 1 }, (_month, month) => {
      const ts = monthsLater(nowTs, month);
      return [dateOf(ts), at(whole, ts), at(drawn, ts)] as const;
    }),
  };
}

/** Documents that live for `lifeDays` add up to that many days of growth, and then as many leave as come. */
function growing(bytes: number, perDay: number, lifeDays: number): Growing {
  return { bytes, perDay, stopsAt: perDay === 0 ? bytes : Math.max(bytes, perDay * lifeDays) };
}

function sizeAfter({ bytes, perDay, stopsAt }: Growing, days: number): number {
  return Math.min(stopsAt, bytes + perDay * days);
}

/** Returns after how many days something has this size; Infinity: never. */
function daysTo({ bytes, perDay, stopsAt }: Growing, size: number): number {
  if (bytes >= size) return 0;
  return stopsAt < size || perDay === 0 ? Infinity : (size - bytes) / perDay;
}

/** Returns the same time some months later in UTC, or the last day of a month that is shorter. */
function monthsLater(ts: number, months: number): number {
  const date = new Date(ts * 1000);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months, 1);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return date.getTime() / 1000;
}

/** The days that a bucket of time lasts, by the filter that makes it. */
const BUCKET_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 31, quarter: 92, year: 366 };

/** Returns for how many days a value of a key made by these templates grows; null: no part of it is a time. */
export function lifeDaysOf(derive: readonly string[]): number | null {
  const days = derive
    .flatMap((template) => [...template.matchAll(/\|\s*(?:(day|week|month|quarter|year)\b|date:([^|}]*))/g)])
    .map(([, bucket, pattern = '']) => {
      if (bucket !== undefined) return BUCKET_DAYS[bucket] ?? 366;
      // Hours and minutes of each day alone would return every day, and so does a day without its month.
      if (!pattern.includes('yyyy')) return Infinity;
      if (!pattern.includes('MM')) return 366;
      return pattern.includes('dd') ? 1 : 31;
    });
  const least = Math.min(...days);
  return Number.isFinite(least) ? least : null;
}
