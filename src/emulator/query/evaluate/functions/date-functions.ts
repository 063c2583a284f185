/**
 * Functions of dates and times. A time is counted in ticks of 100 ns since 1970, as a big integer, since the texts have
 * seven decimals of a second.
 */
import type { SqlValue } from '../values.ts';
import type { FunctionTable, ScalarFunction } from './scalar-function.ts';

type Ticks = bigint;

const TICKS_PER_MS = 10_000n;
const TICKS_PER_S = 1000n * TICKS_PER_MS;
const TICKS_PER_DAY = 86_400n * TICKS_PER_S;

/** The parts of a time that have a fixed length, and this length in ticks. */
const LENGTHS: ReadonlyMap<string, Ticks> = new Map([
  ['day', TICKS_PER_DAY],
  ['hour', 3600n * TICKS_PER_S],
  ['minute', 60n * TICKS_PER_S],
  ['second', TICKS_PER_S],
  ['millisecond', TICKS_PER_MS],
  ['microsecond', 10n],
]);

const PARTS: ReadonlyMap<string, string> = new Map([
  ...['year', 'yyyy', 'yy'].map((name) => [name, 'year'] as const),
  ...['month', 'mm', 'm'].map((name) => [name, 'month'] as const),
  ...['day', 'dd', 'd'].map((name) => [name, 'day'] as const),
  ...['hour', 'hh'].map((name) => [name, 'hour'] as const),
  ...['minute', 'mi', 'n'].map((name) => [name, 'minute'] as const),
  ...['second', 'ss', 's'].map((name) => [name, 'second'] as const),
  ...['millisecond', 'ms'].map((name) => [name, 'millisecond'] as const),
  ...['microsecond', 'mcs'].map((name) => [name, 'microsecond'] as const),
  ...['nanosecond', 'ns'].map((name) => [name, 'nanosecond'] as const),
]);

/** How many nanoseconds a tick has. */
const NS_PER_TICK = 100n;

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?Z?)?$/;

/** Reads a time in ISO 8601; undefined if the text is not one, or names a day or hour that does not exist. */
function ticksOf(value: SqlValue): Ticks | undefined {
  const found = typeof value === 'string' ? ISO.exec(value) : null;
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const fraction = Number((found[7] ?? '').padEnd(7, '0'));
  return ticksFrom([year, month, day, hour, minute, second, fraction]);
}

type DateParts = readonly (number | undefined)[];

function ticksFrom([
  year = 0,
  month = 0,
  day = 0,
  hour = 0,
  minute = 0,
  second = 0,
  fraction = 0,
]: DateParts): Ticks | undefined {
  const isWithin = year >= 1 && year <= 9999 && fraction >= 0 && fraction < Number(TICKS_PER_S);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isReal =
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  return isWithin && isReal ? BigInt(date.getTime()) * TICKS_PER_MS + BigInt(fraction) : undefined;
}

/** The first time that a text can express, and the tick after the last such time. */
const FIRST = ticksFrom([1, 1, 1]) ?? 0n;
const LAST = (ticksFrom([9999, 12, 31, 23, 59, 59, 9_999_999]) ?? 0n) + 1n;

