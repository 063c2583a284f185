/**
 * The one line that tells how a run goes, as wide as there is room. What always holds: what stands in it keeps its place
 * while numbers grow, what says least goes first where it is narrow, and what is not known is not guessed.
 */
import type { Snapshot } from '../engine/snapshot.ts';
import type { Progress } from '../verify/verify.ts';
import { count } from './wording.ts';

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
interface Part {
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

/** Of a run of the engine. */
export function moveLine(snapshot: Snapshot, rates: Rates, columns: number): string {
  const { documents, ranges, lagSeconds, waitsFor, throttled, outlook, phase } = snapshot;
  const isCopying = ranges.some((range) => range.phase === 'copy');
  const read = documents.read + (isCopying ? outlook.readBefore : 0);
  const expected = isCopying ? outlook.documents : null;
  const limit = outlook.targetRu === null ? '' : ` of ${count(Math.round(outlook.targetRu))}`;
  const parts: Part[] = [{ text: isCopying ? 'copying' : phase, rank: 0 }];
  if (expected !== null) parts.push({ text: percent(read, expected), rank: 1 });
  parts.push(
    { text: `${wide(read, 9)} docs`, rank: 2 },
    { text: `${perSecond(rates.documents, 6)}/s`, rank: 3 },
    { text: `${perSecond(rates.ru, 6)}${limit} RU/s`, rank: 5 },
    { text: `${wide(throttled, 3)} throttled`, rank: 7 },
  );
  if (documents.deadLettered > 0)
    parts.push({ text: `${count(documents.deadLettered)} dead letters`, rank: 6 });
  if (!isCopying)
    parts.push({
      text: `lag ${lagSeconds === null ? 'unknown' : `${count(Math.round(lagSeconds))} s`}`,
      rank: 1,
    });
  if (expected !== null) parts.push({ text: eta(expected - read, rates.documents), rank: 4 });
  if (waitsFor !== null) parts.push({ text: `waits: ${waitsFor}`, rank: 0 });
  return fit(parts, columns);
}

/** Of a comparison. */
export function verifyLine(
  { stage, source, target, open, expected }: Progress,
  rates: Rates,
  columns: number,
): string {
  const parts: Part[] = [{ text: stage, rank: 0 }];
  if (expected !== null) parts.push({ text: percent(Math.min(source, target), expected), rank: 1 });
  parts.push(
    { text: `${wide(source, 9)} source`, rank: 2 },
    { text: `${wide(target, 9)} target`, rank: 3 },
    { text: `${perSecond(rates.documents, 6)}/s`, rank: 5 },
    { text: `${wide(open, 3)} to look at again`, rank: 4 },
  );
  if (expected !== null) parts.push({ text: eta(expected - source, rates.documents), rank: 3 });
  return fit(parts, columns);
}

function wide(value: number, columns: number): string {
  return count(value).padStart(columns);
}

function perSecond(rate: number | null, columns: number): string {
  return rate === null ? '-'.padStart(columns) : wide(Math.round(rate), columns);
}

/** Writes go on meanwhile, so that there may be more than there were; it is not over before it is over. */
function percent(done: number, expected: number): string {
  const part = expected === 0 ? 99 : Math.min(99, Math.floor((done * 100) / expected));
  return `${part}%`.padStart(4);
}

function eta(left: number, rate: number | null): string {
  if (rate === null || rate < 0.5) return 'ETA unknown';
  const seconds = Math.max(0, Math.ceil(left / rate));
  return `ETA ${timeLeft(seconds)}`;
}

/** Steps that grow with the time: whoever waits for hours does not count seconds. */
function timeLeft(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
