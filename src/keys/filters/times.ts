/**
 * Filters that turn a time into a bucket: day, week, month, quarter, year, and date with a pattern. All buckets are
 * in UTC. A week is an ISO week: it begins on Monday, and week 1 contains January 4. The year in its text is that of
 * the week, which may differ from the calendar year: 2021-01-03 is in 2020-W53. Invariant: texts sort as times do.
 */
import type { Scalar } from '../../documents/scalar.ts';
import { isUnfit, type Filter, type FilterKind, type Unfit } from './filter.ts';
import { instantOf, type Instant } from './instant.ts';

/** The tokens of a pattern and their number of digits. A pattern may also contain punctuation, digits and spaces. */
const TOKENS = { yyyy: 4, MM: 2, dd: 2, HH: 2, mm: 2, ss: 2, SSS: 3 } as const;
const TOKEN = new RegExp(`(${Object.keys(TOKENS).join('|')})`);

export const day: FilterKind = bucket('day', 'yyyy-MM-dd');
export const month: FilterKind = bucket('month', 'yyyy-MM');
export const year: FilterKind = bucket('year', 'yyyy');

export const quarter: FilterKind = plain('quarter', (instant) => {
  const date = new Date(instant);
  return `${digits(date.getUTCFullYear(), 4)}-Q${Math.floor(date.getUTCMonth() / 3) + 1}`;
});

export const week: FilterKind = plain('week', weekOf);

/** Gives the parts of a time that a pattern names. */
export const date: FilterKind = {
  name: 'date',
  example: 'date:yyyy-MM',
  make(argument) {
    const parts = (argument ?? '').split(TOKEN).filter((part) => part !== '');
    const wrong = parts.find((part) => !isToken(part) && /\p{L}/u.test(part));
    if (wrong !== undefined || !parts.some(isToken)) {
      const given = wrong === undefined ? '' : `, and '${wrong}' is none of them`;
      return { why: `date takes a pattern of ${Object.keys(TOKENS).join(', ')}${given}` };
    }
    return onTime((instant) => format(parts, instant));
  },
};

type Token = keyof typeof TOKENS;

function isToken(part: string): part is Token {
  return Object.hasOwn(TOKENS, part);
}

function bucket(name: string, pattern: string): FilterKind {
  const parts = pattern.split(TOKEN);
  return plain(name, (instant) => format(parts, instant));
}

function plain(name: string, textOfInstant: (instant: Instant) => string): FilterKind {
  const filter = onTime(textOfInstant);
  return {
    name,
    example: name,
    make: (argument) => (argument === undefined ? filter : { why: `${name} takes nothing` }),
  };
}

function onTime(textOfInstant: (instant: Instant) => string): Filter {
  return {
    apply(value: Scalar): Scalar | Unfit {
      const instant = instantOf(value);
      return isUnfit(instant) ? instant : textOfInstant(instant);
    },
  };
}

function format(parts: readonly string[], instant: Instant): string {
  const date = new Date(instant);
  let text = '';
  for (const part of parts) text += isToken(part) ? digits(partOf(date, part), TOKENS[part]) : part;
  return text;
}

function partOf(date: Date, token: Token): number {
  switch (token) {
    case 'yyyy':
      return date.getUTCFullYear();
    case 'MM':
      return date.getUTCMonth() + 1;
    case 'dd':
      return date.getUTCDate();
    case 'HH':
      return date.getUTCHours();
    case 'mm':
      return date.getUTCMinutes();
    case 'ss':
      return date.getUTCSeconds();
    case 'SSS':
      return date.getUTCMilliseconds();
  }
}

const DAY_MS = 86_400_000;

/** Returns the ISO week of a time. Its year and its number are those of the Thursday of the week. */
function weekOf(instant: Instant): string {
  const days = Math.floor(instant / DAY_MS);
  // 1970-01-01 was a Thursday. With 3 added, the day numbers of Mondays are multiples of 7.
  const weekday = (((days + 3) % 7) + 7) % 7;
  const thursday = days - weekday + 3;
  const inYear = new Date(thursday * DAY_MS);
  const weekYear = inYear.getUTCFullYear();
  inYear.setUTCMonth(0, 1);
  const number = Math.floor((thursday - inYear.getTime() / DAY_MS) / 7) + 1;
  return `${digits(weekYear, 4)}-W${digits(number, 2)}`;
}

function digits(number: number, places: number): string {
  return String(number).padStart(places, '0');
}
