/**
 * Puts a document into its slot, and takes it out. Invariant: every write is a create, or requires the etag of a
 * document whose identity was read. An older copy of the same document is replaced. If the slot holds a copy of another
 * document, the source decides which one belongs there (rule 5 of the apply rule). A document that cosmig has not
 * written is left alone.
 */
import { ServiceError } from '../../lib/errors.ts';
import { etagToBytes } from '../../state/segments/etag-hash.ts';
import { etagLeft, isChanged } from '../turn/left-copies.ts';
import { inSteps } from '../../lib/group.ts';
import type { LedgerRow } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import type { Occupant } from './slot-owner.ts';
import type { TargetRefusal, WriteOutcome } from './target-slots.ts';
import { givenUp, type UniqueValues } from './unique-keys.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import type { Version } from '../tail/source-version.ts';
import { idOf, type Slot, type SourceIdentity } from './identity.ts';

export interface Put {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly identity: SourceIdentity;
  readonly slot: Slot;
  readonly version: Version;
  /** Whether our copy is in the slot already, according to the ledger. */
  readonly isThere: boolean;
  /** The etag with which our copy was left there; null if it is not known. */
  readonly left: Buffer | null;
  /** Called with the etag that the copy gets, in turns after the first one. */
  readonly onWritten: (etag: Buffer) => void;
}

/** Why a document did not get its slot. */
export type PutFailure =
  | {
      readonly reason:
        | 'unique-key'
        | 'foreign-document'
        | 'changed-by-others'
        | 'too-large'
        | 'partition-full'
        | 'rejected';
      readonly code: string;
    }
  /** `holder`: the document of the source that has the slot. */
  | { readonly reason: 'collision'; readonly code: string; readonly holder: SourceIdentity };

/** The limit of attempts at one slot. Another writer of the target may win a race now and then, but not every time. */
const TRIES_MAX = 100;

/**
 * Puts a version into its slot; `first` is the outcome of a create that was sent already. An older copy of the document
 * is replaced without a comparison of versions: if the source has a newer version, the feed reports it later.
 */
export async function putInSlot(put: Put, first?: WriteOutcome): Promise<'ok' | PutFailure> {
  const { context, unit, identity, slot, version, isThere } = put;
  const { slots } = context;
  const document = { ...version, onWritten: (etag: string) => put.onWritten(etagToBytes(etag)) };
  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'write', identity, slot }]);
  const id = idOf(identity);
  const taken: SourceIdentity[] = [];
  const values: UniqueValues[] = [];
  let seen = isThere ? await slots.read(slot, id, { isFirst: true }) : null;
  let written = first;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (written === undefined) {
      if (seen === null) {
        // The ledger knows a copy here, and this process has not removed it.
        if (isThere && tries === 0 && context.checksCopies) return CHANGED;
        written = await slots.create(slot, document);
      } else {
        const failing = await adjudicate(put, seen, taken);
        if (failing !== undefined) return failing;
        values.push(seen.uniqueValues);
        written = await slots.replace(slot, document, seen);
      }
    }
    if (written === 'ok') {
      for (const from of taken) revoke(put, from);
      // The replaced document may have held a unique value that another document waits for.
      if (values.length > 0)
        context.promoter.free({
          slot,
          emptied: false,
          given: givenUp(values, context.unique.valuesOf(version.body)),
        });
      return 'ok';
    }
    if (typeof written === 'object') return written;
    if (seen !== null && written === 'conflict') return UNIQUE_KEY;
    const was = written;
    written = undefined;
    seen = await slots.read(slot, id);
    if (was === 'conflict' && seen === null && context.unique.exist) return UNIQUE_KEY;
  }
  throw changesTooFast();
}

const CHANGED: PutFailure = { reason: 'changed-by-others', code: 'changed' };
const FOREIGN: PutFailure = { reason: 'foreign-document', code: 'foreign' };
const UNIQUE_KEY: PutFailure = { reason: 'unique-key', code: '409' };

/**
 * Returns why our document may not replace the one in the slot; undefined if it may. In that case a takeover is
 * claimed, unless the slot holds an older copy of the same document.
 */
async function adjudicate(
  { context, unit, identity, slot, version, isThere, left }: Put,
  seen: Occupant,
  taken: SourceIdentity[],
): Promise<PutFailure | undefined> {
  if (seen.identity.hash.equals(identity.hash)) {
    // The `ttl` of a document that expires changes with each attempt, so such a document is not checked.
    const expires = version.lifetime !== undefined;
    const expected = expires
      ? { left: null, body: null, isKnown: true }
      : { left, body: version.body, isKnown: isThere };
    return isChanged(context, seen, expected) ? CHANGED : undefined;
  }
  const ours = seen.foreign ? false : isCopyOfOurs(context, seen.identity, slot);
  if (ours === false) return FOREIGN;
  const row = context.pending.rowOf(seen.identity.hash, null);
  const other = { left: etagLeft(row, slot.hash), body: null, isKnown: true };
  if (isChanged(context, seen, other)) return FOREIGN;
  if (await stillMaps(context, seen.identity, slot))
    return { reason: 'collision', code: 'slot-taken', holder: seen.identity };
  if (ours === 'unknown' && !(await hasCopied(context, seen.identity, slot))) return FOREIGN;
  await unit.begin([{ kind: 'takeover', identity: seen.identity, slot }]);
  context.points.reach('takeover-intended');
  taken.push(seen.identity);
  return undefined;
}

