/**
 * The live line of a run or a comparison, as wide as the terminal allows. Invariants: a part keeps its column while numbers
 * grow, the least important parts are dropped first, and unknown values are shown as unknown.
 */
import type { RunSnapshot } from '../engine/progress/snapshot.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import { formatCount } from '../lib/counting.ts';
import { formatPercent } from './format.ts';

/** Counters of a run at one moment. */
interface Sample {
  readonly atMs: number;
  readonly documents: number;
  readonly ru: number;
}

/** Per second; null until it is known. */
export interface Rates {
  readonly documents: number | null;
  readonly ru: number | null;
}

/** Time constant of the smoothing: hides a pause of a second, shows a real change within seconds. */
const SMOOTH_MS = 5000;
/** Samples closer together than this say nothing about the rate. */
const INTERVAL_MIN_MS = 500;

/** Smoothed rates, since counters grow page by page. */
export class Speed {
  #last: Sample | undefined;
  #rates: Rates = { documents: null, ru: null };

  measure(sample: Sample): Rates {
    const last = (this.#last ??= sample);
    const passedMs = sample.atMs - last.atMs;
    // Another stage begins, and its counters start from zero.
    if (sample.documents < last.documents || passedMs < 0) {
      this.#last = sample;
      this.#rates = { documents: null, ru: null };
    } else if (passedMs >= INTERVAL_MIN_MS) {
      const weight = 1 - Math.exp(-passedMs / SMOOTH_MS);
      const smooth = (rate: number | null, delta: number): number => {
        const now = (delta * 1000) / passedMs;
        return rate === null ? now : rate + (now - rate) * weight;
      };
      this.#rates = {
        documents: smooth(this.#rates.documents, sample.documents - last.documents),
        ru: smooth(this.#rates.ru, sample.ru - last.ru),
      };
      this.#last = sample;
    }
    return this.#rates;
  }
}

/** A part of the line; the highest rank is dropped first. */
export interface LinePart {
  readonly text: string;
  readonly rank: number;
}

const GAP = '  ';

/** As many parts as fit into `columns`. */
export function fit(parts: readonly LinePart[], columns: number): string {
  let left = parts;
  const joined = (): string => left.map(({ text }) => text).join(GAP);
  while (joined().length > columns && left.length > 1) {
    const rank = Math.max(...left.map((part) => part.rank));
    const last = left.findLastIndex((part) => part.rank === rank);
    left = left.toSpliced(last, 1);
  }
  const text = joined().trimEnd();
  if (text.length <= columns) return text;
  return columns > 3 ? `${text.slice(0, columns - 3)}...` : text.slice(0, columns);
}

/** How numbers are written: in full, or with three digits on a narrow terminal. */
interface Form {
  number(value: number): string;
  readonly of: string;
  readonly throttled: string;
  readonly letter: string;
}

/** Wide enough for the counters of a run of hours, so that columns do not move. */
const FULL: Form = {
  number: (value) => formatCount(value),
  of: ' of ',
  throttled: 'throttled',
  letter: 'dead letter',
};
const SHORT: Form = { number: short, of: '/', throttled: 'x 429', letter: 'letter' };

/** Numbers in full if all parts fit; otherwise short ones, and as many parts as fit. */
function fitForm(partsOf: (form: Form) => readonly LinePart[], columns: number): string {
  const full = partsOf(FULL);
  const isRoomy = full.map(({ text }) => text).join(GAP).length <= columns;
  return fit(isRoomy ? full : partsOf(SHORT), columns);
}

/** The line of a run of the engine. */
export function runLine(snapshot: RunSnapshot, rates: Rates, columns: number): string {
  const { documents, ranges, lagSeconds, waitsFor, throttled, outlook, phase } = snapshot;
  const isCopying = ranges.some((range) => range.phase === 'copy');
  const read = documents.read + outlook.uncommitted + (isCopying ? outlook.readBefore : 0);
  const expected = isCopying ? outlook.documents : null;
  const partsOf = (form: Form): readonly LinePart[] => {
    const parts: LinePart[] = [{ text: isCopying ? 'copying' : phase, rank: 0 }];
    if (expected !== null) parts.push({ text: share(read, expected), rank: 1 });
    parts.push(
      { text: `${wide(read, form, 10)} docs`, rank: 2 },
      { text: `${perSecond(rates.documents, form, 7)}/s`, rank: 3 },
      { text: ruText(rates.ru, outlook.targetRu, form), rank: 5 },
      { text: `${wide(throttled, form, 6)} ${form.throttled}`, rank: 7 },
    );
    if (documents.deadLettered > 0)
      parts.push({
        text: `${form.number(documents.deadLettered)} ${form.letter}${documents.deadLettered === 1 ? '' : 's'}`,
        rank: 6,
      });
    // The lag is unknown before the first range is read.
    if (!isCopying && ranges.length > 0)
      parts.push({
        text: `lag ${lagSeconds === null ? 'unknown' : `${formatCount(Math.round(lagSeconds))} s`}`,
        rank: 1,
      });
    if (expected !== null) parts.push({ text: eta(expected - read, rates.documents), rank: 4 });
    if (waitsFor !== null) parts.push({ text: `waits: ${waitsFor}`, rank: 0 });
    return parts;
  };
  return fitForm(partsOf, columns);
}

/** The line of a comparison. */
export function verifyLine(progress: VerifyProgress, rates: Rates, columns: number): string {
  const { stage, source, target, open, waitsFor, expected, throttled, budgetRu } = progress;
  const partsOf = (form: Form): readonly LinePart[] => {
    const parts: LinePart[] = [{ text: stage, rank: 0 }];
    const isReading = stage !== 'rechecking';
    if (isReading && expected !== null)
      parts.push({ text: share(Math.min(source, target), expected), rank: 1 });
    if (isReading)
      parts.push({ text: `${wide(source, form, 10)} and ${wide(target, form, 10)} docs`, rank: 2 });
    else parts.push({ text: `${wide(open, form, 6)} docs left`, rank: 1 });
    // On a narrow terminal the ETA says enough about the rate.
    if (isReading && form === FULL) parts.push({ text: `${perSecond(rates.documents, form, 7)}/s`, rank: 3 });
    parts.push(
      { text: ruText(rates.ru, budgetRu, form), rank: 5 },
      { text: `${wide(throttled, form, 6)} ${form.throttled}`, rank: 7 },
    );
    if (waitsFor !== null) parts.push({ text: `waits: ${waitsFor}`, rank: 2 });
    if (isReading && expected !== null)
      parts.push({ text: eta(expected - Math.min(source, target), rates.documents), rank: 4 });
    return parts;
  };
  return fitForm(partsOf, columns);
}

function ruText(rate: number | null, limit: number | null, form: Form): string {
  const allowed = limit === null ? '' : `${form.of}${form.number(Math.round(limit))}`;
  return `${perSecond(rate, form, 7)}${allowed} RU/s`;
}

/** No short number is longer. */
const SHORT_COLUMNS = 5;

function wide(value: number, form: Form, columns: number): string {
  return form.number(value).padStart(form === SHORT ? SHORT_COLUMNS : columns);
}

function perSecond(rate: number | null, form: Form, columns: number): string {
  if (rate !== null) return wide(Math.round(rate), form, columns);
  return '-'.padStart(form === SHORT ? SHORT_COLUMNS : columns);
}

const STEPS = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** 9,999 and 12.3k and 4.56M: three digits, and the whole number while it is as short. */
function short(value: number): string {
  if (value < 10_000) return formatCount(value);
  const [size, sign] = STEPS.find(([step]) => value >= step) ?? [1, ''];
  const number = value / size;
  // Rounded down: a count must not show documents that are not there yet.
  const digits = number < 10 ? 2 : number < 100 ? 1 : 0;
  const cut = (Math.floor(number * 10 ** digits) / 10 ** digits).toFixed(digits);
  return `${digits === 0 ? cut : cut.replace(/\.?0+$/, '')}${sign}`;
}

function share(done: number, expected: number): string {
  return formatPercent(done, expected).padStart(3);
}

function eta(left: number, rate: number | null): string {
  if (rate === null || rate < 0.5) return 'ETA unknown';
  const seconds = Math.max(0, Math.ceil(left / rate));
  return `ETA ${timeLeft(seconds)}`;
}

/** Seconds, minutes or hours, rounded up: a long wait needs no precision. */
function timeLeft(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
