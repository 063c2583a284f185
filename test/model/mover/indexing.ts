/**
 * Owns what follows the copy of a range: the index over its segments. Overrides are consulted, rows
 * beat segments, and a document found in two slots keeps the newer one; the other copy is removed.
 */
import { placeOf, type Identity } from '../source.ts';
import type { Claim, Lease, Takeover } from './ledger.ts';
import { Page } from './page.ts';
import { removeIfOurs } from './place.ts';
import type { Process } from './process.ts';
import { STEP, type Steps } from './task.ts';

interface Entry extends Claim {
  readonly seq: number;
}

/** One transaction with the lease's change of phase. */
export function buildIndex(process: Process, lease: Lease): void {
  const { ledger } = process;
  const entries = new Map<Identity, Entry[]>();
  for (const entry of ledger.segments.flatMap(({ seq, claims }) => claims.map((one) => ({ ...one, seq })))) {
    const place = placeOf(entry.id);
    if (place < lease.min || place >= lease.max || isOverridden(process, entry)) continue;
    const list = entries.get(entry.id);
    if (list === undefined) entries.set(entry.id, [entry]);
    else list.push(entry);
  }
  for (const [id, list] of entries) index(process, id, list);
}

function isOverridden(process: Process, { id, slot, seq }: Entry): boolean {
  if (process.lacks('overrides-ignored')) return false;
  const all = [...process.ledger.overrides, ...process.overrides];
  return all.some((one) => one.id === id && one.slot === slot && one.seq > seq);
}

function index(process: Process, id: Identity, entries: readonly Entry[]): void {
  const { ledger } = process;
  const newest = entries.toSorted(
    (a, b) => (a.lsn ?? 0) - (b.lsn ?? 0) || Number(a.etag !== null) - Number(b.etag !== null),
  );
  const last = newest.at(-1);
  if (last === undefined) return;
  const row = process.rowOf(id);
  if (row === undefined) {
    const { slot, etag, lsn } = last;
    ledger.index.set(id, { state: 'live', slot, etag, lsn, feed: 'LV' });
  }
  const slot = row === undefined ? last.slot : row.slot;
  if (process.lacks('index-keeps-second-slot')) return;
  const others = new Set(entries.map((entry) => entry.slot).filter((other) => other !== slot));
  for (const other of others) ledger.leftovers.push({ from: id, slot: other });
}

/** Durable until done: started where an index was built, and by every run that finds some. */
export function spawnLeftovers(process: Process): void {
  for (const leftover of process.ledger.leftovers)
    process.spawn(`leftover/${leftover.from}>${leftover.slot}`, removeLeftover(process, leftover));
}

function* removeLeftover(process: Process, leftover: Takeover): Steps {
  const { from: id, slot } = leftover;
  const page = new Page(process, { copy: false });
  const wanted = new Set([id, slot]);
  const locking = !process.lacks('two-operations-in-flight');
  yield { until: () => !locking || process.locks.areFree(wanted) };
  if (locking) process.locks.take(wanted);
  if (process.rowOf(id)?.slot !== slot) yield* removeIfOurs({ process, page, id, slot, moving: false });
  process.locks.release(wanted);
  yield STEP;
  page.commit();
  process.ledger.leftovers = process.ledger.leftovers.filter((one) => one !== leftover);
}
