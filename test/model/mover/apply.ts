/**
 * Owns the apply rule of docs/internals/apply-rule.md, under the locks of the identity and of every slot it touches:
 *
 *   event -> locks -> replay?            -> dropped, and the row's LSN raised
 *                  -> equal/older LSN?   -> point read of the source; its answer takes the event's place
 *                  -> deleted            -> our copy removed, tombstone
 *                  -> maps to a slot     -> placed there, then the old slot emptied, then the row
 *                  -> cannot be written  -> letter; the old slot emptied unless it is still the right one
 */
import { hasNoKey, slotOf, type Slot, type Version } from '../source.ts';
import type { Event } from './event.ts';
import type { Reason, Row } from './ledger.ts';
import type { Page } from './page.ts';
import { put, removeIfOurs, type Placing } from './place.ts';
import type { Process } from './process.ts';
import { READ, type Steps } from './task.ts';

export function* apply(process: Process, page: Page, event: Event): Steps {
  const { id } = event;
  let hint = event.version === null ? null : slotOf(id, event.version);
  let asks = event.kind === 'read';
  process.queued.push(event);
  for (;;) {
    const wanted = (): Set<string> => namesOf(id, hint, process.rowOf(id)?.slot);
    const locking = !process.lacks('two-operations-in-flight');
    yield { until: () => !locking || process.locks.areFree(wanted()) };
    const held = wanted();
    if (locking) process.locks.take(held);
    process.queued = process.queued.filter((one) => one !== event);
    const row = process.rowOf(id);
    const verdict = isSuperseded(process, event) ? 'old' : asks ? 'ask' : judge(process, event, row);
    if (verdict === 'replay') raise(process, page, event, row);
    let version = event.kind === 'delete' ? null : event.version;
    if (verdict === 'ask') {
      version = process.readSource(id, yield READ);
      const slot = version === null ? null : slotOf(id, version);
      if (slot !== null && !held.has(slot)) {
        hint = slot;
        asks = true;
        process.locks.release(held);
        continue;
      }
    }
    if (verdict === 'ask' || verdict === 'new') {
      const subject = { process, page, event, row };
      yield* version === null ? remove(subject) : place(subject, version);
    }
    process.locks.release(held);
    return;
  }
}

interface Subject {
  readonly process: Process;
  readonly page: Page;
  readonly event: Event;
  readonly row: Row | undefined;
}

function namesOf(...names: readonly (string | null | undefined)[]): Set<string> {
  return new Set(names.filter((name) => typeof name === 'string'));
}

/** A hot document: a later event of the same feed waits already, and its page cannot commit before ours. */
function isSuperseded(process: Process, { id, feed, lsn, follows }: Event): boolean {
  if (!process.world.scenario.coalesces || lsn === null) return false;
  if (!follows && !process.lacks('oldest-event-skipped')) return false;
  return process.queued.some((one) => one.id === id && one.feed === feed && (one.lsn ?? 0) > lsn);
}

/** Rule 1. */
function judge(process: Process, event: Event, row: Row | undefined): 'replay' | 'ask' | 'new' | 'old' {
  if (row === undefined) return 'new';
  if (event.version !== null && row.etag === event.version.etag) return 'replay';
  const comparable = row.lsn !== null && event.lsn !== null && row.feed === event.feed;
  if (!comparable || (event.lsn ?? 0) > (row.lsn ?? 0)) return 'new';
  if (process.lacks('order-by-guess')) return event.lsn === row.lsn ? 'new' : 'old';
  return 'ask';
}

function raise(process: Process, page: Page, event: Event, row: Row | undefined): void {
  if (row === undefined || process.lacks('replay-does-not-raise-lsn')) return;
  page.row(event.id, { ...row, ...orderOf(event, row) });
}

/** The row's place in the order of its feed: never lower than what it was. */
function orderOf(event: Event, row: Row | undefined): Pick<Row, 'feed' | 'lsn'> {
  if (event.lsn === null) return { feed: row?.feed ?? event.feed, lsn: row?.lsn ?? null };
  const lsn = row?.feed === event.feed ? Math.max(row.lsn ?? 0, event.lsn) : event.lsn;
  return { feed: event.feed, lsn };
}

/** Rule 4. */
function* remove({ process, page, event, row }: Subject): Steps {
  const { id } = event;
  if (row?.slot !== undefined && row.slot !== null)
    yield* removeIfOurs({ process, page, id, slot: row.slot, copy: row.copy, moving: false });
  page.row(id, { state: 'tombstone', slot: null, etag: null, copy: null, ...orderOf(event, row) });
  page.letter(id, null);
}

/** Rules 2, 3 and 6. */
function* place(subject: Subject, version: Version): Steps {
  const { process, page, event, row } = subject;
  const { id } = event;
  const isForced = hasNoKey(id) && process.lacks('goes-back-without-a-key');
  const slot = isForced ? version.key + id.slice(1) : slotOf(id, version);
  if (slot === null) return yield* quarantine(subject, { version, slot, reason: 'invalid-key' });
  if (version.big) return yield* quarantine(subject, { version, slot, reason: 'too-large' });
  const placing: Placing = { process, page, id, slot, version, row, lsn: event.lsn };
  const old = row?.slot ?? null;
  const moves = old !== null && old !== slot;
  if (moves && process.lacks('old-slot-deleted-first'))
    yield* removeIfOurs({ process, page, id, slot: old, copy: row?.copy ?? null, moving: true });
  let result = yield* put(placing);
  if (result === 'unique-key' && !process.lacks('unique-letter-tried-once')) {
    // The holder of the value may have left since the refusal, before our letter could be promoted.
    yield* quarantine(subject, { version, slot, reason: result });
    result = yield* put({ ...placing, row: process.rowOf(id) });
  }
  if (typeof result === 'string') return yield* quarantine(subject, { version, slot, reason: result });
  if (moves) yield* removeIfOurs({ process, page, id, slot: old, copy: row?.copy ?? null, moving: true });
  const { etag } = version;
  const order = orderOf(event, row);
  page.live(
    { id, slot, etag, body: version.body, lsn: event.lsn },
    { state: 'live', slot, etag, copy: result, ...order },
  );
  if (!process.lacks('letters-not-closed') || process.letterOf(id) === undefined) page.letter(id, null);
}

interface Refusal {
  readonly version: Version;
  readonly slot: Slot | null;
  readonly reason: Reason;
}

/** Rule 6: the letter is known before the locks are released, so that the next document that leaves sees it. */
function* quarantine({ process, page, event, row }: Subject, refusal: Refusal): Steps {
  const { id } = event;
  const { version, slot, reason } = refusal;
  const old = row?.slot ?? null;
  const unmapped = old !== slot && !process.lacks('stale-stays-where-unmapped');
  const harmful = process.world.scenario.uniqueKeys && !process.lacks('stale-keeps-unique-value');
  const leaves = old !== null && (unmapped || harmful);
  if (leaves) yield* removeIfOurs({ process, page, id, slot: old, copy: row?.copy ?? null, moving: false });
  const kept = leaves ? null : old;
  const copy = leaves ? null : (row?.copy ?? null);
  page.row(id, { state: 'quarantined', slot: kept, etag: version.etag, copy, ...orderOf(event, row) });
  const order = process.letterOf(id)?.order ?? process.world.nextOrder();
  page.letter(id, { id, slot, reason, order });
}
