/**
 * Times, as the filters for periods read and print them (src/keys/filters/instant.ts and times.ts). A time is a number of
 * milliseconds since 1970. Invariant: a value that is not clearly a time gives NO_INSTANT, and the caller has to read it.
 */

export const NO_INSTANT: i64 = i64.MIN_VALUE;
const MIN_MS: i64 = -62135596800000;
const END_MS: i64 = 253402300800000;
const SECONDS_END: i64 = 100000000000;
const DAY_MS: i64 = 86400000;

// The pieces of a pattern. Larger numbers are PIECE_TEXT plus a byte.
const PIECE_YEAR: u32 = 0;
const PIECE_MONTH: u32 = 1;
const PIECE_DAY: u32 = 2;
const PIECE_HOUR: u32 = 3;
const PIECE_MINUTE: u32 = 4;
const PIECE_SECOND: u32 = 5;
const PIECE_MILLISECOND: u32 = 6;
const PIECE_QUARTER: u32 = 7;
const PIECE_WEEK_YEAR: u32 = 8;
const PIECE_WEEK: u32 = 9;
const PIECE_TEXT: u32 = 256;

// A day as a date, set by `setDate`.
let year: i64 = 0;
let month: i64 = 0;
let day: i64 = 0;

/** Returns the time that a text or an integer means. */
export function instantOf(from: usize, to: usize, isNumber: bool): i64 {
  return inYears(isNumber ? fromNumber(from, to) : fromText(from, to));
}

function inYears(ms: i64): i64 {
  return ms >= MIN_MS && ms < END_MS ? ms : NO_INSTANT;
}

/** Reads an integer of at most 15 digits. */
function fromNumber(from: usize, to: usize): i64 {
  const isNegative = load<u8>(from) == 0x2d;
  let value: i64 = 0;
  for (let at = from + usize(isNegative); at < to; at += 1) value = value * 10 + i64(load<u8>(at) - 0x30);
  const ms = value < SECONDS_END ? value * 1000 : value;
  return isNegative ? -ms : ms;
}

/** Reads a text in ISO 8601. */
function fromText(from: usize, to: usize): i64 {
  const size = to - from;
  if (size < 10 || load<u8>(from + 4) != 0x2d || load<u8>(from + 7) != 0x2d) return NO_INSTANT;
  const years = number(from, 4);
  const months = number(from + 5, 2);
  const days = number(from + 8, 2);
  if (years < 1 || months < 1 || months > 12 || days < 1 || days > daysIn(years, months)) return NO_INSTANT;
  let ms = daysOf(years, months, days) * DAY_MS;
  if (size == 10) return ms;
  const separator: u32 = load<u8>(from + 10);
  if (size < 16 || (separator != 0x54 && separator != 0x74 && separator != 0x20)) return NO_INSTANT;
  const hour = number(from + 11, 2);
  const minute = number(from + 14, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || load<u8>(from + 13) != 0x3a) return NO_INSTANT;
  ms += (hour * 60 + minute) * 60000;
  let at = from + 16;
  if (at < to && load<u8>(at) == 0x3a) {
    if (to - at < 3) return NO_INSTANT;
    const second = number(at + 1, 2);
    if (second < 0 || second > 59) return NO_INSTANT;
    ms += second * 1000;
    at += 3;
    if (at < to && (load<u8>(at) == 0x2e || load<u8>(at) == 0x2c)) {
      const first = at + 1;
      let unit: i64 = 100;
      for (at = first; at < to && u32(load<u8>(at)) - 0x30 < 10; at += 1) {
        ms += i64(load<u8>(at) - 0x30) * unit;
        unit /= 10;
      }
      if (at == first) return NO_INSTANT;
    }
  }
  if (at == to) return ms;
  const zone: u32 = load<u8>(at);
  if (zone == 0x5a || zone == 0x7a) return at + 1 == to ? ms : NO_INSTANT;
  if ((zone != 0x2b && zone != 0x2d) || to - at < 3) return NO_INSTANT;
  const hours = number(at + 1, 2);
  let minutes: i64 = 0;
  at += 3;
  if (at < to) {
    if (load<u8>(at) == 0x3a) at += 1;
    if (to - at != 2) return NO_INSTANT;
    minutes = number(at, 2);
  }
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return NO_INSTANT;
  const shift = (hours * 60 + minutes) * 60000;
  return zone == 0x2d ? ms + shift : ms - shift;
}

