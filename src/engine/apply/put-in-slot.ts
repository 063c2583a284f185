/**
 * A slot changing hands. Each write is a create, or insists on the etag of a document whose identity was rebuilt: ours
 * is replaced, another's is adjudicated in the source (rule 5 of docs/internals/apply-rule.md), a stranger's is left alone.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { RunContext } from '../context.ts';
import type { Found, Refusing, Written } from './target-slots.ts';
import { givenUp, type Held } from './unique-keys.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import type { Version } from '../tail/source-version.ts';
import { idOf, type Slot, type SourceIdentity } from './identity.ts';

export interface Placing {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly identity: SourceIdentity;
  readonly slot: Slot;
  readonly version: Version;
  /** Our copy stands there already. */
  readonly isThere: boolean;
}

/** Why a document did not get its slot. */
export interface Failing {
  readonly reason:
    | 'collision'
    | 'unique-key'
    | 'foreign-document'
    | 'too-large'
    | 'partition-full'
    | 'rejected';
  readonly code: string;
}

/** Whoever writes into the target besides us may win a race now and then, not every time. */
const TRIES_MAX = 100;

/**
 * Puts a version into its slot; `first` is what became of a create that was sent already. A copy of ours that is found
 * is replaced without asking which is newer: what the source has beyond this version has an event of its own, which
 * is not done yet.
 */
export async function put(placing: Placing, first?: Written): Promise<'ok' | Failing> {
  const { context, unit, identity, slot, version, isThere } = placing;
  const { slots } = context;
  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'write', identity, slot }]);
  const id = idOf(identity);
  const taken: SourceIdentity[] = [];
  const held: Held[] = [];
  let seen = isThere ? await slots.read(slot, id) : null;
  let written = first;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (written === undefined) {
      if (seen === null) written = await slots.create(slot, version);
      else {
        const failing = await adjudicate(placing, seen, taken);
        if (failing !== undefined) return failing;
        held.push(seen.held);
        written = await slots.replace(slot, version, seen);
      }
    }
    if (written === 'ok') {
      for (const from of taken) revoke(placing, from);
      // What was replaced may have held a unique value that somebody waits for.
      if (held.length > 0)
        context.promoter.free({
          slot,
          emptied: false,
          given: givenUp(held, context.unique.heldBy(version.body)),
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
  throw restless();
}

const UNIQUE_KEY: Failing = { reason: 'unique-key', code: '409' };

/** Whether the one who stands there must go. */
async function adjudicate(
  { context, unit, identity, slot }: Placing,
  seen: Found,
  taken: SourceIdentity[],
): Promise<Failing | undefined> {
  if (seen.identity.hash.equals(identity.hash)) return undefined;
  if (seen.foreign || !isCopyOfOurs(context, seen.identity, slot))
    return { reason: 'foreign-document', code: 'foreign' };
  if (await stillMaps(context, seen.identity, slot)) return { reason: 'collision', code: 'slot-taken' };
  await unit.begin([{ kind: 'takeover', identity: seen.identity, slot }]);
  context.points.reach('takeover-intended');
  taken.push(seen.identity);
  return undefined;
}

/**
 * Whether we have written it: the ledger knows every copy once it is indexed. Until then a document that names no
 * source key at all is taken for a stranger.
 */
function isCopyOfOurs({ pending, ledger }: RunContext, other: SourceIdentity, slot: Slot): boolean {
  const row = pending.rowOf(other.hash, null);
  if (row !== null) return row.slot !== null && row.slot.equals(slot.hash);
  const isIndexed = ledger.leases.live().every(({ indexId }) => ledger.isIndexed(indexId));
  return !isIndexed && other.name.slice(1).some((level) => level !== null);
}

/** Does the source still put `other` here? */
async function stillMaps({ source }: RunContext, other: SourceIdentity, slot: Slot): Promise<boolean> {
  const version = await source.read(other);
  if (version === 'gone') return false;
  // Nobody can tell: it stays.
  if (version.refusal?.reason === 'bad-id') return true;
  return version.slot !== null && version.slot.hash.equals(slot.hash);
}

/** The ledger must not say that somebody is in a slot that another has taken. */
function revoke({ context, unit, slot }: Placing, from: SourceIdentity): void {
  const row = context.pending.rowOf(from.hash, null);
  if (row === null) unit.override(from.hash, slot.hash);
  else if (row.slot?.equals(slot.hash) === true) {
    const state = row.state === 'live' ? 'tombstone' : row.state;
    unit.row({ ...row, state, slot: null, targetKey: null, etag: null });
  }
}

export interface Removal {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly identity: SourceIdentity;
  readonly slot: Slot;
}

/** Deletes our copy from a slot, and nobody else's; whether there was one. */
export async function removeIfOurs({ context, unit, identity, slot }: Removal): Promise<boolean> {
  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'remove', identity, slot }]);
  const { end, held } = await withdraw(context, identity, slot);
  if (end === 'not ours') return false;
  if (end === 'removed') context.points.reach('removed');
  context.promoter.free({ slot, emptied: true, given: end === 'removed' ? givenUp(held) : null });
  return end === 'removed';
}

export interface Withdrawn {
  readonly end: 'removed' | 'empty' | 'not ours';
  /** What was held by all that was to be removed. */
  readonly held: readonly Held[];
}

/** Deletes our copy, which somebody has claimed; of a reply that was lost, not ours any more counts as removed. */
export async function withdraw(
  { slots }: Pick<RunContext, 'slots'>,
  identity: SourceIdentity,
  slot: Slot,
): Promise<Withdrawn> {
  const id = idOf(identity);
  const held: Held[] = [];
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const seen = await slots.read(slot, id);
    if (seen === null || !seen.identity.hash.equals(identity.hash)) {
      if (tries > 0) return { end: 'removed', held };
      return { end: seen === null ? 'empty' : 'not ours', held };
    }
    held.push(seen.held);
    const removed = await slots.remove(slot, seen);
    if (removed === 'ok') return { end: 'removed', held };
    if (typeof removed === 'object') throw undeletable(removed);
  }
  throw restless();
}

function restless(): ServiceError {
  return new ServiceError('a document of the target changes faster than it can be written', {
    why: `${TRIES_MAX} tries, and each found another version`,
    hint: 'see who else writes into the target, then run the command again',
  });
}

function undeletable({ code }: Refusing): ServiceError {
  return new ServiceError('the target does not delete a document', {
    why: `it was asked to delete a copy of ours, and answered ${code}`,
    hint: 'see whether a trigger or a policy of the target refuses deletes, then run the command again',
  });
}
