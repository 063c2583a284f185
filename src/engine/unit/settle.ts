/**
 * Settles what a crash has left; a run does this before anything else. It waits until no request of the last run can
 * take effect any longer, and then looks at every document that has an intent and no commit. Invariant: after settling,
 * our copy of such a document is in at most one slot, and the ledger knows that slot. Settling only removes copies. The
 * feed shows missing documents again, because no position has moved past their pages.
 *
 *   claims -> wait -> a piece: documents with all their claims -> their claims end, their rows are stored -> next piece
 *                  -> the takeovers, in pieces as well -> the intents end
 *
 * Each piece is durable before the next one begins, and a run that has to stop ends between two pieces. The next run
 * settles the rest. A document is settled with all of its claims at once, whichever units they belong to.
 *
 * The names of all documents in doubt are in memory at once. These documents are those of the pages in flight, whose
 * bytes `LeaseRuns.budget` limits. Even an empty document has 230 bytes on the wire, so with up to 256 ranges there are
 * at most 36,000 documents in doubt.
 */
import { mapKey } from '../../documents/hash.ts';
import { abortReason } from '../../lib/abort.ts';
import { formatCount } from '../../lib/counting.ts';
import { group } from '../../lib/group.ts';
import type { Override, LedgerRow } from '../../state/rows.ts';
import type { StoredClaim } from '../../state/unit-records.ts';
import type { RunContext } from '../context.ts';
import { withdraw, withoutSlot } from '../apply/put-in-slot.ts';
import { waitAfter } from './last-request.ts';
import { currentMoment } from './machine-time.ts';
import { idOf, type Slot, type SourceIdentity } from '../apply/identity.ts';

/** The most documents of a piece: enough to fill batches to every range. */
const TOGETHER = 2000;

interface Claimed {
  readonly identity: SourceIdentity;
  readonly indexId: number | null;
  readonly slots: Map<string, Slot>;
  readonly claims: StoredClaim[];
}

/** What a piece writes to the ledger. */
interface Findings {
  readonly rows: Map<string, LedgerRow>;
  readonly overrides: Override[];
  /** Copies that were removed, because their documents are deleted or have another key now. */
  readonly removed: { documentsDeleted: number; documentsMoved: number };
}

export interface Settling {
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Shows what the run is waiting for: the result of `text`, until `show` is called with null. */
  readonly show: (text: (() => string) | null) => void;
  /** Called when the wait for requests of the interrupted run begins and ends: it was announced, and is not a stall. */
  readonly onWait: (isWaiting: boolean) => void;
}

/**
 * Settles all intents of the last run and returns how many documents were in doubt. Without intents it does not wait.
 * If the run is stopped, throws the reason.
 */
export async function settleAll(
  context: RunContext,
  { signal, say, show, onWait }: Settling,
): Promise<number> {
  const { ledger, stopping, notes } = context;
  const units = ledger.units.unsettled();
  if (units.length === 0) {
    if (wasInterrupted(ledger))
      say(`${INTERRUPTED}: none of its writes is in doubt, so nothing is waited for`);
    return 0;
  }
  await waitOutRequests(context, { say, show, onWait });
  const { documents, takeovers } = readClaims(context, units);
  let open = documents.length + takeovers.length;
  show(() => `looks at ${formatCount(open)} documents that the interrupted run has left in doubt`);
  const settleEach = async <T>(
    items: readonly T[],
    settleItem: (item: T, findings: Findings) => Promise<readonly StoredClaim[]>,
  ): Promise<void> => {
    for (let at = 0; at < items.length;) {
      if (stopping.signal.aborted) {
        // Nothing is in flight between two pieces, so the next run does not wait.
        notes.allAnswered();
        throw abortReason(stopping.signal);
      }
      const piece = items.slice(at, at + pieceDocuments(context));
      await settlePiece(context, piece, { signal, settleItem });
      at += piece.length;
      open -= piece.length;
    }
  };
  await settleEach(documents, async (one, findings) => settleOne(context, one, findings));
  await settleEach(takeovers, async (claim, findings) => settleTakeover(context, claim, findings));
  ledger.units.settle({ units });
  show(null);
  context.points.reach('settled');
  return documents.length;
}

const INTERRUPTED = 'the last run was interrupted';

/** Whether the run before this one was killed or has crashed. */
function wasInterrupted({ runs }: RunContext['ledger']): boolean {
  const [before, own] = runs.since((runs.last()?.number ?? 0) - 1, 2);
  return before !== undefined && own !== undefined && before.endedAtMs === null;
}

