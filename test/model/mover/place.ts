/**
 * Owns a slot changing hands. Each write is a create, or insists on the etag of a document whose
 * identity was rebuilt: ours is replaced, another's is adjudicated in the source (rule 5), a stranger's
 * is left alone.
 */
import { placeOf, slotOf, type Identity, type Key, type Slot, type Version } from '../source.ts';
import { alarm, isExpected } from '../back/strangers.ts';
import type { Copy, Write } from '../target.ts';
import type { Reason, Row } from './ledger.ts';
import type { Page } from './page.ts';
import type { Process } from './process.ts';
import { READ, type Steps } from './task.ts';
import { readSlot, send } from './writes.ts';

export interface Placing {
  readonly process: Process;
  readonly page: Page;
  readonly id: Identity;
  readonly slot: Slot;
  readonly version: Version;
  readonly row: Row | undefined;
  readonly lsn: number | null;
}

/**
 * Puts a version into its slot, and returns the etag of the copy. A copy of ours that is found there is replaced
 * without asking which is newer: whatever the source has beyond this version has an event of its own, and that one is
 * not done.
 */
export function* put(placing: Placing): Steps<number | Reason> {
  const { process, page, id, slot, version, row } = placing;
  const { etag, body } = version;
  if (!page.claims(id, slot, body) && !process.lacks('point-read-without-intent'))
    page.begin([{ id, slot, etag, body, lsn: placing.lsn }]);
  const taken = new Set<Identity>();
  const { unique, derived } = version;
  const own = ownIn(placing);
  const ours = { id, slot, content: body, unique, derived, own, key: keyIn(placing), moving: false };
  let seen: Copy | null = null;
  const ok = (copy: number | null): number => {
    for (const from of taken) revoke(placing, from);
    // What was replaced may have held a unique value that another document waits for.
    if (seen !== null) process.freed.push({ slot, emptied: false });
    return copy ?? 0;
  };
  if (row?.slot === slot)
    seen = process.keepsEtags ? recordedCopy(placing, row) : yield* readSlot(process, slot);
  if (process.lacks('unconditional-upsert')) {
    const reply = yield* send(process, { ...ours, kind: 'upsert', ifMatch: null });
    if (reply.status === 'ok') return ok(reply.etag);
  }
  for (;;) {
    let write: Write = { ...ours, kind: 'create', ifMatch: null };
    if (seen !== null) {
      if (seen.owner === null || process.ledger.notOurs.has(slot)) return 'foreign-document';
      if (seen.owner !== id && process.ledger.spare.get(slot) !== seen.etag) {
        if (yield* stillMaps(placing, seen.owner)) return 'collision';
        page.beginTakeover(slot, seen.owner);
        taken.add(seen.owner);
      }
      write = { ...ours, kind: 'replace', ifMatch: seen.etag };
    }
    const { status, etag: written } = yield* send(process, write);
    if (status === 'ok') return ok(written);
    const conflicting = seen !== null && status === 'conflict';
    if (conflicting) return 'unique-key';
    const before = seen;
    seen = yield* readSlot(process, slot);
    if (status === 'ambiguous' && seen?.owner === id && seen.content === body) return ok(seen.etag);
    if (status === 'conflict' && seen === null && process.world.scenario.uniqueKeys) return 'unique-key';
    if (!isExpected(process, { slot, status, before, seen })) yield* alarm(process, slot);
  }
}

/** The derived key is taken out again, unless the document itself names another one: then that has to go back as well. */
function keyIn({ process, id, version: { derived } }: Placing): Key {
  const isBack = process.world.turn % 2 === 1;
  return isBack && derived !== undefined && process.lacks('named-key-taken-out') ? derived : id.slice(0, 1);
}

/** The derived key is not taken out where the document had it before it was derived. */
function ownIn({ process, id }: Placing): true | undefined {
  const isBack = process.world.turn % 2 === 1;
  if (!isBack || process.lacks('own-key-taken-out')) return undefined;
  return process.ledger.own.has(id) ? true : undefined;
}

/** On the way back the etag is the one that the ledger has, never one that was read just now. */
function recordedCopy({ id, version }: Placing, row: Row): Copy {
  return { owner: id, content: version.body, unique: version.unique, etag: row.copy ?? 0 };
}

/** Rule 5: does the source still put `other` here? Asked with a token that covers all we know of its range. */
function* stillMaps({ process, slot }: Placing, other: Identity): Steps<boolean> {
  const floor = process.lacks('lagging-adjudication') ? 0 : (process.tokens[placeOf(other)] ?? 0);
  const version = process.readSourceFrom(other, floor, yield READ);
  return version !== null && slotOf(other, version) === slot;
}

/** The ledger must not say that a document is in a slot that another has taken. */
function revoke({ process, page, slot }: Placing, from: Identity): void {
  if (process.lacks('takeover-does-not-revoke')) return;
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

export interface Removal {
  readonly process: Process;
  readonly page: Page;
  readonly id: Identity;
  readonly slot: Slot;
  /** The etag of the copy, as the ledger has it. */
  readonly copy: number | null;
  readonly moving: boolean;
}

/** Deletes our copy from a slot, and no other document. */
export function* removeIfOurs(removal: Removal): Steps {
  const { process, page, id, slot, copy, moving } = removal;
  if (!page.claims(id, slot, null) && !process.lacks('removal-without-intent'))
    page.begin([{ id, slot, etag: null, body: null, lsn: null }]);
  if (process.keepsEtags) return yield* removeRecorded(removal, copy ?? 0);
  for (let sent = false; ; sent = true) {
    const seen = yield* readSlot(process, slot);
    const careless = process.lacks('delete-without-owner-check');
    if (seen === null || (seen.owner !== id && !careless)) {
      // The reply that was lost may have been the one to our delete: no longer ours counts as left.
      if (sent || seen === null) process.freed.push({ slot, emptied: true });
      return;
    }
    const ifMatch = careless ? null : seen.etag;
    const write = { kind: 'delete', id, slot, content: 0, unique: 0, ifMatch, moving } as const;
    const { status } = yield* send(process, write);
    if (status !== 'ok') continue;
    process.freed.push({ slot, emptied: true });
    return;
  }
}

/** The same on the way back: the copy that the ledger knows, and after a lost reply nothing at all, are expected. */
function* removeRecorded({ process, id, slot, moving }: Removal, copy: number): Steps {
  for (;;) {
    const write = { kind: 'delete', id, slot, content: 0, unique: 0, ifMatch: copy, moving } as const;
    const { status } = yield* send(process, write);
    const seen = status === 'ok' ? null : yield* readSlot(process, slot);
    if (status !== 'ok' && status !== 'ambiguous') yield* alarm(process, slot);
    if (seen !== null && seen.etag !== copy) yield* alarm(process, slot);
    if (seen !== null) continue;
    process.freed.push({ slot, emptied: true });
    return;
  }
}
