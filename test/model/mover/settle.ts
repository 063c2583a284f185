/**
 * Owns the first thing a run does: wait until no write of the last one can still land, then bring
 * every identity with an intent and no commit to at most one slot, which the ledger knows. Settling
 * only ever removes; what is missing comes again, since no position has moved past it.
 */
import { alarm, isExplained } from '../back/strangers.ts';
import { slotOf, type Identity, type Slot } from '../source.ts';
import type { Claim, Intent } from './ledger.ts';
import { Page } from './page.ts';
import { removeIfOurs } from './place.ts';
import type { Process } from './process.ts';
import { READ, STEP, type Steps } from './task.ts';
import type { Copy } from '../target.ts';
import { readSlot } from './writes.ts';

export function* settleAll(process: Process): Steps {
  const { ledger, world } = process;
  if (!process.lacks('no-wait-before-settling')) yield { until: () => world.network.requests.length === 0 };
  for (const [place, lsn] of ledger.tokens.entries()) process.tokens[place] = lsn;
  const intents = [...ledger.intents];
  if (intents.length === 0) return;
  const page = new Page(process, { copy: false });
  const settled: Claim[] = [];
  const ids = new Set(intents.flatMap(({ claims }) => claims.map(({ id }) => id)));
  for (const id of ids) {
    const claim = yield* settle(process, page, { id, claims: claimsOf(intents, id) });
    if (claim !== null) settled.push(claim);
  }
  for (const { from, slot } of intents.flatMap(({ takeovers }) => takeovers))
    yield* settleTakeover(process, page, { from, slot });
  yield STEP;
  page.commit();
  if (settled.length > 0) ledger.segments.push({ seq: ledger.nextSeq(), claims: settled });
  for (const intent of intents) ledger.dropIntent(intent);
}

function claimsOf(intents: readonly Intent[], id: Identity): Claim[] {
  return intents.flatMap(({ claims }) => claims.filter((claim) => claim.id === id));
}

/** Returns what belongs into a segment; identities that have a row keep it up to date instead. */
function* settle(
  process: Process,
  page: Page,
  { id, claims }: { id: Identity; claims: readonly Claim[] },
): Steps<Claim | null> {
  const row = process.rowOf(id);
  const version = process.readSource(id, yield READ);
  const wanted = version === null ? null : slotOf(id, version);
  const slots = new Set(claims.map(({ slot }) => slot));
  if (row !== undefined && row.slot !== null) slots.add(row.slot);
  const holding = new Map<Slot, Copy>();
  for (const slot of slots) {
    const seen = yield* readSlot(process, slot);
    if (!isExplained(process, { slot, seen, own: page.intent })) yield* alarm(process, slot);
    const isLeftOut = process.world.isLeftOut(slot) && !process.lacks('spare-settled-as-a-copy');
    if (seen?.owner === id && !isLeftOut) holding.set(slot, seen);
  }
  const kept = wanted !== null && holding.has(wanted) ? wanted : null;
  const copy = kept === null ? null : (holding.get(kept)?.etag ?? null);
  for (const [slot, { etag }] of holding)
    if (slot !== kept) yield* removeIfOurs({ process, page, id, slot, copy: etag, moving: false });
  if (process.lacks('settled-slot-forgotten')) return null;
  const lsn = row?.lsn ?? null;
  if (row !== undefined || process.ledger.indexed(id)) {
    const state = row?.state === 'quarantined' ? row.state : kept === null ? 'tombstone' : 'live';
    page.row(id, { state, slot: kept, etag: null, copy, lsn, feed: row?.feed ?? 'LV' });
    return null;
  }
  // Older segments may claim what is no longer there.
  for (const slot of slots) if (slot !== kept) page.override(id, slot);
  return kept === null ? null : { id, slot: kept, etag: null, body: null, lsn: null };
}

function* settleTakeover(
  process: Process,
  page: Page,
  { from, slot }: { from: Identity; slot: Slot },
): Steps {
  const seen = yield* readSlot(process, slot);
  if (seen?.owner === from) return;
  const row = process.rowOf(from);
  if (row === undefined) page.override(from, slot);
  else if (row.slot === slot)
    page.row(from, {
      ...row,
      state: row.state === 'live' ? 'tombstone' : row.state,
      slot: null,
      etag: null,
      copy: null,
    });
}
