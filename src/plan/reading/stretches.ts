/**
 * Chooses which part of a range a sample reads. The LSNs of a range are divided into sections of equal length, and of
 * each section one stretch is read, at a random position in it. Invariant: each LSN is read with the same probability, so
 * the sample is not biased towards old documents, as the first pages of the feed would be.
 */
import type { Random } from '../../lib/random.ts';

/** LSNs after `after`, up to and including `until`. */
export interface Stretch {
  readonly after: number;
  readonly until: number;
}

/** How many stretches all ranges have together. Each is saved at a checkpoint. */
const STRETCHES_MAX = 2048;
/** A stretch has about this many documents, if that gives enough stretches. */
const DOCUMENTS_MIN = 200;
/** How many stretches a range has, if it has the documents: fewer would say little about how certain a figure is. */
const STRETCHES_MIN = 32;
/** Even then a stretch has about this many documents at least, so that each page is worth the price of its request. */
const DOCUMENTS_WORTH = 10;

/** Returns how many stretches to read of each range. `documents` is the expected number in one range. */
export function stretchCount(documents: number, share: number, ranges: number): number {
  const read = documents * share;
  const small = Math.min(STRETCHES_MIN, Math.floor(read / DOCUMENTS_WORTH));
  const wanted = Math.max(small, Math.floor(read / DOCUMENTS_MIN));
  return Math.max(1, Math.min(wanted, Math.floor(STRETCHES_MAX / ranges)));
}

/**
 * Returns how many documents a page of a stretch has: what is left of the stretch, since a page is paid for whether all
 * of it is used or not. `perLsn` is how many documents the range has for each LSN: fewer than one where documents were
 * replaced or deleted.
 */
export function stretchPageSize({ after, until }: Stretch, perLsn: number, most: number): number {
  return Math.max(1, Math.min(most, Math.ceil((until - after) * Math.min(1, perLsn))));
}

/** Returns the stretches of a range whose last LSN is `endLsn`, in ascending order. */
export function stretchesOf(
  endLsn: number,
  { share, count, random }: { readonly share: number; readonly count: number; readonly random: Random },
): readonly Stretch[] {
  if (share >= 1) return [{ after: 0, until: endLsn }];
  // A stretch has at least one LSN.
  const sections = Math.max(1, Math.min(count, Math.floor(endLsn * share)));
  const stretches: Stretch[] = [];
  for (let section = 0; section < sections; section += 1) {
    const from = Math.floor((endLsn * section) / sections);
    const length = Math.floor((endLsn * (section + 1)) / sections) - from;
    const exact = length * share;
    // Rounded at random, so that stretches have the right length on average.
    const taken = Math.floor(exact) + (random.next() < exact % 1 ? 1 : 0);
    // At the ends of a section a stretch is cut in two, so that its first and last LSNs are read as often as the others.
    const start = Math.floor(random.next() * length);
    const end = start + taken;
    if (taken === 0) continue;
    stretches.push({ after: from + start, until: from + Math.min(end, length) });
    if (end > length) stretches.push({ after: from, until: from + end - length });
  }
  return stretches.toSorted((one, other) => one.after - other.after);
}

/**
 * Returns the position in the feed of the latest versions after which a stretch begins; null: the beginning. No reply has
 * given it: a position is the LSN in quotes, and the service starts there (fact SVC-69). The first reply is checked.
 */
export function positionAfter(lsn: number): string | null {
  return lsn === 0 ? null : `"${lsn}"`;
}

/** Returns the LSN of a position; undefined if the position is not a plain LSN, from which others could be made. */
export function lsnOfPosition(etag: string): number | undefined {
  const digits = /^"(\d{1,15})"$/.exec(etag)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
