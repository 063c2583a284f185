/**
 * Owns the sweep that finds deletes without a feed that reports them: every document of the target whose
 * identity the source no longer has, and every letter of such a document. Strangers are not touched.
 */
import { alarm, isExpected } from '../back/strangers.ts';
import { placeOf, type Identity, type Slot } from '../source.ts';
import type { Lease } from './ledger.ts';
import { retry } from './letters.ts';
import { Page } from './page.ts';
import { removeIfOurs } from './place.ts';
import type { Process } from './process.ts';
import { READ, STEP, type Steps } from './task.ts';
import { readSlot } from './writes.ts';

export function reconcile(process: Process): void {
  for (const [slot, { owner }] of process.world.target.now)
    if (owner !== null && !process.world.isLeftOut(slot))
      process.spawn(`reconcile/${slot}`, sweep(process, slot, owner));
  for (const { id } of process.openLetters()) process.spawn(`retry/${id}`, retry(process, id));
}

/** The same for the documents of one lease, before it goes on. */
export function* sweepLease(process: Process, { min, max }: Lease): Steps {
  const mine = (id: Identity): boolean => min <= placeOf(id) && placeOf(id) < max;
  for (const [slot, { owner }] of process.world.target.now)
    if (owner !== null && mine(owner) && !process.world.isLeftOut(slot)) yield* sweep(process, slot, owner);
  for (const { id } of process.openLetters().filter((one) => mine(one.id))) yield* retry(process, id);
}

function* sweep(process: Process, slot: Slot, id: Identity): Steps {
  const page = new Page(process, { copy: false });
  const wanted = new Set([id, slot]);
  yield { until: () => process.locks.areFree(wanted) };
  process.locks.take(wanted);
  const seen = yield* readSlot(process, slot);
  const isTrusted = process.lacks('sweep-trusts-the-identity');
  if (!isTrusted && !isExpected(process, { slot, status: 'conflict', before: null, seen }))
    yield* alarm(process, slot);
  if (seen?.owner === id && process.readSource(id, yield READ) === null) {
    yield* removeIfOurs({ process, page, id, slot, copy: seen.etag, moving: false });
    const row = process.rowOf(id);
    page.row(id, {
      state: 'tombstone',
      slot: null,
      etag: null,
      copy: null,
      lsn: row?.lsn ?? null,
      feed: row?.feed ?? 'LV',
    });
    page.letter(id, null);
  }
  process.locks.release(wanted);
  yield STEP;
  page.commit();
}
