/**
 * Filters that turn a time into the period that contains it (day, week, month, quarter, year) or format it by a pattern
 * (date). All of them use UTC. A week is an ISO week: it begins on Monday, and week 1 contains January 4. The year in
 * its text is that of the week, which may differ from the calendar year: 2021-01-03 is in 2020-W53. Invariant: the
 * texts of periods sort as times do.
 */
import type { Scalar } from '../../documents/scalar.ts';
import {
  isUnfit,
  withoutArgument,
  type Filter,
  type FilterForm,
  type FilterKind,
  type Unfit,
} from './filter.ts';
import { instantOf, type Instant } from './instant.ts';

/**
 * The tokens of a pattern. Each token is replaced by a part of the time, with leading zeros up to the token's length. A
 * pattern may also contain punctuation, digits and spaces.
 */
const TOKENS = {
  yyyy: (at: Date) => at.getUTCFullYear(),
  MM: (at: Date) => at.getUTCMonth() + 1,
  dd: (at: Date) => at.getUTCDate(),
  HH: (at: Date) => at.getUTCHours(),
  mm: (at: Date) => at.getUTCMinutes(),
  ss: (at: Date) => at.getUTCSeconds(),
  SSS: (at: Date) => at.getUTCMilliseconds(),
} as const;
const TOKEN = new RegExp(`(${Object.keys(TOKENS).join('|')})`);

export const day: FilterKind = bucket('day', 'yyyy-MM-dd');
export const month: FilterKind = bucket('month', 'yyyy-MM');
export const year: FilterKind = bucket('year', 'yyyy');

export const quarter: FilterKind = withoutArgument(
  'quarter',
  onTime(['yyyy', { text: '-Q' }, 'quarter'], (instant) => {
    const date = new Date(instant);
    return `${digits(date.getUTCFullYear(), 4)}-Q${Math.floor(date.getUTCMonth() / 3) + 1}`;
  }),
);

export const week: FilterKind = withoutArgument('week', onTime(['weekYear', { text: '-W' }, 'week'], weekOf));

/** Formats a time by a pattern. */
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
    return onPattern(parts);
  },
};

type TimeForm = Extract<FilterForm, { readonly does: 'time' }>;

function isToken(part: string): part is keyof typeof TOKENS {
  return Object.hasOwn(TOKENS, part);
}

function bucket(name: string, pattern: string): FilterKind {
  return withoutArgument(name, onPattern(pattern.split(TOKEN)));
}

function onPattern(parts: readonly string[]): Filter {
  const pieces = parts.map((part) => (isToken(part) ? part : { text: part }));
  return onTime(pieces, (instant) => format(parts, instant));
}

function onTime(pieces: TimeForm['pieces'], textOfInstant: (instant: Instant) => string): Filter {
  return {
    form: { does: 'time', pieces },
    apply(value: Scalar): Scalar | Unfit {
      const instant = instantOf(value);
      return isUnfit(instant) ? instant : textOfInstant(instant);
    },
  };
}

function format(parts: readonly string[], instant: Instant): string {
  const at = new Date(instant);
  return parts.map((part) => (isToken(part) ? digits(TOKENS[part](at), part.length) : part)).join('');
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

function digits(number: number, length: number): string {
  return String(number).padStart(length, '0');
}
