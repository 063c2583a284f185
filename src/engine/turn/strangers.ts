/**
 * Finds writes of others in the container that only cosmig may write to. Until the cutover that container was in use, so a
 * process that was not stopped may still write there. Such a write breaks the promise of a way back, and is reported by
 * range and id; the way back is then not safe until a comparison of all documents has found both sides equal.
 *
 * A document of the feed is ours if it has the etag with which the ledger knows its copy. Otherwise it is looked at again
 * under the locks of the document, because a write of ours may be in flight. Before the first write of a turn nothing in
 * the feed is ours. Invariant: a copy that was found changed is never replaced unless the operator asks for it.
 */
import { wordsOf } from '../../documents/hash.ts';
import type { LedgerRow } from '../../state/rows.ts';
import { ETAG_BYTES, etagToBytes } from '../../state/segments/etag-hash.ts';
import { idOf } from '../apply/identity.ts';
import type { RunContext } from '../context.ts';
import { describeChange, IDS_MAX, type SourceChange } from '../../state/source-change.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';
import { readClosed, type ClosedDocument } from './closed-feed.ts';

/** After this many findings a search confirms no others: the way back is not safe whatever their number is. */
const CONFIRMED_MAX = 100;
/** How many findings a warning describes. The journal has all, and so has `cosmig status`. */
const DESCRIBED_MAX = 4;
/** Stands for the etag of a copy that another process has changed before the turn wrote anything. No document has it. */
const CHANGED = Buffer.alloc(ETAG_BYTES, 0xff);

/**
 * Searches what was written since the last search, and records what it finds. `isFirst`: the turn has written nothing
 * yet. Does nothing in the first turn.
 */
export async function searchForStrangers(
  context: RunContext,
  { isFirst }: { readonly isFirst: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock, log, targetSide } = context;
  const ends = ledger.searchedEnds.all();
  if (ends.length === 0) return;
  const findings = new Findings();
  const read = await readClosed(
    context,
    {
      ends,
      onWritten: async (page) => {
        if (isFirst) markAll(context, page, findings);
        else await confirmEach(context, page, findings);
      },
      onDeleted: async (page) => {
        for (const { range, id } of page) findings.add({ range, id, what: 'deleted' });
      },
    },
    signal,
  );
  const found = findings.all();
  ledger.searchedEnds.move(read, found, clock.now());
  if (found.length > 0) {
    const more = found.length > DESCRIBED_MAX ? '; and in other ranges' : '';
    const changes = found.slice(0, DESCRIBED_MAX).map(describeChange).join('; ');
    log.warn(`another process has written to the ${targetSide.is}: ${changes}${more}`, {
      now: 'stop that process, then run cosmig verify --repair, which makes the target equal to the source: what that process created is deleted there, what it changed is overwritten; copy it first if you need it',
    });
  }
}

/** What a search has found, by range and kind. */
class Findings {
  count = 0;
  readonly #found = new Map<
    string,
    { readonly range: string; readonly what: 'written' | 'deleted'; readonly ids: string[] }
  >();

  add({ range, id, what }: { range: string; id: string; what: 'written' | 'deleted' }): void {
    this.count += 1;
    const name = `${what} ${range}`;
    const change = this.#found.get(name) ?? { range, what, ids: [] };
    this.#found.set(name, change);
    if (change.ids.length < IDS_MAX && !change.ids.includes(id)) change.ids.push(id);
  }

  all(): SourceChange[] {
    return [...this.#found.values()];
  }
}

/** Takes every document for one of others, and marks the copies that the map has taken from them. */
function markAll(context: RunContext, page: readonly ClosedDocument[], findings: Findings): void {
  if (page.length === 0) return;
  const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
  for (const { range, id, copy } of page) {
    findings.add({ range, id, what: 'written' });
    if (copy === null) continue;
    const row = context.pending.rowOf(copy.identity.hash, null);
    if (row?.slot?.equals(copy.slot.hash) === true) unit.row({ ...row, copyEtag: CHANGED });
  }
  unit.commit(null);
}

async function confirmEach(
  context: RunContext,
  page: readonly ClosedDocument[],
  findings: Findings,
): Promise<void> {
  for (const written of page) {
    const { range, id, copy } = written;
    const isOurs =
      copy !== null && isKnown(context.pending.rowOf(copy.identity.hash, null), copy.slot.hash, copy.etag);
    if (isOurs || findings.count >= CONFIRMED_MAX) continue;
    if (await isByOthers(context, copy)) findings.add({ range, id, what: 'written' });
  }
}

/** Whether the ledger knows the copy in this slot by this etag, or cannot say by which. */
function isKnown(row: LedgerRow | null, slot: Buffer, etag: Buffer): boolean {
  if (row?.slot?.equals(slot) !== true) return false;
  return row.copyEtag === null || row.copyEtag.equals(etag);
}

/** Looks again when no write of ours can be in flight. */
async function isByOthers(context: RunContext, copy: ClosedDocument['copy']): Promise<boolean> {
  // Such a document cannot be written by a migration with these settings.
  if (copy === null) return true;
  const { sequencer, signal, slots, pending } = context;
  const { identity, slot } = copy;
  while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
  const turn = sequencer.enter(wordsOf(identity.hash, slot.hash), 2);
  try {
    await sequencer.ready(turn, signal);
    const seen = await slots.read(slot, idOf(identity));
    if (seen === null) return false;
    // Since the page was read, the slot may have gone to another document of ours: one of the same id under a new key.
    const row = pending.rowOf(seen.identity.hash, null);
    return !isKnown(row, slot.hash, etagToBytes(seen.etag));
  } finally {
    sequencer.release(turn);
  }
}
