/**
 * Settles what a crash has left; a run does this before anything else. It waits until no request of the last run can
 * take effect any longer, and then looks at every document that has an intent and no commit. Invariant: after settling,
 * our copy of such a document is in at most one slot, and the ledger knows that slot. Settling only removes copies. The
 * feed shows missing documents again, because no position has moved past their pages.
 *
 * All documents in doubt are in memory at once. They are those of the pages in flight, which PAGES_BYTES_MAX of
 * run-leases.ts limits. Even an empty document has 230 bytes on the wire, so they are at most 36,000.
 */
import { mapKey } from '../../documents/hash.ts';
import { group } from '../../lib/group.ts';
import type { Override, LedgerRow } from '../../state/rows.ts';
import { readEntry } from '../../state/segments/segment.ts';
import type { Claim } from '../../state/unit-records.ts';
import type { RunContext } from '../context.ts';
import { withdraw, withoutSlot } from '../apply/put-in-slot.ts';
import { idOf, type Slot, type SourceIdentity } from '../apply/identity.ts';

/** How many documents are settled at the same time: enough to fill batches to every range. */
const TOGETHER = 2000;

interface Claimed {
  readonly identity: SourceIdentity;
  readonly indexId: number | null;
  readonly slots: Map<string, Slot>;
}

/** What settling writes to the ledger. */
interface Findings {
  readonly rows: Map<string, LedgerRow>;
  readonly overrides: Override[];
}

/**
 * Settles all intents of the last run and returns how many documents were in doubt. Without intents it does not wait.
 */
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

/** Removes our copies of a document, except from the slot to which the source maps the document now. */
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
    // The intent that claimed the write of this copy also covers its removal.
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
  // Older segments may still name these slots as the place of the copy.
  for (const { hash } of candidates.values())
    findings.overrides.push({ identity: identity.hash, slot: hash, sequence: ledger.pages.nextSequence() });
}

/** Corrects the ledger for a document whose slot another document may have taken. */
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
