/** The map of a target that others have filled: what is stored, and which of several slots of a document is kept. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { MAP_INDEX } from '../../../../src/state/segments/map-store.ts';
import { etagToBytes } from '../../../../src/state/segments/etag-hash.ts';
import { SegmentBuilder } from '../../../../src/state/segments/segment.ts';
import {
  beginLease,
  buildIndex,
  crashCopy,
  entryOf,
  hashOf,
  intendPage,
  openLedger,
  rowOf,
  SMALL,
  temporaryFolder,
} from '../making.ts';

const PART = { rangeId: '0', fenceLsn: 9, isDone: false, documents: 3, countedWith: null };

/** Stores documents, each with the slot that it is in. */
function mapPage(ledger: Ledger, documents: ReadonlyArray<readonly [identity: string, slot: string]>): void {
  const builder = new SegmentBuilder();
  for (const [identity, slot] of documents) {
    builder.add({ ...entryOf(identity, slot, { lsn: 0 }), etag: null });
    builder.content(Uint32Array.from([7, 8, 9, 10]));
  }
  const parts = [{ ...PART, min: '', max: 'FF', position: '"5"' }];
  ledger.map.checkpoint({
    hasCopyEtags: false,
    parts,
    segments: builder.finish(),
    mapped: documents.length,
    strangers: 1,
    owning: 0,
  });
}

describe('the map', () => {
  test('a turn: properties of their own -> found for good, whatever is written later', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    beginLease(ledger);
    const map = (documents: ReadonlyArray<readonly [name: string, own: number]>): void => {
      const builder = new SegmentBuilder();
      for (const [name, own] of documents)
        builder.add({ ...entryOf(name, `s${name}`, { lsn: own }), etag: `e${name}` });
      ledger.map.checkpoint({
        hasCopyEtags: true,
        parts: [{ ...PART, min: '', max: 'FF', position: '"5"' }],
        segments: builder.finish(),
        mapped: documents.length,
        strangers: 0,
        owning: documents.filter(([, own]) => own !== 0).length,
      });
    };
    const most = 2 ** 31 - 1;
    map([['a', 0]]);
    expect(ledger.map.hasOwning()).toBe(false);
    map([
      ['b', 0],
      ['c', 1],
      ['d', most],
    ]);
    expect(ledger.map.hasOwning()).toBe(true);
    buildIndex(ledger, MAP_INDEX, SMALL);
    const row = ledger.lookup.find(hashOf('c'), null);
    expect(row).toMatchObject({ lsn: 0, etag: null, copyEtag: etagToBytes('ec') });
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows: [rowOf('c', null)] }]);
    const names = ['a', 'b', 'c', 'd', 'unknown'];
    expect(names.map((name) => ledger.lookup.ownProperties(hashOf(name)))).toEqual([0, 0, 1, most, 0]);
  });

  test('two pages -> parts, totals, and every document by the index of any lease', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    mapPage(ledger, [
      ['a', 'sa'],
      ['b', 'sb'],
    ]);
    mapPage(ledger, [['c', 'sc']]);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)).toBeNull();
    buildIndex(ledger, MAP_INDEX, SMALL);
    const found = ledger.lookup.find(hashOf('a'), lease.indexId);
    expect(found).toMatchObject({ state: 'live', slot: hashOf('sa'), lsn: 0, targetKey: ['sa'] });
    expect(found?.etag?.toString('hex')).toBe('0000000700000008');
    expect(ledger.lookup.find(hashOf('c'), null)?.slot).toEqual(hashOf('sc'));
    using copy = openLedger(crashCopy(path));
    expect(copy.map.totals()).toEqual({ mapped: 3, strangers: 2 });
    expect(copy.map.parts()).toEqual([{ ...PART, min: '', max: 'FF', position: '"5"' }]);
    copy.check();
  });

  test('the numbers of its outcomes -> are not given a second time after a crash', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    using ledger = openLedger(path);
    beginLease(ledger);
    mapPage(ledger, [['a', 'sa']]);
    using copy = openLedger(crashCopy(path));
    expect(copy.units.nextSequence()).toBe(2);
  });

  test('a document in thousands of slots -> one of them, and the others are left to a comparison', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    beginLease(ledger);
    mapPage(
      ledger,
      Array.from({ length: 2500 }, (_, n) => ['a', `s${n}`] as const),
    );
    mapPage(ledger, [['b', 'sb']]);
    buildIndex(ledger, MAP_INDEX, SMALL);
    const { slot } = ledger.lookup.find(hashOf('a'), null) ?? {};
    expect(slot).toEqual(hashOf('s2499'));
    expect(ledger.lookup.find(hashOf('b'), null)?.slot).toEqual(hashOf('sb'));
  });

  test('the copy creates what the map does not know -> both indexes are searched, and counted once', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    mapPage(ledger, [['a', 'sa']]);
    buildIndex(ledger, MAP_INDEX, SMALL);
    intendPage(ledger, { lease, documents: [{ identity: 'b', slot: 'sb' }], position: '"1"' })();
    buildIndex(ledger, lease.indexId, SMALL);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)?.slot).toEqual(hashOf('sa'));
    expect(ledger.lookup.find(hashOf('b'), lease.indexId)?.slot).toEqual(hashOf('sb'));
    const steps = ledger.known();
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect(step.value).toEqual({ source: 2, target: 2, live: [] });
  });
});
