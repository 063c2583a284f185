import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/lib/random.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import {
  beginLease,
  buildIndex,
  hashOf,
  intendPage,
  newLease,
  openLedger,
  rowOf,
  SMALL,
  temporaryFolder,
} from '../making.ts';

/** Runs all steps of the count, and returns how many there were. */
function count(
  ledger: Ledger,
  some: readonly Buffer[] = [],
): { readonly known: unknown; readonly steps: number } {
  const counting = ledger.known(some);
  for (let steps = 0; ; steps += 1) {
    const { done, value } = counting.next();
    if (done === true) return { known: value, steps };
  }
}

test('known documents: rows, overrides and entries of several indexes -> as many as look-ups find', () => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  const random = seededRandom(11);
  const leases = ledger.leases.begin([newLease({ max: '80' }), newLease({ rangeId: '1', min: '80' })]);
  const documents = leases.flatMap((lease, half) => {
    const own = Array.from({ length: 2000 }, (_, n) => ({
      identity: `d${half}-${n}`,
      slot: `s${half}-${n}`,
      landed: random.below(9) > 0,
    }));
    for (let at = 0; at < own.length; at += 1000)
      intendPage(ledger, { lease, documents: own.slice(at, at + 1000), position: `"${at}"` })();
    return own;
  });
  // Some are made void before the index is built, and others later.
  const override = (): void => {
    const overrides = documents
      .filter(() => random.below(20) === 0)
      .map(({ identity, slot }) => {
        const sequence = ledger.units.nextSequence();
        return { identity: hashOf(identity), slot: hashOf(slot), sequence };
      });
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, overrides }]);
  };
  override();
  expect(count(ledger).known).toBeNull();
  for (const { indexId } of leases) buildIndex(ledger, indexId, SMALL);
  override();
  const states = ['live', 'live', 'tombstone', 'quarantined', 'quarantined'] as const;
  const others = Array.from({ length: 500 }, (_, n) => ({ identity: `new${n}`, slot: `n${n}` }));
  const rows = [...documents, ...others].flatMap(({ identity, slot }) => {
    if (random.below(3) > 0) return [];
    const state = states[random.below(states.length)] ?? 'live';
    const hasCopy = state === 'live' || (state === 'quarantined' && random.below(2) === 0);
    return [rowOf(identity, hasCopy ? slot : null, { state })];
  });
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows }]);
  const expected = { source: 0, target: 0, live: [] as Buffer[] };
  const identities = [...documents, ...others]
    .map(({ identity }) => hashOf(identity))
    .toSorted((one, other) => one.compare(other));
  for (const identity of identities) {
    const row = ledger.lookup.find(identity, null);
    if (row === null || row.state === 'tombstone') continue;
    expected.source += 1;
    if (row.slot !== null) expected.target += 1;
    if (row.state === 'live') expected.live.push(identity);
  }
  expect(expected.source).toBeGreaterThan(expected.target);
  const { known, steps } = count(ledger, identities);
  expect(known).toEqual(expected);
  // The same documents span by span, without those that the caller knows.
  const isKnown = (identity: Buffer): boolean => (identity[1] ?? 0) < 240;
  const found = Array.from({ length: 4 }, (_, n) => {
    const [first, last] = [Buffer.alloc(16), Buffer.alloc(16, 0xff)];
    first[0] = n * 64;
    last[0] = n * 64 + 63;
    return ledger.liveIn({ first, last }, isKnown).toSorted((one, other) => one.compare(other));
  });
  expect(found.flat()).toEqual(expected.live.filter((identity) => !isKnown(identity)));
  expect(steps).toBeGreaterThan(2);
});

test('known documents: a count is abandoned -> the ledger can be written', () => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  const lease = beginLease(ledger);
  const documents = Array.from({ length: 1500 }, (_, n) => ({ identity: `d${n}`, slot: `s${n}` }));
  intendPage(ledger, { lease, documents, position: '"1"' })();
  buildIndex(ledger, lease.indexId);
  const rows = documents.map(({ identity, slot }) => rowOf(identity, slot));
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows }]);
  const counting = ledger.known();
  expect(counting.next()).toEqual({ done: false, value: undefined });
  counting.return(null);
  expect(count(ledger).known).toEqual({ source: 1500, target: 1500, live: [] });
});
