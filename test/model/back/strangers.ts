/**
 * Owns how the mover notices that another process has written the closed side. Everything there is either a copy that
 * the ledger knows by its etag, or a document that was left out, which is known as well. What is neither, and what is
 * missing, is a stranger's: the window is unsafe, and the mover stops.
 */
import type { Intent } from '../mover/ledger.ts';
import type { Process } from '../mover/process.ts';
import { READ, STEP, type Steps } from '../mover/task.ts';
import { readSlot } from '../mover/writes.ts';
import type { Reply } from '../network.ts';
import { PLACES, type Slot, type Source } from '../source.ts';
import type { Copy } from '../target.ts';
import { copyOf } from './container.ts';
import { readFeed } from '../feeds.ts';

/** The mover stops, and no later run continues. */
export function* alarm(process: Process, slot: Slot): Steps<never> {
  process.ledger.unsafe = slot;
  process.ledger.sync();
  process.world.stop();
  for (;;) yield { until: () => false };
}

/** Does the ledger know this document of the closed side, by its etag? */
export function isKnown(process: Process, slot: Slot, { owner, etag }: Copy): boolean {
  const { notOurs, spare } = process.ledger;
  if (notOurs.get(slot) === etag || spare.get(slot) === etag) return true;
  const row = owner === null ? undefined : process.rowOf(owner);
  return row?.slot === slot && row.copy === etag;
}

interface Exchange {
  readonly slot: Slot;
  readonly status: Reply['status'];
  /** What the slot held for all we knew. */
  readonly before: Copy | null;
  readonly seen: Copy | null;
}

/** Is what a refused or lost write has found in its slot a thing of ours? */
export function isExpected(process: Process, { slot, status, before, seen }: Exchange): boolean {
  if (!process.keepsEtags) return true;
  if (status === 'ambiguous' && seen?.etag === before?.etag) return true;
  // A create was refused, and perhaps its reply was lost: the slot belongs to another document that the ledger knows.
  if (process.lacks('refused-create-is-a-stranger') && status === 'ambiguous') return false;
  const isRefusedCreate = before === null && (status === 'ambiguous' || status === 'conflict');
  return isRefusedCreate && (seen === null || isKnown(process, slot, seen));
}

/**
 * Is what settling finds in a slot there by a row, or by a write that has no commit? Such are those of the process
 * before, and what settling itself has removed for another document.
 */
export function isExplained(process: Process, { slot, seen, own }: Found): boolean {
  if (!process.keepsEtags || process.lacks('settling-trusts-the-identity')) return true;
  const claims = process.ledger.intents
    .filter((intent) => intent !== own || !process.lacks('own-removals-forgotten'))
    .flatMap((intent) => intent.claims.filter((claim) => claim.slot === slot));
  if (seen === null) return claims.some(({ body }) => body === null) || !process.slots().includes(slot);
  const isClaimed = claims.some(({ id, body }) => id === seen.owner && body === seen.content);
  return isKnown(process, slot, seen) || (isClaimed && !process.lacks('claims-without-bytes'));
}

interface Found {
  readonly slot: Slot;
  readonly seen: Copy | null;
  /** The intent of settling itself. */
  readonly own: Intent;
}

/** Has the feed of the closed side been read to its end? */
export function isSearched({ ledger, world }: Process): boolean {
  const { before } = world;
  return before === null || ledger.watched.every((lsn, place) => before.closed.rangeAt(place).lsn <= lsn);
}

/**
 * A document of the closed side that is gone although the ledger knows it: the feed shows no deletes. Every document
 * that is there was found to be known, so that the number of rows says whether one is missing.
 */
export function strangeSlot(process: Process): Slot | null {
  if (!process.keepsEtags || process.lacks('closed-side-not-counted')) return null;
  const { now } = process.world.target;
  const leftOut = process.lacks('left-out-not-counted') ? [] : process.ledger.notOurs.keys();
  const slots = [...process.slots(), ...leftOut];
  // Two rows that name one slot: a stranger had emptied it before the second document came there.
  return slots.find((slot, at) => !now.has(slot) || slots.indexOf(slot) !== at) ?? null;
}

/** Only for the mutation: the position is stored in a transaction of its own. */
function* saveWatch({ ledger }: Process, place: number, end: number): Steps {
  ledger.watched[place] = end;
  ledger.sync();
  yield STEP;
}

/** Reads the feed of the closed side for as long as the process lives. */
export function* watchClosedSide(process: Process, closed: Source): Steps {
  const { ledger } = process;
  const behind = (): number[] =>
    Array.from({ length: PLACES }, (_, place) => place).filter(
      (place) => closed.rangeAt(place).lsn > (ledger.watched[place] ?? 0),
    );
  for (;;) {
    yield { until: () => behind().length > 0 };
    for (const place of behind()) {
      const position = ledger.watched[place] ?? 0;
      const replica = closed.replica(place, position, yield READ);
      const page = readFeed(closed, { feed: 'LV', min: place, max: place + 1, position, replica });
      if (typeof page === 'string') throw new Error(`the latest-version feed says ${page}`);
      for (const { id: slot, version } of page.changes) {
        if (version === null) continue;
        const held = new Set([slot]);
        yield { until: () => process.locks.areFree(held) };
        if (isKnown(process, slot, copyOf(slot, version))) continue;
        if (process.lacks('closed-side-not-watched')) continue;
        // What the feed showed may be an older write of ours. What is read now is at least as new as the page.
        process.locks.take(held);
        if (!process.lacks('watch-reads-behind-its-page')) process.sawTarget(version.etag);
        const seen = yield* readSlot(process, slot);
        if (seen !== null && !isKnown(process, slot, seen)) {
          if (process.lacks('flag-after-the-watch')) yield* saveWatch(process, place, page.end);
          yield* alarm(process, slot);
        }
        process.locks.release(held);
      }
      ledger.watched[place] = page.end;
    }
  }
}
