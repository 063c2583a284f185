/**
 * The live line of a run or a comparison, as wide as the terminal allows. Invariants: each part keeps its column
 * while its numbers grow, the least important parts are dropped first, and an unknown value is shown as unknown.
 */
import type { RunSnapshot } from '../engine/progress/snapshot.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import { formatCount } from '../lib/counting.ts';
import { formatPercent } from './format.ts';

/** The counters of a run at one moment. */
interface Sample {
  readonly atMs: number;
  readonly documents: number;
  readonly ru: number;
}

/** Rates per second. A rate is null until it can be computed. */
export interface Rates {
  readonly documents: number | null;
  readonly ru: number | null;
}

/**
 * The time constant of the smoothing: long enough to hide a pause of a second, short enough to show a real change
 * within seconds.
 */
const SMOOTH_MS = 5000;
/**
 * The minimum time between two samples. Counters grow page by page, so a shorter interval would give no useful rate.
 */
const INTERVAL_MIN_MS = 500;

/** Computes rates from counters and smooths them, since the counters grow page by page. */
export class Speed {
  #last: Sample | undefined;
  #rates: Rates = { documents: null, ru: null };

  measure(sample: Sample): Rates {
    const last = (this.#last ??= sample);
    const passedMs = sample.atMs - last.atMs;
    // The counters are lower than before because another stage has begun and counts from zero.
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

/** A part of the line. The part with the highest rank is dropped first. */
export interface LinePart {
  readonly text: string;
  readonly rank: number;
}

const GAP = '  ';

/** Joins as many parts as fit into `columns`. */
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

/** How numbers and words are written: in full, or shortened for a narrow terminal. */
interface Form {
  number(value: number): string;
  readonly of: string;
  readonly throttled: string;
  readonly letter: string;
}

/** The form for a wide terminal, with numbers in full. */
const FULL: Form = {
  number: (value) => formatCount(value),
  of: ' of ',
  throttled: 'throttled',
  letter: 'dead letter',
};
const SHORT: Form = { number: short, of: '/', throttled: 'x 429', letter: 'letter' };

/** Renders the parts in full if all of them fit; otherwise in short form, and as many as fit. */
function fitForm(partsOf: (form: Form) => readonly LinePart[], columns: number): string {
  const full = partsOf(FULL);
  const isRoomy = full.map(({ text }) => text).join(GAP).length <= columns;
  return fit(isRoomy ? full : partsOf(SHORT), columns);
}

/** Renders the line of the first run on the way back: it reads all documents to find where they are. */
export function reverseLine(snapshot: RunSnapshot, rates: Rates, columns: number): string {
  return runLine(snapshot, rates, columns, ['finding', 'replicating back']);
}

/** Renders the line of a run of the engine. */
export function runLine(
  snapshot: RunSnapshot,
  rates: Rates,
  columns: number,
  [copying, tailing] = ['copying', 'tailing'],
): string {
  const { documents, ranges, lagSeconds, waitsFor, throttled, outlook, phase } = snapshot;
  const isCopying = ranges.some((range) => range.phase === 'copy');
  const read = documents.read + outlook.uncommitted + (isCopying ? outlook.readBefore : 0);
  const expected = isCopying ? outlook.documents : null;
  const partsOf = (form: Form): readonly LinePart[] => {
    const parts: LinePart[] = [
      { text: isCopying ? copying : phase === 'tailing' ? tailing : phase, rank: 0 },
    ];
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
        // Nothing else on the terminal of a run that does not end says that documents are not in the target.
        rank: 1,
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

/** Renders the line of a comparison. */
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
    // A narrow terminal shows the ETA without the rate.
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

/**
 * A side may use its RU/s in a part of each second, and pays for the last request of a second in the next one. So over a
 * few seconds more is measured than is allowed. Then the limit is reached, and is shown.
 */
function ruText(rate: number | null, limit: number | null, form: Form): string {
  const allowed = limit === null ? '' : `${form.of}${form.number(Math.round(limit))}`;
  const used = rate === null || limit === null ? rate : Math.min(rate, limit);
  return `${perSecond(used, form, 7)}${allowed} RU/s`;
}

/** The length of the longest number in short form: `99.9k`. */
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

/** Returns a number in short form: `9,999`, `12.3k`, `4.56M`. Below 10,000 the whole number is just as short. */
function short(value: number): string {
  if (value < 10_000) return formatCount(value);
  const [size, sign] = STEPS.find(([step]) => value >= step) ?? [1, ''];
  const number = value / size;
  // Rounded down: the line must not count documents that have not been processed yet.
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

/** Returns the remaining time in seconds, minutes or hours, rounded up, since a long wait needs no precision. */
function timeLeft(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
