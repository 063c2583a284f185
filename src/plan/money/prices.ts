/** The file by which an operator replaces prices of the service (spec/money/prices.ts). */
import { UsageError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { readPlainYaml } from '../../spec/input/yaml-text.ts';
import { PRICES, type Prices } from '../../spec/money/prices.ts';

/** The largest price file that is read: a full one has ten lines. */
const SIZE_MAX = 16 * 1024;
const MARKS_MAX = 64;
const HINT = `for example manual: ${PRICES.manual} for 100 RU/s and hour, and date: ${PRICES.date}`;

/**
 * Reads a price file: YAML or JSON with any of the names of Prices. A price that the file lacks stays as it is; the file
 * has to have a date, because prices change. `name` is the name of the file in messages.
 */
export function parsePrices(text: string, name: string): Prices {
  if (text.length > SIZE_MAX) throw refused(name, `it has more than ${SIZE_MAX / 1024} KB`);
  const read = readPlainYaml(text.replace(/^\uFEFF/, ''), MARKS_MAX);
  if ('why' in read) throw refused(name, read.line === null ? read.why : `line ${read.line}: ${read.why}`);
  if (typeof read.value !== 'object' || read.value === null || Array.isArray(read.value))
    throw refused(name, 'it is not a list of names with values');
  const given = Object.entries(read.value);
  for (const [key, value] of given) {
    const why = problemWith(key, value);
    if (why !== undefined) throw refused(name, why);
  }
  if (!Object.hasOwn(read.value, 'date')) throw refused(name, 'it has no date, and prices change');
  return { ...PRICES, source: name, ...Object.fromEntries(given) };
}

function problemWith(key: string, value: unknown): string | undefined {
  if (!Object.hasOwn(PRICES, key)) {
    const near = nearest(key, Object.keys(PRICES));
    return `it has an unknown name${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  if (key === 'date') {
    const isDate = typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);
    return isDate ? undefined : 'its date is not of the form YYYY-MM-DD';
  }
  if (key === 'currency' || key === 'source')
    return typeof value === 'string' && value.trim() !== '' ? undefined : `${key} is not a text`;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    return `${key} is not a number from 0 up`;
  if (key === 'discount' && value > 1) return 'discount is a part of the price, from 0 to 1';
  if (key === 'hoursPerMonth' && (value < 1 || value > 744)) return 'a month has 1 to 744 hours';
  return undefined;
}

function refused(name: string, why: string): UsageError {
  return new UsageError(`the prices in ${name} cannot be used`, { why, hint: HINT });
}

/** Returns a sentence for the report: which prices were used. */
export function priceNote({ currency, date, source, discount }: Prices): string {
  const less = discount === 0 ? '' : `, less ${Math.round(discount * 1000) / 10} % on throughput`;
  return `Amounts are in ${currency}, at the prices of ${date} from ${source}${less}; --prices FILE replaces them.`;
}
