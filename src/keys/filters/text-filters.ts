/**
 * Filters for text: lower, upper, trim, slice, pad, default. Invariant: the filters do not depend on a locale. Letters
 * change by the tables of Unicode, without the rules of a language: in lower case 'İ' becomes two characters, and so
 * does 'ß' in upper case.
 */
import type { Scalar } from '../../documents/scalar.ts';
import { textOf, withoutArgument, type Filter, type FilterKind, type Unfit } from './filter.ts';

/** The greatest length to which `pad` fills up: more than any number in a key needs. */
const DIGITS_MAX = 64;

export const lower: FilterKind = onText('lower', (text) => text.toLowerCase());

export const upper: FilterKind = onText('upper', (text) => text.toUpperCase());

/** Removes white space and line ends at both ends, as Unicode and JavaScript define them. */
export const trim: FilterKind = onText('trim', (text) => text.trim());

/**
 * Keeps the characters from one position up to and excluding another. Negative positions count from the end. A
 * surrogate pair is not divided.
 */
export const slice: FilterKind = {
  name: 'slice',
  example: 'slice:0:3',
  make(argument) {
    const match = /^(-?\d{1,9})(?::(-?\d{1,9}))?$/.exec(argument ?? '');
    if (match === null) return { why: 'slice takes one or two whole numbers' };
    const start = Number(match[1]);
    const end = match[2] === undefined ? undefined : Number(match[2]);
    return {
      form: { does: 'slice', start, end },
      apply: (value) => sliceCharacters(textOf(value), start, end),
    };
  },
};

/** Adds leading zeros up to a number of characters. A minus sign stays first. */
export const pad: FilterKind = {
  name: 'pad',
  example: 'pad:3',
  make(argument) {
    const digits = /^\d{1,2}$/.test(argument ?? '') ? Number(argument) : 0;
    if (digits < 1 || digits > DIGITS_MAX) return { why: `pad takes a whole number from 1 to ${DIGITS_MAX}` };
    return { form: { does: 'pad', digits }, apply: (value) => padZeros(value, digits) };
  },
};

/** Replaces a missing value. null is not missing, so it stays. */
export const byDefault: FilterKind = {
  name: 'default',
  example: 'default:x',
  make(argument): Filter | Unfit {
    if (argument === undefined) return { why: 'default takes a text; the empty one is default:""' };
    return { form: { does: 'default', text: argument }, standIn: argument, apply: (value) => value };
  },
};

function onText(name: 'lower' | 'upper' | 'trim', change: (text: string) => string): FilterKind {
  return withoutArgument(name, { form: { does: name }, apply: (value) => change(textOf(value)) });
}

function sliceCharacters(text: string, start: number, end: number | undefined): string {
  // Without surrogates every character is one UTF-16 unit, so no array is needed.
  if (!/[\ud800-\udfff]/.test(text)) return text.slice(start, end);
  return Array.from(text).slice(start, end).join('');
}

function padZeros(value: Scalar, digits: number): Scalar | Unfit {
  if (typeof value !== 'string' && typeof value !== 'number') return { why: `pad cannot pad ${value}` };
  const text = textOf(value);
  return text.startsWith('-') ? `-${text.slice(1).padStart(digits - 1, '0')}` : text.padStart(digits, '0');
}
