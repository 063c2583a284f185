/**
 * The first thing a run does after a crash: it waits until no request of the last run can take effect any longer, then
 * settles every document that has an intent and no commit: our copy stays in at most one slot, which the ledger knows.
 * Settling only removes. What is missing comes again, because no position has moved past it.
 *
 * Everything in doubt is in memory at once: the documents of pages that were in flight, which PAGES_BYTES_MAX of run-leases.ts
 * bounds. A document has 230 bytes on the wire before anybody has put anything into it, so they are at most 36,000.
 */
import { mapKey } from '../../documents/hash.ts';
import { group } from '../../lib/group.ts';
import type { Override, LedgerRow } from '../../state/rows.ts';
import { readEntry } from '../../state/segments/segment.ts';
import type { Claim } from '../../state/unit-records.ts';
import type { RunContext } from '../context.ts';
import { withdraw, withoutSlot } from '../apply/put-in-slot.ts';
import { idOf, type Slot, type SourceIdentity } from '../apply/identity.ts';

/** Documents looked at together: enough to fill batches to every range. */
const TOGETHER = 2000;

interface Claimed {
  readonly identity: SourceIdentity;
  readonly indexId: number | null;
  readonly slots: Map<string, Slot>;
}

/** What was found, for the ledger. */
interface Findings {
  readonly rows: Map<string, LedgerRow>;
  readonly overrides: Override[];
}

/** Returns how many documents were in doubt. Without any it does not wait. */
export async function settleAll(
  context: RunContext,
  { signal, say }: { readonly signal: AbortSignal; readonly say: (text: string) => void },
): Promise<number> {
  const { ledger, slots } = context;
  const pages = ledger.pages.unsettled();
  if (pages.length === 0) return 0;
  const seconds = Math.ceil(context.timing.requestTimeoutMs / 1000);
  say(`the last run was interrupted: waiting ${seconds} s until none of its requests can take effect`);
  await slots.waitOutTimeout();
  const { claimed, takeovers } = readClaims(context, pages);
  const findings: Findings = { rows: new Map(), overrides: [] };
  const all = [...claimed.values()];
  for (let at = 0; at < all.length; at += TOGETHER) {
    await group(signal, async (members) => {
      for (const one of all.slice(at, at + TOGETHER))
        members.start(async () => settleOne(context, one, findings));
    });
  }
  for (const takeover of takeovers) await settleTakeover(context, takeover, findings);
  const { rows, overrides } = findings;
  ledger.pages.settle({ pages, rows: [...rows.values()], overrides });
  for (const { identity } of rows.values()) context.pending.filter.add(identity);
  context.points.reach('settled');
  return all.length;
}

function readClaims(
  { ledger, plan }: RunContext,
  pages: readonly number[],
): { readonly claimed: ReadonlyMap<string, Claimed>; readonly takeovers: readonly Claim[] } {
  const claimed = new Map<string, Claimed>();
  const takeovers: Claim[] = [];
  const add = (identity: SourceIdentity, slot: Slot, indexId: number | null): void => {
    const key = mapKey(identity.hash);
    let one = claimed.get(key);
    if (one === undefined) claimed.set(key, (one = { identity, indexId, slots: new Map() }));
    one.slots.set(mapKey(slot.hash), slot);
  };
  for (const page of pages) {
    const { lease, segments, claims } = ledger.pages.readIntent(page, plan.sourcePaths.length);
    const indexIdOfLease = lease === null ? null : ledger.leases.get(lease).indexId;
    for (const { indexId, part, names } of segments) {
      names.forEach((name, place) => {
        const { identity, slot, targetKey } = readEntry(part, place);
        add({ hash: Buffer.from(identity), name }, { hash: Buffer.from(slot), key: targetKey }, indexId);
      });
    }
    for (const claim of claims) {
      const { kind, identity, name, slot, targetKey } = claim;
      if (kind === 'takeover') takeovers.push(claim);
      else add({ hash: identity, name }, { hash: slot, key: targetKey }, indexIdOfLease);
    }
  }
  return { claimed, takeovers };
}

/** Leaves our copy where the source maps the document now, and nowhere else. */
async function settleOne(
  context: RunContext,
  { identity, indexId, slots: claimed }: Claimed,
  findings: Findings,
): Promise<void> {
  const { ledger, pending, slots, source } = context;
  const row = pending.rowOf(identity.hash, indexId);
  const version = await source.read(identity);
  const wanted = version === 'gone' ? null : version.slot;
  const candidates = new Map(claimed);
  if (row !== null && row.slot !== null && row.targetKey !== null)
    candidates.set(mapKey(row.slot), { hash: row.slot, key: row.targetKey });
  let kept: Slot | null = null;
  for (const slot of candidates.values()) {
    const seen = await slots.read(slot, idOf(identity));
    if (seen === null || !seen.identity.hash.equals(identity.hash)) continue;
    if (wanted !== null && wanted.hash.equals(slot.hash)) kept = slot;
    // The intent of what may have been written covers its removal.
    else if ((await withdraw(context, identity, slot)).end === 'removed')
      context.tally.add({ documentsDeleted: 1 });
  }
  const isKnown = row !== null || (indexId !== null && ledger.isIndexed(indexId));
  if (isKnown || kept !== null) {
    const state = row?.state === 'quarantined' ? row.state : kept === null ? 'tombstone' : 'live';
    const lsn = row?.lsn ?? null;
    const feed = row?.feed ?? 'LV';
    const at = { slot: kept?.hash ?? null, targetKey: kept?.key ?? null };
    findings.rows.set(mapKey(identity.hash), {
      identity: identity.hash,
      state,
      ...at,
      etag: null,
      lsn,
      feed,
    });
    return;
  }
  // Older segments may still say that a copy is there.
  for (const { hash } of candidates.values())
    findings.overrides.push({ identity: identity.hash, slot: hash, sequence: ledger.pages.nextSequence() });
}

/** The ledger must not say that a document is in a slot that another one has taken. */
async function settleTakeover(context: RunContext, claim: Claim, findings: Findings): Promise<void> {
  const { identity, slot, targetKey } = claim;
  const { pending, slots, ledger } = context;
  const key = mapKey(identity);
  const row = findings.rows.get(key) ?? pending.rowOf(identity, null);
  const seen = await slots.read({ hash: slot, key: targetKey }, idOf(claim));
  if (seen?.identity.hash.equals(identity) === true) return;
  if (row === null) findings.overrides.push({ identity, slot, sequence: ledger.pages.nextSequence() });
  else if (row.slot?.equals(slot) === true) {
    findings.rows.set(key, withoutSlot(row));
  }
}
