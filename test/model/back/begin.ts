/**
 * Owns the beginning of a turn: the map of the closed side, which says for each of its documents which identity it is
 * a copy of, and the positions from which the new source is read. Nothing is written but the ledger.
 */
import { readFeed } from '../feeds.ts';
import type { Row } from '../mover/ledger.ts';
import type { Process } from '../mover/process.ts';
import { READ, STEP, type Steps } from '../mover/task.ts';
import { PLACES, placeOf, type Identity, type Slot } from '../source.ts';
import type { Commit } from './commit.ts';
import { copyOf } from './container.ts';
import { endsOf } from './cutover.ts';
import { alarm } from './strangers.ts';

export function* beginTurn(process: Process, before: Commit): Steps {
  const { ledger, world } = process;
  if (before.begun && !process.lacks('begun-not-marked')) {
    world.refused = true;
    world.stop();
    yield { until: () => false };
  }
  if (world.scenario.ttl && process.lacks('ttl-paused-after-the-commit')) before.closed.pauseTtl(true);
  if (process.lacks('marked-before-the-map')) markTurn(before);
  if (process.lacks('map-not-durable')) keepPositions(process, before);
  const map: ClosedSide = { rows: new Map(), notOurs: new Map(), spare: new Map(), own: new Set() };
  for (let place = 0; place < PLACES; place += 1) yield* readPlace(process, before, { place, map });
  const isWhole = map.rows.size + map.notOurs.size + map.spare.size === before.count;
  if (!isWhole && !process.lacks('map-not-counted')) yield* alarm(process, 'one that is gone');
  yield STEP;
  ledger.index = map.rows;
  ledger.notOurs = map.notOurs;
  ledger.spare = map.spare;
  ledger.own = map.own;
  keepLetters(process, before);
  keepPositions(process, before);
}

/** The map is part of this transaction. */
function keepPositions(process: Process, { anchors, closed, ends }: Commit): void {
  const { ledger, world } = process;
  const late = process.lacks('anchors-after-the-commit');
  ledger.watched = process.lacks('ends-after-the-commit') ? endsOf(closed) : [...ends];
  ledger.leases = (late ? world.source.ranges : anchors).map(({ min, max, lsn }) => {
    process.sawPage(min, max, lsn);
    const positions = { lv: lsn, back: lsn, anchor: lsn, avad: lsn };
    return { min, max, phase: 'tail', ...positions, copied: lsn, renamed: false };
  });
  ledger.keepTokens(process.tokens);
  ledger.sync();
}

/** The new source was closed in the turn before, and is in use now. */
export function* restoreTtlAfter(process: Process, before: Commit): Steps {
  if (before.isTtlRestored || process.lacks('ttl-not-restored')) return;
  process.world.source.pauseTtl(false);
  yield STEP;
  before.isTtlRestored = true;
}

/** Before the first intent: a ledger that is lost from now on is not begun again. */
export function markTurn(before: Commit): void {
  before.begun = true;
}

/** Where a row of the new turn stands in the order of the feed: all events up to the anchor are done. */
function orders(process: Process, { anchors }: Commit): (id: Identity) => Pick<Row, 'feed' | 'lsn'> {
  const feed = process.world.scenario.deletes === 'avad' ? 'AVAD' : 'LV';
  return (id) => {
    const range = anchors.find(({ min, max }) => min <= placeOf(id) && placeOf(id) < max);
    // Without it an event beyond the anchor would look like the first of a renamed document.
    return { feed, lsn: process.lacks('mapped-row-without-lsn') ? null : (range?.lsn ?? null) };
  };
}

/** What was left out two turns ago is a document of the new source, without a copy: each is tried again. */
function keepLetters(process: Process, before: Commit): void {
  if (process.lacks('left-out-forgotten')) return;
  const { ledger, world } = process;
  const orderOf = orders(process, before);
  for (const id of before.ledger.notOurs.keys()) {
    ledger.index.set(id, { state: 'quarantined', slot: null, etag: null, copy: null, ...orderOf(id) });
    ledger.letters.set(id, { id, slot: null, reason: 'collision', order: world.nextOrder() });
  }
}

interface ClosedSide {
  readonly rows: Map<Identity, Row>;
  readonly notOurs: Map<Slot, number>;
  readonly spare: Map<Slot, number>;
  readonly own: Set<Identity>;
}

function* readPlace(
  process: Process,
  before: Commit,
  { place, map }: { place: number; map: ClosedSide },
): Steps {
  const { world } = process;
  const { ledger, closed, ends } = before;
  const end = ends[place] ?? 0;
  const orderOf = orders(process, before);
  const row = { state: 'live', etag: null } as const;
  for (let position = 0; position < end;) {
    const floor = world.scenario.feedKeepsToken ? end : position;
    const replica = closed.replica(place, floor, yield READ);
    const page = readFeed(closed, { feed: 'LV', min: place, max: place + 1, position, replica });
    if (typeof page === 'string') throw new Error(`the latest-version feed says ${page}`);
    if (page.token < end && !process.lacks('map-behind-the-end')) continue;
    for (const { id: slot, lsn, version } of page.changes) {
      if (version === null || lsn > end) continue;
      const { owner, etag } = copyOf(slot, version);
      // In the turn before, the slot was the identity.
      const known = ledger.rowOf(slot);
      const isWaived = known?.state === 'quarantined';
      const hasCopy = known?.slot === owner && !(isWaived && process.lacks('stale-copy-left-out'));
      const isLeftOut = (owner === null || (isWaived && !hasCopy)) && !process.lacks('left-out-is-a-spare');
      if (owner === null || isLeftOut) map.notOurs.set(slot, etag);
      else if (!hasCopy && process.lacks('spares-left-out')) map.notOurs.set(slot, etag);
      else if (!hasCopy) map.spare.set(slot, etag);
      else {
        map.rows.set(owner, { ...row, ...orderOf(owner), slot, copy: etag });
        if (version.own === true && !process.lacks('own-key-not-in-the-map')) map.own.add(owner);
      }
    }
    position = page.end;
  }
}
