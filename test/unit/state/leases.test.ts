import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NotReadyError } from '../../../src/lib/errors.ts';
import {
  beginLease,
  buildIndex,
  hashOf,
  intendPage,
  newLease,
  openLedger,
  temporaryFolder,
} from './making.ts';

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

const LEFT = newLease({ rangeId: '1', min: '', max: '7F' });
const RIGHT = newLease({ rangeId: '2', min: '7F', max: 'FF' });

describe('leases', () => {
  test('pages that miss something -> counted with their commit, until a comparison', () => {
    using ledger = openLedger(somePath());
    const [{ number } = { number: 0 }] = ledger.leases.begin([{ ...LEFT, max: 'FF', avadPosition: '"1"' }]);
    const commit = (position: string, misses: boolean): void => {
      const unit = ledger.units.nextUnit();
      const move = { lease: number, feed: 'AVAD', position, misses } as const;
      ledger.units.commit([{ unit, move }]);
    };
    commit('"2"', true);
    commit('"3"', false);
    commit('"4"', true);
    expect(ledger.leases.get(number)).toMatchObject({ sweepPending: true, misses: 2, avadPosition: '"4"' });
    expect(ledger.leases.change(number, { phase: 'recopy' })).toMatchObject({ misses: 2 });
    // The feed has forgotten changes, perhaps while a comparison runs that began before.
    expect(ledger.leases.change(number, { sweepPending: true })).toMatchObject({ misses: 3 });
    expect(ledger.leases.change(number, { sweepPending: false })).toMatchObject({ misses: 0 });
  });

  test('begin -> stored unchanged, each with its own index', () => {
    const path = somePath();
    const ledger = openLedger(path);
    const begun = ledger.leases.begin([
      LEFT,
      { ...RIGHT, anchor: null, restartPosition: null, sweepPending: true },
    ]);
    expect(begun).toEqual([
      { ...LEFT, number: 1, indexId: 1, documents: 0, misses: 0 },
      {
        ...RIGHT,
        anchor: null,
        restartPosition: null,
        sweepPending: true,
        number: 2,
        indexId: 2,
        documents: 0,
        misses: 1,
      },
    ]);
    ledger.close();
    using reopened = openLedger(path);
    expect(reopened.leases.live()).toEqual(begun);
    expect(() => reopened.leases.begin([LEFT, RIGHT])).toThrow(/anchored once/);
  });

  test.each([
    ['a gap', [LEFT, { ...RIGHT, min: '80' }]],
    ['an overlap', [LEFT, { ...RIGHT, min: '70' }]],
    ['no end', [LEFT]],
    ['no beginning', [RIGHT]],
  ])('begin with %s -> refused, nothing is stored', (_what, leases) => {
    using ledger = openLedger(somePath());
    expect(() => ledger.leases.begin(leases)).toThrow(NotReadyError);
    expect(ledger.leases.all()).toEqual([]);
  });

  test('change -> phase, anchor and pending sweep are stored', () => {
    using ledger = openLedger(somePath());
    const { number } = beginLease(ledger);
    const anchor = { etag: '"40"', lsn: 40, session: '0:-1#40' };
    ledger.leases.change(number, { phase: 'recopy', anchor, lvPosition: '"4"', sweepPending: true });
    const change = { phase: 'recopy', anchor, lvPosition: '"4"', sweepPending: true, avadPosition: '"5"' };
    expect(ledger.leases.get(number)).toMatchObject(change);
    expect(() => ledger.leases.change(number, { lvPosition: '' })).toThrow(/CHECK/);
    expect(ledger.leases.get(number)).toMatchObject(change);
  });

  test('split: pages of the parent are open -> refused; later -> children share its index', () => {
    using ledger = openLedger(somePath());
    const parent = beginLease(ledger);
    const documents = [{ identity: 'a', slot: 'p' }];
    const commit = intendPage(ledger, { lease: parent, documents, position: '"8"' });
    const split = (): unknown => ledger.leases.replace([parent.number], [LEFT, RIGHT]);
    expect(split).toThrow(/all pages of their parent/);
    commit();
    split();
    expect(split).toThrow(/replaced once/);
    const live = ledger.leases.live();
    expect(live.map(({ indexId, parents, max }) => ({ indexId, parents, max }))).toEqual([
      { indexId: parent.indexId, parents: [parent.number], max: '7F' },
      { indexId: parent.indexId, parents: [parent.number], max: 'FF' },
    ]);
    const move = { lease: parent.number, feed: 'LV' as const, position: '"9"' };
    expect(() => ledger.units.commit([{ unit: 9, move }])).toThrow(/is being read/);
    buildIndex(ledger, parent.indexId);
    expect(ledger.lookup.find(hashOf('a'), parent.indexId)?.slot).toEqual(hashOf('p'));
  });

  test('split: the children leave a gap -> refused, the parent stays', () => {
    using ledger = openLedger(somePath());
    const parent = beginLease(ledger);
    expect(() => ledger.leases.replace([parent.number], [LEFT])).toThrow(NotReadyError);
    expect(ledger.leases.live()).toEqual([parent]);
  });

  test('merge -> one index of two, which is built from scratch', () => {
    using ledger = openLedger(somePath());
    const [left, right] = ledger.leases.begin([LEFT, RIGHT]);
    if (left === undefined || right === undefined) throw new Error('two leases were begun');
    intendPage(ledger, { lease: left, documents: [{ identity: 'a', slot: 'p' }], position: '"1"' })();
    intendPage(ledger, { lease: right, documents: [{ identity: 'b', slot: 'q' }], position: '"1"' })();
    buildIndex(ledger, right.indexId);
    const [merged] = ledger.leases.replace([left.number, right.number], [newLease({ rangeId: '3' })]);
    expect(merged).toMatchObject({ indexId: left.indexId, parents: [left.number, right.number] });
    expect([left.indexId, right.indexId].map((indexId) => ledger.isIndexed(indexId))).toEqual([false, false]);
    buildIndex(ledger, left.indexId);
    const stale = { ...left, number: merged?.number ?? 0, indexId: right.indexId };
    expect(() => intendPage(ledger, { lease: stale, documents: [], position: '"2"' })).toThrow(
      /index that its lease has now/,
    );
    const slots = ['a', 'b'].map((one) => ledger.lookup.find(hashOf(one), left.indexId)?.slot);
    expect(slots).toEqual([hashOf('p'), hashOf('q')]);
  });
});
