/**
 * Computes when documents expire. Where the mover rewrites `ttl`, a comparison ignores the bytes of `ttl` and compares
 * the times of expiry. In `restart` mode the mover copies `ttl` unchanged, and a comparison of bytes covers it.
 */
import { decodeNumber, integerAt } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { RekeyOptions } from '../../keys/rekey.ts';

/** The longest time to live, in seconds (fact SVC-11). */
const TTL_MAX = 2_147_483_647;
/** The value that replaces every rewritten `ttl` before the bytes of two documents are compared. */
export const TTL_MARK = 1;
/**
 * How much later than its original a copy may expire. The mover computes `ttl` when it sends the copy, and the service
 * may write the copy as late as the request timeout.
 */
const LATER_MAX_S = 60;
const EARLIER_MAX_S = 5;

/** The default of a container in which no document without a `ttl` of its own expires. */
const OFF = -1;
/** The word of a document that does not expire. */
const NEVER = 0;
const INSTANT_MAX = 0xffff_ffff;

/** Returns the document's own `ttl` in seconds; undefined: it has none, or one with which it does not expire. */
export function ownTtl(scan: PageScan, row: number): number | undefined {
  const { nodes, page } = scan;
  const start = scan.start(row, nodes.ttl);
  if (start === 0) return undefined;
  const first = page[start] ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  const ttl = isNumber ? decodeNumber(page, start, scan.end(row, nodes.ttl)) : Number.NaN;
  return Number.isInteger(ttl) && ttl > 0 && ttl <= TTL_MAX ? ttl : undefined;
}

/** Returns when a source document expires, in seconds since the epoch; undefined: never, or expiry is not compared. */
export function sourceExpiry(scan: PageScan, row: number, ttl: RekeyOptions['ttl']): number | undefined {
  return ttl.mode === 'restart' ? undefined : expiryOf(scan, row, ttl.defaultTtl);
}

/**
 * Returns when a target document expires, in seconds since the epoch; undefined: never. `defaultTtl` is that of the
 * target container. If time to live is switched off there, the instant is the one at which the document would expire:
 * the cutover may switch it on, and the difference of the settings is reported.
 */
export function targetExpiry(scan: PageScan, row: number, defaultTtl: number | null): number | undefined {
  return expiryOf(scan, row, defaultTtl ?? OFF);
}

function expiryOf(scan: PageScan, row: number, defaultTtl: number): number | undefined {
  const hasOwn = scan.start(row, scan.nodes.ttl) !== 0;
  const seconds = hasOwn ? ownTtl(scan, row) : defaultTtl > 0 ? defaultTtl : undefined;
  const ts = integerAt(scan, row, scan.nodes.ts);
  return seconds === undefined || ts === null ? undefined : ts + seconds;
}

/**
 * Returns the service time to give to Rekey, so that it writes TTL_MARK as the `ttl` of the copy of a document that
 * expires at `expiry`. If `expiry` is undefined, Rekey leaves `ttl` as it is, whatever the time.
 */
export function markingTs(expiry: number | undefined): number {
  return expiry === undefined ? 0 : expiry - TTL_MARK;
}

/**
 * Returns an instant as one word of 32 bits. The highest word stands for the last instant that fits, and for all later
 * ones.
 */
export function instantWord(expiry: number | undefined): number {
  return expiry === undefined ? NEVER : Math.min(Math.max(expiry, NEVER + 1), INSTANT_MAX);
}

export function instantIn(word: number): number | undefined {
  return word === NEVER ? undefined : word;
}

export function isSameInstant(source: number | undefined, target: number | undefined): boolean {
  if (source === undefined || target === undefined) return source === target;
  return target >= source - EARLIER_MAX_S && target <= source + LATER_MAX_S;
}