/**
 * Whether cosmig has written the document in the slot. Once the copy is indexed the ledger knows every document that
 * cosmig has written. Until then the answer may be 'unknown', because only a read of all segments shows what the copy
 * has written.
 */
function isCopyOfOurs(
  { pending, ledger }: RunContext,
  other: SourceIdentity,
  slot: Slot,
): boolean | 'unknown' {
  const row = pending.rowOf(other.hash, null);
  if (row !== null) return row.slot !== null && row.slot.equals(slot.hash);
  return ledger.leases.live().every(({ indexId }) => ledger.isIndexed(indexId)) ? false : 'unknown';
}

/**
 * Whether the copy, which is not indexed yet, has written this document into the slot. Reads all segments, so it is
 * called only if the source no longer maps the document to this slot. Without this check a takeover could destroy a
 * document that another process has written.
 */
async function hasCopied(
  { ledger, signal }: RunContext,
  other: SourceIdentity,
  slot: Slot,
): Promise<boolean> {
  return inSteps(ledger.segments.hasCopied(other.hash, slot.hash), signal);
}

/** Whether the document `other` still belongs in this slot, according to the source. */
export async function stillMaps({ source }: RunContext, other: SourceIdentity, slot: Slot): Promise<boolean> {
  const version = await source.read(other);
  if (version === 'gone') return false;
  // If the service no longer accepts the id, the source cannot be asked, and the document keeps its slot.
  if (version.refusal?.reason === 'bad-id') return true;
  return version.slot !== null && version.slot.hash.equals(slot.hash);
}

/** Corrects the ledger for a document whose slot was taken over. */
function revoke({ context, unit, slot }: Put, from: SourceIdentity): void {
  const row = context.pending.rowOf(from.hash, null);
  if (row === null) unit.override(from.hash, slot.hash);
  else if (row.slot?.equals(slot.hash) === true) {
    unit.row(withoutSlot(row));
  }
}

/** Returns the row of a document after it has lost its slot. */
export function withoutSlot(row: LedgerRow): LedgerRow {
  const state = row.state === 'live' ? 'tombstone' : row.state;
  return { ...row, state, slot: null, targetKey: null, etag: null, copyEtag: null };
}

export interface Removal {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly identity: SourceIdentity;
  readonly slot: Slot;
}

/**
 * Claims and deletes our copy of a document in a slot, and no other document. Returns what was found in the slot;
 * `changed`: our copy, which another process has changed.
 */
export async function removeIfOurs({ context, unit, identity, slot }: Removal): Promise<Withdrawn['end']> {
  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'remove', identity, slot }]);
  const left = etagLeft(context.pending.rowOf(identity.hash, null), slot.hash);
  const { end, values } = await withdraw(context, { identity, slot, left });
  if (end === 'not ours' || end === 'changed') return end;
  if (end === 'removed') context.points.reach('removed');
  context.promoter.free({ slot, emptied: true, given: end === 'removed' ? givenUp(values) : null });
  return end;
}

export interface Withdrawn {
  readonly end: 'removed' | 'empty' | 'not ours' | 'changed';
  /** Unique values of every version of our copy that the removal has found in the slot. */
  readonly values: readonly UniqueValues[];
}

interface Withdrawing {
  readonly identity: SourceIdentity;
  readonly slot: Slot;
  /** The etag with which our copy was left in the slot; null if it is not known. */
  readonly left: Buffer | null;
}

/**
 * Deletes our copy from a slot; the caller has claimed the removal. If an attempt does not succeed and the next one
 * does not find the copy, the copy counts as removed.
 */
export async function withdraw(
  context: Pick<RunContext, 'slots' | 'checksCopies'>,
  { identity, slot, left }: Withdrawing,
): Promise<Withdrawn> {
  const { slots } = context;
  const id = idOf(identity);
  const values: UniqueValues[] = [];
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const seen = await slots.read(slot, id);
    if (seen === null || !seen.identity.hash.equals(identity.hash)) {
      if (tries > 0) return { end: 'removed', values };
      return { end: seen === null ? 'empty' : 'not ours', values };
    }
    if (isChanged(context, seen, { left, body: null, isKnown: true })) return { end: 'changed', values };
    values.push(seen.uniqueValues);
    const removed = await slots.remove(slot, seen);
    if (removed === 'ok') return { end: 'removed', values };
    if (typeof removed === 'object') throw undeletable(removed);
  }
  throw changesTooFast();
}

function changesTooFast(): ServiceError {
  return new ServiceError('a document of the target changes faster than it can be written', {
    why: `${TRIES_MAX} tries, and each found another version`,
    hint: 'find out what else writes into the target, then run the command again',
  });
}

function undeletable({ code }: TargetRefusal): ServiceError {
  return new ServiceError('the target does not delete a document', {
    why: `it was asked to delete a copy of ours, and answered ${code}`,
    hint: 'see whether a trigger or a policy of the target refuses deletes, then run the command again',
  });
}