/** Returns a number of so many digits; -1: there is another character. */
function number(from: usize, size: usize): i64 {
  let value: i64 = 0;
  for (let i: usize = 0; i < size; i += 1) {
    const digit = u32(load<u8>(from + i)) - 0x30;
    if (digit > 9) return -1;
    value = value * 10 + i64(digit);
  }
  return value;
}

function daysIn(years: i64, months: i64): i64 {
  if (months == 2) return years % 4 == 0 && (years % 100 != 0 || years % 400 == 0) ? 29 : 28;
  return months == 4 || months == 6 || months == 9 || months == 11 ? 30 : 31;
}

/** Returns the number of days from 1970-01-01 to a date. Years begin in March here, so that a leap day is the last one. */
function daysOf(years: i64, months: i64, days: i64): i64 {
  const shifted = months <= 2 ? years - 1 : years;
  const era = shifted / 400;
  const inEra = shifted - era * 400;
  const inYear = (153 * (months > 2 ? months - 3 : months + 9) + 2) / 5 + days - 1;
  return era * 146097 + inEra * 365 + inEra / 4 - inEra / 100 + inYear - 719468;
}

/** Sets `year`, `month` and `day` to the date of a day. The day is in the years 1 to 9999, or at most a week before. */
function setDate(days: i64): void {
  const shifted = days + 719468;
  const era = shifted / 146097;
  const inEra = shifted - era * 146097;
  const inEraYears = (inEra - inEra / 1460 + inEra / 36524 - inEra / 146096) / 365;
  const inYear = inEra - (365 * inEraYears + inEraYears / 4 - inEraYears / 100);
  const shiftedMonth = (5 * inYear + 2) / 153;
  day = inYear - (153 * shiftedMonth + 2) / 5 + 1;
  month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  year = inEraYears + era * 400 + i64(month <= 2);
}

/** Writes the pieces of a pattern to `target`; returns the end. `pieces` has their number, then the pieces. */
export function putPieces(target: usize, pieces: usize, instant: i64): usize {
  let days = instant / DAY_MS;
  if (days * DAY_MS > instant) days -= 1;
  const inDay = instant - days * DAY_MS;
  setDate(days);
  const end = pieces + 4 + 4 * usize(load<u32>(pieces));
  let at = target;
  for (let next = pieces + 4; next < end; next += 4) {
    const piece = load<u32>(next);
    if (piece >= PIECE_TEXT) {
      store<u8>(at, piece - PIECE_TEXT);
      at += 1;
    } else if (piece == PIECE_YEAR) at = put(at, year, 4);
    else if (piece == PIECE_MONTH) at = put(at, month, 2);
    else if (piece == PIECE_DAY) at = put(at, day, 2);
    else if (piece == PIECE_HOUR) at = put(at, inDay / 3600000, 2);
    else if (piece == PIECE_MINUTE) at = put(at, (inDay / 60000) % 60, 2);
    else if (piece == PIECE_SECOND) at = put(at, (inDay / 1000) % 60, 2);
    else if (piece == PIECE_MILLISECOND) at = put(at, inDay % 1000, 3);
    else if (piece == PIECE_QUARTER) at = put(at, (month + 2) / 3, 1);
    else at = putWeek(at, piece, days);
  }
  return at;
}

/** Writes the year of an ISO week, or its number. Both are those of the Thursday of the week. */
function putWeek(at: usize, piece: u32, days: i64): usize {
  const thursday = days - ((((days + 3) % 7) + 7) % 7) + 3;
  setDate(thursday);
  const weekYear = year;
  const week = (thursday - daysOf(weekYear, 1, 1)) / 7 + 1;
  setDate(days);
  return piece == PIECE_WEEK_YEAR ? put(at, weekYear, 4) : put(at, week, 2);
}

/** Writes a number with so many digits. */
function put(at: usize, value: i64, size: usize): usize {
  let rest = value;
  for (let i = size; i > 0; i -= 1) {
    store<u8>(at + i - 1, 0x30 + u32(rest % 10));
    rest /= 10;
  }
  return at + size;
}
