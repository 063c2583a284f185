/**
 * Finds the point in time that a value means. Text is ISO 8601: a date, or a date and a time, in UTC if it has no
 * zone. A number counts from 1970: seconds if its absolute value is below 10^11, otherwise milliseconds. 10^11
 * seconds are in the year 5138 and 10^11 milliseconds in March 1973, so only milliseconds of the early seventies are
 * misread. Invariant: a value that is not clearly a date is refused, and so are microseconds.
 */
import type { Scalar } from '../../documents/scalar.ts';
import type { Unfit } from './filter.ts';

/** Milliseconds since 1970, within the years 1 to 9999. */
export type Instant = number;

const SECONDS_END = 1e11;
const MIN_MS = -62_135_596_800_000;
const END_MS = 253_402_300_800_000;
const MINUTE_MS = 60_000;
const FOUR_CENTURIES_MS = 146_097 * 86_400_000;

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

const NO_DATE: Unfit = { why: 'the text is not an ISO 8601 date' };
const NO_DAY: Unfit = { why: 'the text looks like a date, but that day or time does not exist' };
const NO_YEAR: Unfit = { why: 'the time is not in the years 1 to 9999' };
const NO_TIME: Unfit = { why: 'only a text or a number can be a date' };

/** Returns the point in time that `value` means, or the reason why it does not mean one. */
export function instantOf(value: Scalar): Instant | Unfit {
  if (typeof value === 'string') return readIso(value);
  if (typeof value !== 'number') return NO_TIME;
  return inYears(Math.floor(Math.abs(value) < SECONDS_END ? value * 1000 : value));
}

function readIso(text: string): Instant | Unfit {
  const match = ISO.exec(text);
  if (match === null) return NO_DATE;
  const numbers = match.map((part: string | undefined) => Number(part ?? 0));
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers;
  const [zoneHour = 0, zoneMinute = 0] = numbers.slice(9);
  const isTime = hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
  const ms = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  // Date.UTC reads years below 100 as 19xx, so 400 years are added first. The calendar repeats after 400 years.
  const local = new Date(Date.UTC(year + 400, month - 1, day, hour, minute, second, ms));
  // Date.UTC turns a day that does not exist into a day of another month.
  if (!isTime || local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return NO_DAY;
  const zoneMs = (zoneHour * 60 + zoneMinute) * MINUTE_MS;
  const utcMs = local.getTime() - FOUR_CENTURIES_MS;
  return inYears(match[8] === '-' ? utcMs + zoneMs : utcMs - zoneMs);
}

function inYears(ms: number): Instant | Unfit {
  return ms >= MIN_MS && ms < END_MS ? ms : NO_YEAR;
}
