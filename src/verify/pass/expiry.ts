/**
 * When documents expire, where `ttl` is rewritten by the mover: then it is no part of what is compared byte by byte, and
 * the instants are compared instead. What always holds: in `restart` mode nothing of this changes anything.
 */
import { decodeNumber } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { RekeyOptions } from '../../keys/rekey.ts';
import { integerAt } from '../../documents/integer.ts';

/** A time to live ends here (fact SVC-11). */
const TTL_MAX = 2_147_483_647;
/** In the place of every rewritten `ttl`. */
export const TTL_MARK = 1;
/** The mover reckons when it sends, and what was sent may land as late as a request may take. */
const LATER_MAX_S = 60;
const EARLIER_MAX_S = 5;

/** The document's own `ttl`, if it is one that counts down. */
export function ownTtl(scan: PageScan, row: number): number | undefined {
  const { nodes, page } = scan;
  const start = scan.start(row, nodes.ttl);
  if (start === 0) return undefined;
  const first = page[start] ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  const ttl = isNumber ? decodeNumber(page, start, scan.end(row, nodes.ttl)) : Number.NaN;
  return Number.isInteger(ttl) && ttl > 0 && ttl <= TTL_MAX ? ttl : undefined;
}

/** When a document of the source expires, in seconds; undefined: never, or it does not matter. */
export function sourceExpiry(scan: PageScan, row: number, ttl: RekeyOptions['ttl']): number | undefined {
  if (ttl.mode === 'restart') return undefined;
  const { defaultTtl } = ttl;
  const hasOwn = scan.start(row, scan.nodes.ttl) !== 0;
  const seconds = hasOwn ? ownTtl(scan, row) : defaultTtl > 0 ? defaultTtl : undefined;
  const ts = integerAt(scan, row, scan.nodes.ts);
  return seconds === undefined || ts === null ? undefined : ts + seconds;
}

/** The same of the target, where everything that counts down has its own `ttl`. */
export function targetExpiry(scan: PageScan, row: number, ttl: RekeyOptions['ttl']): number | undefined {
  if (ttl.mode === 'restart') return undefined;
  const seconds = ownTtl(scan, row);
  const ts = integerAt(scan, row, scan.nodes.ts);
  return seconds === undefined || ts === null ? undefined : ts + seconds;
}

/** The service's time at which Rekey writes the mark into `ttl`. */
export function markingTs(expiry: number | undefined): number {
  return expiry === undefined ? 0 : expiry - TTL_MARK;
}

export function isSameInstant(source: number | undefined, target: number | undefined): boolean {
  if (source === undefined || target === undefined) return source === target;
  return target >= source - EARLIER_MAX_S && target <= source + LATER_MAX_S;
}
