/**
 * The one line that tells how a run goes, as wide as there is room. What always holds: what stands in it keeps its place
 * while numbers grow, what says least goes first where it is narrow, and what is not known is not guessed.
 */
import type { Snapshot } from '../engine/progress/snapshot.ts';
import type { Progress } from '../verify/verify.ts';
import { count } from './format.ts';

/** How a run stands at a moment. */
interface Mark {
  readonly atMs: number;
  readonly documents: number;
  readonly ru: number;
}

/** In a second; null until it is known. */
export interface Rates {
  readonly documents: number | null;
  readonly ru: number | null;
}

/** How far back a rate looks: a second's hiccup does not show, a change does within a breath. */
const SMOOTH_MS = 5000;
/** Closer together, what came in between says nothing. */
const APART_MS = 500;

/** Smooths what comes in jerks. */
export class Pace {
  #last: Mark | undefined;
  #rates: Rates = { documents: null, ru: null };

  see(mark: Mark): Rates {
    const last = (this.#last ??= mark);
    const passedMs = mark.atMs - last.atMs;
    // Another stage counts from the beginning.
    if (mark.documents < last.documents || passedMs < 0) {
      this.#last = mark;
      this.#rates = { documents: null, ru: null };
    } else if (passedMs >= APART_MS) {
      const weight = 1 - Math.exp(-passedMs / SMOOTH_MS);
      const follow = (rate: number | null, delta: number): number => {
        const now = (delta * 1000) / passedMs;
        return rate === null ? now : rate + (now - rate) * weight;
      };
      this.#rates = {
        documents: follow(this.#rates.documents, mark.documents - last.documents),
        ru: follow(this.#rates.ru, mark.ru - last.ru),
      };
      this.#last = mark;
    }
    return this.#rates;
  }
}

/** A part of the line; the higher its rank, the sooner it goes. */
export interface Part {
  readonly text: string;
  readonly rank: number;
}

const GAP = '  ';

/** The parts for which there is room. */
export function fit(parts: readonly Part[], columns: number): string {
  let left = parts;
  const told = (): string => left.map(({ text }) => text).join(GAP);
  while (told().length > columns && left.length > 1) {
    const rank = Math.max(...left.map((part) => part.rank));
    const last = left.findLastIndex((part) => part.rank === rank);
    left = left.toSpliced(last, 1);
  }
  const text = told().trimEnd();
  if (text.length <= columns) return text;
  return columns > 3 ? `${text.slice(0, columns - 3)}...` : text.slice(0, columns);
}

/** Which form numbers have: in full, or with three digits where there is little room. */
interface Form {
  number(value: number): string;
  readonly of: string;
  readonly throttled: string;
  readonly letter: string;
}

/** Wide enough for what a run of hours counts, so that nothing moves while it grows. */
const FULL: Form = {
  number: (value) => count(value),
  of: ' of ',
  throttled: 'throttled',
  letter: 'dead letter',
};
const SHORT: Form = { number: short, of: '/', throttled: 'x 429', letter: 'letter' };

/** In full where all of it has room; else short, and then without what says least. */
function told(partsOf: (form: Form) => readonly Part[], columns: number): string {
  const full = partsOf(FULL);
  const isRoomy = full.map(({ text }) => text).join(GAP).length <= columns;
  return fit(isRoomy ? full : partsOf(SHORT), columns);
}

/** Of a run of the engine. */
export function moveLine(snapshot: Snapshot, rates: Rates, columns: number): string {
  const { documents, ranges, lagSeconds, waitsFor, throttled, outlook, phase } = snapshot;
  const isCopying = ranges.some((range) => range.phase === 'copy');
  const read = documents.read + outlook.underWay + (isCopying ? outlook.readBefore : 0);
  const expected = isCopying ? outlook.documents : null;
  const partsOf = (form: Form): readonly Part[] => {
    const parts: Part[] = [{ text: isCopying ? 'copying' : phase, rank: 0 }];
    if (expected !== null) parts.push({ text: percent(read, expected), rank: 1 });
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
    // Before the first range is begun nobody has looked.
    if (!isCopying && ranges.length > 0)
      parts.push({
        text: `lag ${lagSeconds === null ? 'unknown' : `${count(Math.round(lagSeconds))} s`}`,
        rank: 1,
      });
    if (expected !== null) parts.push({ text: eta(expected - read, rates.documents), rank: 4 });
    if (waitsFor !== null) parts.push({ text: `waits: ${waitsFor}`, rank: 0 });
    return parts;
  };
  return told(partsOf, columns);
}

/** Of a comparison. */
export function verifyLine(progress: Progress, rates: Rates, columns: number): string {
  const { stage, source, target, open, waitsFor, expected, throttled, budgetRu } = progress;
  const partsOf = (form: Form): readonly Part[] => {
    const parts: Part[] = [{ text: stage, rank: 0 }];
    const isReading = stage !== 'looking again';
    if (isReading && expected !== null)
      parts.push({ text: percent(Math.min(source, target), expected), rank: 1 });
    if (isReading)
      parts.push({ text: `${wide(source, form, 10)} and ${wide(target, form, 10)} docs`, rank: 2 });
    else parts.push({ text: `${wide(open, form, 6)} docs left`, rank: 1 });
    // The time that is left says the same.
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
  return told(partsOf, columns);
}

function ruText(rate: number | null, limit: number | null, form: Form): string {
  const allowed = limit === null ? '' : `${form.of}${form.number(Math.round(limit))}`;
  return `${perSecond(rate, form, 7)}${allowed} RU/s`;
}

/** Of short ones any number has five columns at most. */
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
  if (value < 10_000) return count(value);
  const [size, sign] = STEPS.find(([step]) => value >= step) ?? [1, ''];
  const number = value / size;
  // Cut, not rounded: what is not there yet is not told.
  const digits = number < 10 ? 2 : number < 100 ? 1 : 0;
  const cut = (Math.floor(number * 10 ** digits) / 10 ** digits).toFixed(digits);
  return `${digits === 0 ? cut : cut.replace(/\.?0+$/, '')}${sign}`;
}

/** Writes go on meanwhile, so that there may be more than there were; it is not over before it is over. */
export function percent(done: number, expected: number): string {
  const part = expected === 0 ? 99 : Math.min(99, Math.floor((done * 100) / expected));
  return `${part}%`.padStart(3);
}

function eta(left: number, rate: number | null): string {
  if (rate === null || rate < 0.5) return 'ETA unknown';
  const seconds = Math.max(0, Math.ceil(left / rate));
  return `ETA ${timeLeft(seconds)}`;
}

/** Steps that grow with the time: whoever waits for hours does not count minutes. */
function timeLeft(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
