/**
 * The apply rule of docs/internals/apply-rule.md. A change is applied under the locks of its identity and of every slot
 * that it touches:
 *
 *   change -> locks -> replay?            -> dropped; the row's LSN is raised
 *                   -> equal/older LSN?   -> a point read of the source; its answer replaces the change
 *                   -> deleted            -> our copy is removed, and the row becomes a tombstone
 *                   -> maps to a slot     -> written there; then the old slot is emptied, then the row changes
 *                   -> cannot be written  -> a dead letter; our copy is removed from a slot where it no longer belongs
 *
 * test/model is an executable model of this rule, and shows what breaks without each part of the rule.
 */
import { etagToBytes } from '../../state/segments/etag-hash.ts';
import { mapKey, wordsOf } from '../../documents/hash.ts';
import { assert, must } from '../../lib/assert.ts';
import type { FeedName, LedgerRow } from '../../state/rows.ts';
import { closeLetter, printKey, printLevels, quarantine } from '../letters/dead-letters.ts';
import type { RunContext } from '../context.ts';
import { putInSlot, removeIfOurs, type Put, type PutFailure } from './put-in-slot.ts';
import type { FeedOrder, Turn } from '../unit/sequencer.ts';
import type { WriteOutcome } from './target-slots.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import type { Version } from '../tail/source-version.ts';
import { type Slot, type SourceIdentity } from './identity.ts';

/** One change of one document, or a request to apply the document's current version. */
export interface Change {
  readonly identity: SourceIdentity;
  /**
   * The version that a feed has reported; null if no feed has reported one, so that the current version is read from
   * the source.
   */
  readonly version: Version | 'gone' | null;
  readonly feed: FeedName;
  readonly lsn: number | null;
  /** The index over the documents that the lease has copied; null without a lease. */
  readonly indexId: number | null;
  /** How AVAD shows the change: its kind, and the LSN of the version before it. LV does not show these. */
  readonly shown?: { readonly as: 'create' | 'replace' | 'delete'; readonly previousLsn: number | null };
}

/** The turn of a copied document, and the outcome of its create if the create was sent. */
export interface CopiedTurn {
  readonly turn: Turn;
  readonly written?: WriteOutcome;
}

export interface Task {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly change: Change;
  /**
   * Called when a document of the copy is in its slot and has no row: its segment then records it, and no row is
   * written.
   */
  readonly onLive?: () => void;
}

/** Applies a change. When the promise resolves, every other unit of work sees the outcome. */
export async function apply(task: Task, begun?: CopiedTurn): Promise<void> {
  const { context, change } = task;
  const { sequencer, pending } = context;
  let hint = slotOf(change.version);
  const locks = new Locks(task, { turn: begun?.turn, slot: hint });
  try {
    let row = pending.rowOf(change.identity.hash, change.indexId);
    const taken =
      begun === undefined ? await locks.take(hint, row) : await sequencer.ready(begun.turn, context.signal);
    if (taken === 'superseded') return;
    let asks = change.version === null;
    for (;;) {
      row = pending.rowOf(change.identity.hash, change.indexId);
      // The row may have changed during the wait, and may now name a slot that is not locked.
      if (!locks.cover(row)) {
        await locks.take(hint, row);
        continue;
      }
      const verdict = asks ? 'ask' : judge(change, row);
      if (verdict === 'replay') return raise(task, must(row, 'a replay is one of a row'));
      let version = change.version ?? 'gone';
      if (verdict === 'ask') {
        version = await context.source.read(change.identity);
        const slot = slotOf(version);
        if (slot !== null && !locks.holds(slot.hash)) {
          hint = slot;
          asks = true;
          await locks.take(hint, row);
          continue;
        }
      }
      const subject = { ...task, row };
      if (version === 'gone') await remove(subject);
      else await write(subject, version, asks ? undefined : begun?.written);
      return;
    }
  } finally {
    if (locks.turn !== undefined) sequencer.release(locks.turn);
  }
}

function slotOf(version: Change['version']): Slot | null {
  return version === null || version === 'gone' ? null : version.slot;
}

interface Subject extends Task {
  readonly row: LedgerRow | null;
}

/** The locks that one change holds: on its identity, and on slots. */
class Locks {
  turn: Turn | undefined;
  readonly #task: Task;
  #slots: ReadonlySet<string>;

  constructor(task: Task, { turn, slot }: { readonly turn: Turn | undefined; readonly slot: Slot | null }) {
    this.#task = task;
    this.turn = turn;
    this.#slots = new Set(slot === null ? [] : [mapKey(slot.hash)]);
  }

