/**
 * Recognises a key whose values are times, such as the day of an order. All that is written at one time then goes to one
 * value, whatever the balance of the data looks like: evenly stored, and hot now.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';
import type { KeyCandidate } from './candidate.ts';

/** Years, months, days, weeks and quarters, also with a time, as ISO 8601 and the filters of templates write them. */
const TIME =
  /^(?:19|20)\d{2}(?:-(?:\d{2}(?:-\d{2}(?:[T ]\d{2}(?::\d{2}){0,2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?)?|W\d{2}|Q[1-4]))$/;
/** Seconds and milliseconds since the epoch, between 2009 and 2100. */
const EPOCHS = [
  [1.23e9, 4.1e9],
  [1.23e12, 4.1e12],
] as const;
const TIME_FILTER = /\|\s*(?:day|week|month|quarter|year|date:[^|}]*)\s*(?=\||\}|$)/;

/**
 * Whether the values of the first level are times. `values` are some values of the key; the first level decides, because
 * values with the same first level lie next to each other.
 */
export function hasTimeValues(
  { paths, derive }: Pick<KeyCandidate, 'paths' | 'derive'>,
  values: ReadonlyArray<readonly KeyComponent[]>,
): boolean {
  const [path = ''] = paths;
  const template = derive.find((text) => text.startsWith(`${path}=`));
  const parts = template === undefined ? [] : placeholdersOf(template);
  // Several parts are a time together if each is a part of one; values such as 2026-05-12 could be a month and a shop.
  if (parts.length > 1) return parts.every((part) => TIME_FILTER.test(part));
  return values.length > 0 && values.every(([first]) => isTime(first));
}

function placeholdersOf(template: string): string[] {
  return (
    template
      .replaceAll('{{', '')
      .replaceAll('}}', '')
      .match(/\{[^{}]*\}/g) ?? []
  );
}

function isTime(value: KeyComponent): boolean {
  if (typeof value === 'string') return TIME.test(value);
  return typeof value === 'number' && EPOCHS.some(([from, to]) => value > from && value < to);
}