/** Waits until no request of the last run can take effect. If the run is stopped, throws the reason. */
async function waitOutRequests(
  { ledger, clock, timing, stopping }: RunContext,
  { say, show, onWait }: Omit<Settling, 'signal'>,
): Promise<void> {
  const { requestTimeoutMs } = timing;
  const waitMs = waitAfter(ledger.runs.lastRequest(), { now: currentMoment(), requestTimeoutMs });
  if (waitMs === 0) {
    say(`${INTERRUPTED}: none of its requests can take effect any longer, so nothing is waited for`);
    return;
  }
  const secondsLeft = (): number => Math.max(0, Math.ceil((endMs - clock.monotonicMs()) / 1000));
  const endMs = clock.monotonicMs() + waitMs;
  say(`${INTERRUPTED}: waiting ${secondsLeft()} s until none of its requests can take effect`);
  show(() => `${secondsLeft()} s until no request of the interrupted run can take effect`);
  onWait(true);
  await clock.sleep(waitMs, stopping.signal);
  onWait(false);
}

/**
 * How many documents a piece has: half of those that the target takes within DRAIN_MS (backlog.ts), so that a run that
 * has to stop ends in time.
 */
function pieceDocuments({ backlog }: RunContext): number {
  return Math.max(1, Math.min(TOGETHER, Math.floor(backlog.documentsMax / 2)));
}

async function settlePiece<T>(
  context: RunContext,
  piece: readonly T[],
  {
    signal,
    settleItem,
  }: {
    readonly signal: AbortSignal;
    readonly settleItem: (item: T, findings: Findings) => Promise<readonly StoredClaim[]>;
  },
): Promise<void> {
  const { ledger, backlog, pending, points } = context;
  const removed = { documentsDeleted: 0, documentsMoved: 0 };
  const findings: Findings = { rows: new Map(), overrides: [], removed };
  const claims: StoredClaim[] = [];
  await backlog.admit(piece.length, signal);
  await group(signal, async (members) => {
    for (const item of piece)
      members.start(async () => {
        claims.push(...(await settleItem(item, findings)));
        backlog.end();
      });
  });
  const rows = [...findings.rows.values()];
  ledger.units.settle({ claims, rows, overrides: findings.overrides, counters: removed });
  context.tally.add(removed);
  backlog.commit(piece.length);
  for (const { identity } of rows) pending.filter.add(identity);
  points.reach('settled-piece');
}

function readClaims(
  { ledger, plan }: RunContext,
  units: readonly number[],
): { readonly documents: readonly Claimed[]; readonly takeovers: readonly StoredClaim[] } {
  const claimed = new Map<string, Claimed>();
  const takeovers: StoredClaim[] = [];
  for (const unit of units) {
    const { lease, claims } = ledger.units.readIntent(unit, plan.sourcePaths.length);
    const indexId = lease === null ? null : ledger.leases.get(lease).indexId;
    for (const claim of claims) {
      if (claim.kind === 'takeover') {
        takeovers.push(claim);
        continue;
      }
      const identity = { hash: claim.identity, name: claim.name };
      const key = mapKey(identity.hash);
      let one = claimed.get(key);
      if (one === undefined) claimed.set(key, (one = { identity, indexId, slots: new Map(), claims: [] }));
      one.slots.set(mapKey(claim.slot), { hash: claim.slot, key: claim.targetKey });
      one.claims.push(claim);
    }
  }
  return { documents: [...claimed.values()], takeovers };
}

/** Removes our copies of a document, except from the slot to which the source maps the document now. */
async function settleOne(
  context: RunContext,
  { identity, indexId, slots: claimed, claims }: Claimed,
  findings: Findings,
): Promise<readonly StoredClaim[]> {
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
    else if ((await withdraw(context, { identity, slot, left: null })).end === 'removed')
      findings.removed[wanted === null ? 'documentsDeleted' : 'documentsMoved'] += 1;
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
      // Which of the writes in doubt was carried out is not known.
      copyEtag: null,
      lsn,
      feed,
    });
    return claims;
  }
  // Older segments may still say that the copy is in one of these slots.
  for (const { hash } of candidates.values())
    findings.overrides.push({ identity: identity.hash, slot: hash, sequence: ledger.units.nextSequence() });
  return claims;
}

/** Corrects the ledger for a document whose slot another document may have taken. */
async function settleTakeover(
  context: RunContext,
  claim: StoredClaim,
  findings: Findings,
): Promise<readonly StoredClaim[]> {
  const { identity, slot, targetKey } = claim;
  const { pending, slots, ledger } = context;
  const key = mapKey(identity);
  const seen = await slots.read({ hash: slot, key: targetKey }, idOf(claim));
  const row = findings.rows.get(key) ?? pending.rowOf(identity, null);
  if (seen?.identity.hash.equals(identity) === true) return [claim];
  if (row === null) findings.overrides.push({ identity, slot, sequence: ledger.units.nextSequence() });
  else if (row.slot?.equals(slot) === true) {
    findings.rows.set(key, withoutSlot(row));
  }
  return [claim];
}