function textOf(ticks: Ticks): string | undefined {
  if (ticks < FIRST || ticks >= LAST) return undefined;
  const seconds = floored(ticks, TICKS_PER_S) / TICKS_PER_S;
  const fraction = ticks - seconds * TICKS_PER_S;
  const second = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${second}.${fraction.toString().padStart(7, '0')}Z`;
}

/** Rounds down to a multiple of `size`. The division of big integers alone would round negative ticks up. */
function floored(ticks: Ticks, size: Ticks): Ticks {
  const rest = ticks % size;
  return ticks - (rest < 0n ? rest + size : rest);
}

function partOf(value: SqlValue): string | undefined {
  return typeof value === 'string' ? PARTS.get(value.toLowerCase()) : undefined;
}

function dateOf(ticks: Ticks): Date {
  return new Date(Number(floored(ticks, TICKS_PER_MS) / TICKS_PER_MS));
}

function monthsOf(ticks: Ticks): number {
  const date = dateOf(ticks);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Adds months. A day that the month does not have becomes its last day. */
function plusMonths(ticks: Ticks, count: number): Ticks | undefined {
  const months = monthsOf(ticks) + count;
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1];
  const first = ticksFrom([year, month, 1]);
  if (first === undefined) return undefined;
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const day = Math.min(dateOf(ticks).getUTCDate(), lastDay);
  return first + BigInt(day - 1) * TICKS_PER_DAY + (ticks - floored(ticks, TICKS_PER_DAY));
}

function add(partName: SqlValue, count: SqlValue, time: SqlValue): SqlValue {
  const [part, ticks] = [partOf(partName), ticksOf(time)];
  if (part === undefined || ticks === undefined || !Number.isSafeInteger(count)) return undefined;
  const whole = Number(count);
  let sum: Ticks | undefined;
  if (part === 'year' || part === 'month') sum = plusMonths(ticks, part === 'year' ? whole * 12 : whole);
  else if (part === 'nanosecond') sum = ticks + BigInt(whole) / NS_PER_TICK;
  else sum = ticks + BigInt(whole) * (LENGTHS.get(part) ?? 0n);
  return sum === undefined ? undefined : textOf(sum);
}

/** Counts the boundaries of a part between two times: from 23:59 to 0:01 there is one boundary of days. */
function difference(partName: SqlValue, from: SqlValue, to: SqlValue): SqlValue {
  const [part, start, end] = [partOf(partName), ticksOf(from), ticksOf(to)];
  if (part === undefined || start === undefined || end === undefined) return undefined;
  if (part === 'month') return monthsOf(end) - monthsOf(start);
  if (part === 'year') return dateOf(end).getUTCFullYear() - dateOf(start).getUTCFullYear();
  if (part === 'nanosecond') return Number((end - start) * NS_PER_TICK);
  const length = LENGTHS.get(part) ?? 1n;
  return Number((floored(end, length) - floored(start, length)) / length);
}

function numberAt(partName: SqlValue, time: SqlValue): SqlValue {
  const [part, ticks] = [partOf(partName), ticksOf(time)];
  if (part === undefined || ticks === undefined) return undefined;
  const date = dateOf(ticks);
  const fraction = ticks - floored(ticks, TICKS_PER_S);
  switch (part) {
    case 'year':
      return date.getUTCFullYear();
    case 'month':
      return date.getUTCMonth() + 1;
    case 'day':
      return date.getUTCDate();
    case 'hour':
      return date.getUTCHours();
    case 'minute':
      return date.getUTCMinutes();
    case 'second':
      return date.getUTCSeconds();
    case 'millisecond':
      return Number(fraction / TICKS_PER_MS);
    case 'microsecond':
      return Number(fraction / 10n);
    default:
      return Number(fraction * NS_PER_TICK);
  }
}

function fromParts(...parts: readonly SqlValue[]): SqlValue {
  if (!parts.every((part) => Number.isSafeInteger(part))) return undefined;
  const ticks = ticksFrom(parts as readonly number[]);
  return ticks === undefined ? undefined : textOf(ticks);
}

const EPOCH = '1970-01-01T00:00:00.0000000Z';

/** Rounds a time down to a multiple of `size` parts, such as 5 minutes, counted from `from`. */
function bin(time: SqlValue, partName: SqlValue, size: SqlValue = 1, from: SqlValue = EPOCH): SqlValue {
  const [ticks, part, start] = [ticksOf(time), partOf(partName), ticksOf(from)];
  if (ticks === undefined || part === undefined || start === undefined) return undefined;
  if (!Number.isSafeInteger(size) || Number(size) <= 0) return undefined;
  if (part === 'year' || part === 'month') {
    const months = Number(size) * (part === 'year' ? 12 : 1);
    // Only months are compared here, so the boundary of this bin may lie after the time but in the same month. The time
    // is then in the bin before.
    const bins = Math.floor((monthsOf(ticks) - monthsOf(start)) / months);
    const boundary = plusMonths(start, bins * months);
    const before =
      boundary !== undefined && boundary > ticks ? plusMonths(start, (bins - 1) * months) : boundary;
    return before === undefined ? undefined : textOf(before);
  }
  const length = part === 'nanosecond' ? 1n : (LENGTHS.get(part) ?? 1n);
  return textOf(start + floored(ticks - start, length * BigInt(Number(size))));
}

function ofTime(apply: (ticks: Ticks) => SqlValue): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply(time) {
      const ticks = ticksOf(time);
      return ticks === undefined ? undefined : apply(ticks);
    },
  };
}

function ofCount(ticksPerUnit: Ticks): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply: (count) => (Number.isInteger(count) ? textOf(BigInt(Number(count)) * ticksPerUnit) : undefined),
  };
}

export const DATE_FUNCTIONS: FunctionTable = [
  ['DATETIMEADD', { argsMin: 3, argsMax: 3, apply: add }],
  ['DATETIMEBIN', { argsMin: 2, argsMax: 4, apply: bin }],
  ['DATETIMEDIFF', { argsMin: 3, argsMax: 3, apply: difference }],
  ['DATETIMEFROMPARTS', { argsMin: 3, argsMax: 7, apply: fromParts }],
  ['DATETIMEPART', { argsMin: 2, argsMax: 2, apply: numberAt }],
  ['DATETIMETOTICKS', ofTime(Number)],
  ['DATETIMETOTIMESTAMP', ofTime((ticks) => Number(floored(ticks, TICKS_PER_MS) / TICKS_PER_MS))],
  ['TICKSTODATETIME', ofCount(1n)],
  ['TIMESTAMPTODATETIME', ofCount(TICKS_PER_MS)],
];