  holds(slot: Buffer): boolean {
    return this.#slots.has(mapKey(slot));
  }

  cover(row: LedgerRow | null): boolean {
    return row === null || row.slot === null || this.holds(row.slot);
  }

  /** Releases all locks of the change, then waits for those of the identity and of these slots. */
  async take(hint: Slot | null, row: LedgerRow | null): Promise<'held' | 'superseded'> {
    const { context, change } = this.#task;
    const { sequencer, signal } = context;
    const slots = [hint?.hash, row?.slot].filter((slot) => slot !== undefined && slot !== null);
    const locks = wordsOf(change.identity.hash, ...slots);
    const count = slots.length + 1;
    this.#slots = new Set(slots.map(mapKey));
    if (this.turn === undefined) {
      while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
      this.turn = sequencer.enter(locks, count, orderOfTurn(change));
    } else sequencer.again(this.turn, locks, count);
    return sequencer.ready(this.turn, signal);
  }
}

/**
 * Returns the position of a change in its feed, by which the sequencer drops a change if a later change of the same
 * document and feed waits too.
 */
function orderOfTurn({ version, feed, lsn }: Change): FeedOrder | undefined {
  return version === null || lsn === null ? undefined : { feed, lsn };
}

/** Rule 1: says whether a change is a replay, is new, or needs a point read of the source. */
function judge({ version, feed, lsn }: Change, row: LedgerRow | null): 'replay' | 'ask' | 'new' {
  if (row === null) return 'new';
  if (version !== null && version !== 'gone' && row.etag?.equals(etagToBytes(version.etag)) === true)
    return 'replay';
  // LSNs of the two feeds are not compared with each other.
  const comparable = row.lsn !== null && lsn !== null && row.feed === feed;
  return !comparable || lsn > row.lsn ? 'new' : 'ask';
}

function raise({ unit, change }: Task, row: LedgerRow): void {
  unit.count('documentsSkipped');
  unit.row({ ...row, ...orderOf(change, row) });
}

/**
 * Returns the feed and the LSN that the row gets from this change. Within one feed the LSN of a row never becomes
 * lower.
 */
function orderOf({ feed, lsn }: Change, row: LedgerRow | null): Pick<LedgerRow, 'feed' | 'lsn'> {
  if (lsn === null) return { feed: row?.feed ?? feed, lsn: row?.lsn ?? null };
  return { feed, lsn: row?.feed === feed ? Math.max(row.lsn ?? 0, lsn) : lsn };
}

/** Rule 4: removes our copy of a deleted document. */
async function remove({ context, unit, change, row }: Subject): Promise<void> {
  const { identity } = change;
  const old = slotIn(row);
  const end = old === null ? 'empty' : await removeIfOurs({ context, unit, identity, slot: old });
  if (end === 'changed') return keepChanged({ context, unit, change, row }, old);
  if (end === 'removed') unit.count('documentsDeleted');
  const nowhere = { slot: null, targetKey: null, etag: null, copyEtag: null };
  unit.row({ identity: identity.hash, state: 'tombstone', ...nowhere, ...orderOf(change, row) });
  closeLetter(context, unit, identity);
}

/** Opens a dead letter for a deleted document whose copy another process has changed. */
function keepChanged({ context, unit, change, row }: Subject, slot: Slot | null): void {
  const { identity } = change;
  unit.row({
    identity: identity.hash,
    state: 'quarantined',
    slot: slot?.hash ?? null,
    targetKey: slot?.key ?? null,
    etag: null,
    copyEtag: row?.copyEtag ?? null,
    ...orderOf(change, row),
  });
  const refusal = { reason: 'changed-by-others', code: 'changed', why: WHY['changed-by-others'] } as const;
  quarantine(context, unit, { identity, slot, refusal });
}

