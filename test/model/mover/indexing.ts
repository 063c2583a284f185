/**
 * Owns what follows the copy of a range: the index over its segments. Overrides are consulted, and rows
 * beat segments. What is left of a document names one slot: the copy sees each document once up to the
 * anchor, and settling overrides what it has removed. Two slots would be a hole in that, so it is asserted.
 */
import { placeOf, type Identity } from '../source.ts';
import type { Claim, Lease } from './ledger.ts';
import type { Process } from './process.ts';

interface Entry extends Claim {
  readonly seq: number;
}

/** One transaction with the lease's change of phase. */
export function buildIndex(process: Process, lease: Lease): void {
  const { ledger } = process;
  const entries = new Map<Identity, Entry>();
  for (const entry of ledger.segments.flatMap(({ seq, claims }) => claims.map((one) => ({ ...one, seq })))) {
    const place = placeOf(entry.id);
    if (place < lease.min || place >= lease.max || isOverridden(process, entry)) continue;
    const other = entries.get(entry.id);
    if (other !== undefined && other.slot !== entry.slot && process.world.mutation === null)
      throw new Error(`the index finds ${entry.id} at ${other.slot} and at ${entry.slot}`);
    entries.set(entry.id, entry);
  }
  for (const [id, { slot, etag, lsn }] of entries) {
    if (process.rowOf(id) !== undefined) continue;
    ledger.index.set(id, { state: 'live', slot, etag, copy: null, lsn, feed: 'LV' });
  }
}

/** Takeovers that another page has not committed yet count as well. */
function isOverridden(process: Process, { id, slot, seq }: Entry): boolean {
  if (process.lacks('overrides-ignored')) return false;
  const all = [...process.ledger.overrides, ...process.overrides];
  return all.some((one) => one.id === id && one.slot === slot && one.seq > seq);
}