/** Rules 2, 3 and 6: writes a version into its slot, empties the old slot, or opens a dead letter. */
async function write(subject: Subject, version: Version, first: WriteOutcome | undefined): Promise<void> {
  const { context, unit, change, row } = subject;
  const { identity } = change;
  if (version.slot === null || version.refusal !== null) {
    const { reason, why } = must(version.refusal, 'what has no slot is refused');
    return refuse(subject, version, { reason, code: reason, why });
  }
  const { slot } = version;
  const old = slotIn(row);
  const moves = old !== null && !old.hash.equals(slot.hash);
  const isThere = old !== null && !moves;
  let copyEtag: Buffer | null = null;
  const onWritten = (etag: Buffer): void => {
    copyEtag = etag;
  };
  const left = isThere ? (row?.copyEtag ?? null) : null;
  const put: Put = { context, unit, identity, slot, version, isThere, left, onWritten };
  let result = await putInSlot(put, first);
  if (result !== 'ok' && result.reason === 'unique-key') {
    const hasWaited = isWaiting(subject, version);
    await refuseFailed(subject, version, result);
    if (hasWaited) return;
    // The document that held the unique value may have left between the refusal and the opening of the letter. No retry
    // would then follow, so the write is tried a second time.
    const kept = context.pending.rowOf(identity.hash, change.indexId)?.slot ?? null;
    result = await putInSlot({ ...put, isThere: kept !== null && kept.equals(slot.hash) });
  }
  if (result !== 'ok') return refuseFailed(subject, version, result);
  if (moves) {
    context.points.reach('moved');
    await removeIfOurs({ context, unit, identity, slot: old });
    unit.count('documentsMoved');
  }
  if (isThere) unit.count('documentsReplaced');
  unit.count('documentsWritten');
  const known = context.pending.rowOf(identity.hash, change.indexId);
  if (known === null && subject.onLive !== undefined) subject.onLive();
  else {
    const etag = etagToBytes(version.etag);
    unit.row({
      identity: identity.hash,
      state: 'live',
      slot: slot.hash,
      targetKey: slot.key,
      etag,
      copyEtag,
      ...orderOf(change, row),
    });
  }
  closeLetter(context, unit, identity);
}

/**
 * Whether the document's letter already waits for the same unique values. Then no second attempt is needed: a document
 * that gives up one of these values causes a retry of the letter.
 */
function isWaiting({ context, change: { identity } }: Subject, { slot, body }: Version): boolean {
  const letter = context.pending.letterOf(identity.hash);
  const waitsHere = letter?.waits.for === 'key' && slot !== null && letter.targetKey === printKey(slot.key);
  return waitsHere && context.unique.wants(identity.hash, context.unique.valuesOf(body));
}

async function refuseFailed(subject: Subject, version: Version, failure: PutFailure): Promise<void> {
  const { reason, code } = failure;
  const why = failure.reason === 'collision' ? collisionWhy(failure.holder) : WHY[failure.reason];
  return refuse(subject, version, { reason, code, why });
}

/** Names the other document. In a turn that leads back `source` and `target` are swapped before this is shown. */
function collisionWhy({ name: [id = '', ...key] }: SourceIdentity): string {
  return `${id} of ${printLevels(key)} in the source has the same id and the same target key`;
}

const WHY: Readonly<Record<Exclude<PutFailure['reason'], 'collision'>, string>> = {
  'unique-key': 'another document in the target has the same values in a unique key',
  'foreign-document': 'the slot is taken by a document that cosmig has not written',
  'changed-by-others': 'another process has changed or deleted the copy',
  'too-large': 'the target does not take a document of this size',
  'partition-full': 'the logical partition of its target key is full',
  rejected: 'the target does not take this document',
};

/**
 * Rule 6: opens a dead letter. Other units see the letter before the locks are released, so the next document that
 * leaves the slot causes a retry.
 */
async function refuse(
  { context, unit, change, row }: Subject,
  version: Version,
  refusal: Parameters<typeof quarantine>[2]['refusal'],
): Promise<void> {
  const { identity } = change;
  const old = slotIn(context.pending.rowOf(identity.hash, change.indexId) ?? row);
  const isRight = old !== null && version.slot !== null && old.hash.equals(version.slot.hash);
  // An outdated copy may stay in the slot where its document belongs. With unique keys it must leave: it might hold a
  // value that another document waits for.
  const leaves = old !== null && (!isRight || context.unique.exist);
  const end = leaves ? await removeIfOurs({ context, unit, identity, slot: old }) : null;
  if (end === 'removed') unit.count('documentsDeleted');
  const kept = leaves ? null : old;
  unit.row({
    identity: identity.hash,
    state: 'quarantined',
    slot: kept?.hash ?? null,
    targetKey: kept?.key ?? null,
    etag: etagToBytes(version.etag),
    copyEtag: kept === null ? null : (row?.copyEtag ?? null),
    ...orderOf(change, row),
  });
  if (refusal.reason === 'unique-key')
    context.unique.want(identity.hash, context.unique.valuesOf(version.body));
  quarantine(context, unit, { identity, slot: version.slot, refusal });
}

function slotIn(row: LedgerRow | null): Slot | null {
  if (row === null || row.slot === null) return null;
  assert(row.targetKey !== null, 'a slot has its key');
  return { hash: row.slot, key: row.targetKey };
}
