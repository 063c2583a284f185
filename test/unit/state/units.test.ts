import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { IntentGroup } from '../../../src/state/intent-group.ts';
import type { Ledger } from '../../../src/state/ledger.ts';
import type { Claim } from '../../../src/state/unit-records.ts';
import {
  beginLease,
  buildIndex,
  crashCopy,
  hashOf,
  intendPage,
  openLedger,
  rowOf,
  temporaryFolder,
} from './making.ts';
import { drawn } from '../../helpers/generated.ts';

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

function claimOf(kind: Claim['kind'], identity: string, slot: string): Claim {
  const name = [`"${identity}"`, '"source"'];
  return {
    kind,
    identity: hashOf(identity),
    slot: hashOf(slot),
    targetKey: [slot],
    name,
  };
}

const DOCUMENTS = [
  { identity: 'a', slot: 'p' },
  { identity: 'b', slot: 'q', landed: false },
];

describe('intent', () => {
  test('crash before the commit -> the intent and its names are there', () => {
    const path = somePath();
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    const commit = intendPage(ledger, { lease, documents: DOCUMENTS, position: '"9"' });
    using crashed = openLedger(crashCopy(path));
    expect(crashed.units.unsettled()).toEqual([1]);
    const { claims, lease: number, feed } = crashed.units.readIntent(1, 1);
    expect({ number, feed }).toEqual({ number: lease.number, feed: 'LV' });
    const name = ['"id"', '"pk"'];
    expect(claims).toMatchObject([
      { unit: 1, number: 1, kind: 'write', identity: hashOf('a'), slot: hashOf('p'), name },
      { unit: 1, number: 2, kind: 'write', identity: hashOf('b'), slot: hashOf('q'), name },
    ]);
    // Read a second time, from the claims that the segments have become.
    expect(crashed.units.readIntent(1, 1).claims).toEqual(claims);
    expect(crashed.leases.get(lease.number).lvPosition).toBeNull();
    expect(crashed.units.nextUnit()).toBe(2);

    commit();
    using after = openLedger(crashCopy(path));
    expect(after.units.unsettled()).toEqual([]);
    expect(after.leases.get(lease.number).lvPosition).toBe('"9"');
  });

  test('later claims of the same unit -> added', () => {
    using ledger = openLedger(somePath());
    const unit = ledger.units.nextUnit();
    const [write, remove, takeover] = [
      claimOf('write', 'a', 'p'),
      claimOf('remove', 'a', 'q'),
      claimOf('takeover', 'b', 'p'),
    ];
    ledger.units.intend([{ unit, lease: null, feed: 'AVAD', claims: [write] }]);
    ledger.units.intend([{ unit, lease: null, feed: 'AVAD', claims: [remove, takeover] }]);
    expect(ledger.units.readIntent(unit, 1)).toEqual({
      unit,
      lease: null,
      feed: 'AVAD',
      claims: [write, remove, takeover].map((claim, at) => ({ ...claim, unit, number: at + 1 })),
    });
    ledger.units.commit([{ unit, move: null }]);
    expect(ledger.units.unsettled()).toEqual([]);
  });

  test('session tokens -> stored for later runs', () => {
    const path = somePath();
    using ledger = openLedger(path);
    const tokens = [
      { rangeId: '0', token: '0:-1#5' },
      { rangeId: '1', token: '1:-1#8' },
    ];
    ledger.units.intend([], { tokens });
    ledger.units.intend([], { tokens: [{ rangeId: '0', token: '0:-1#6' }] });
    using crashed = openLedger(crashCopy(path));
    expect(crashed.tokens.all()).toEqual([{ rangeId: '0', token: '0:-1#6' }, tokens[1]]);
  });

  test('several in one turn of the event loop -> one sync', async () => {
    using ledger = openLedger(somePath());
    let flushes = 0;
    const group = new IntentGroup(ledger.units, {
      newTokens: () => {
        flushes += 1;
        return [];
      },
    });
    const intents = [1, 2, 3].map((unit) => ({ unit, lease: null, feed: 'LV' as const }));
    await Promise.all(intents.map((intent) => group.add(intent)));
    expect(flushes).toBe(1);
    expect(ledger.units.unsettled()).toEqual([1, 2, 3]);
    const lost = group.add({ unit: 4, lease: 99, feed: 'LV' });
    await expect(lost).rejects.toThrow(/FOREIGN KEY/);
    await group.add({ unit: 5, lease: null, feed: 'LV' });
  });
});

describe('commit', () => {
  test('an older page of the lease is open -> refused', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    const first = intendPage(ledger, { lease, documents: DOCUMENTS, position: '"1"' });
    const second = intendPage(ledger, { lease, documents: DOCUMENTS, position: '"2"' });
    expect(second).toThrow(/all older pages/);
    expect(ledger.units.unsettled()).toEqual([1, 2]);
    first();
    expect(ledger.leases.get(lease.number).lvPosition).toBe('"1"');
    second();
    expect(ledger.leases.get(lease.number).lvPosition).toBe('"2"');
  });

  test('an empty page, an older one is open -> refused', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    const first = intendPage(ledger, { lease, documents: DOCUMENTS, position: '"1"' });
    const unit = ledger.units.nextUnit();
    const move = { lease: lease.number, feed: 'AVAD' as const, position: '"2"', documents: 3 };
    expect(() => ledger.units.commit([{ unit, move }])).toThrow(/all older pages/);
    first();
    ledger.units.commit([{ unit, move }]);
    expect(ledger.leases.get(lease.number)).toMatchObject({
      lvPosition: '"1"',
      avadPosition: '"2"',
      documents: 3,
    });
  });

  test('an empty position or a missing outcome -> refused', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    expect(intendPage(ledger, { lease, documents: DOCUMENTS, position: '' })).toThrow(/never empty/);
    const [unit] = ledger.units.unsettled();
    const move = { lease: lease.number, feed: 'LV' as const, position: '"1"' };
    expect(() => ledger.units.commit([{ unit: unit ?? 0, move, outcomes: [1] }])).toThrow(/has an outcome/);
    expect(ledger.leases.get(lease.number).lvPosition).toBeNull();
    expect(ledger.counters.all()).toEqual({});
  });

  test('several units, one fails -> none is committed', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    const good = { unit: ledger.units.nextUnit(), move: null, rows: [rowOf('a', 'p')] };
    const bad = { unit: ledger.units.nextUnit(), move: { lease: 77, feed: 'LV' as const, position: '"1"' } };
    expect(() => ledger.units.commit([good, bad], { counters: { read: 1 } })).toThrow(/lease 77/);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)).toBeNull();
    ledger.units.commit([good], { counters: { read: 2, moved: 0 } });
    ledger.units.commit([], { counters: { read: -1 } });
    expect(ledger.lookup.find(hashOf('a'), null)).toEqual(rowOf('a', 'p'));
    expect(ledger.counters.all()).toEqual({ read: 1 });
  });

  test('a later run -> outcome numbers continue', () => {
    const path = somePath();
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    const outcomes = intendPage(ledger, { lease, documents: DOCUMENTS, position: '"1"' })();
    using crashed = openLedger(crashCopy(path));
    expect(crashed.units.nextSequence()).toBeGreaterThan(Math.max(...outcomes));
  });
});

describe('power cut', () => {
  test('at any time -> a prefix of the commits: positions and outcomes agree', () => {
    const units = 20;
    const path = somePath();
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    for (let n = 1; n <= units; n += 1) {
      const unit = ledger.units.nextUnit();
      ledger.units.intend([
        { unit, lease: lease.number, feed: 'AVAD', claims: [claimOf('write', `d${n}`, 'p')] },
      ]);
      const move = { lease: lease.number, feed: 'AVAD' as const, position: `"${100 + n}"` };
      ledger.units.commit([{ unit, move, rows: [rowOf(`d${n}`, 'p')] }], { counters: { read: 1 } });
    }
    const seen = new Set<number>();
    const sizeBytes = statSync(`${path}-wal`).size;
    const cuts = Array.from({ length: Math.ceil(sizeBytes / 9001) }, (_, n) => sizeBytes - n * 9001);
    for (const cut of drawn(cuts)) {
      const copy = crashCopy(path);
      truncateSync(`${copy}-wal`, cut);
      using left = openLedger(copy);
      const done = Number(left.leases.live()[0]?.avadPosition?.slice(1, -1) ?? '100') - 100;
      seen.add(done);
      const committed = Math.max(done, 0);
      expect(left.counters.all()['read'] ?? 0).toBe(committed);
      for (let n = 1; n <= units; n += 1)
        expect(left.lookup.find(hashOf(`d${n}`), null)).toEqual(n <= committed ? rowOf(`d${n}`, 'p') : null);
      for (const unit of left.units.unsettled()) expect(unit).toBe(committed + 1);
    }
    expect(seen.size).toBeGreaterThan(10);
  });
});

describe('settling', () => {
  function settle(ledger: Ledger): void {
    const sequence = ledger.units.nextSequence();
    const overrides = [{ identity: hashOf('a'), slot: hashOf('p'), sequence }];
    ledger.units.settle({ units: ledger.units.unsettled(), rows: [rowOf('c', null)], overrides });
  }

  test('a resume -> keeps what was found in the target, nothing else', () => {
    const path = somePath();
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    const documents = [{ identity: 'a', slot: 'p' }];
    intendPage(ledger, { lease, documents, position: '"1"' })();
    intendPage(ledger, { lease, documents: DOCUMENTS, position: '"2"' });
    using crashed = openLedger(crashCopy(path));
    settle(crashed);
    expect(crashed.units.unsettled()).toEqual([]);
    buildIndex(crashed, lease.indexId);
    const slots = ['a', 'b', 'c'].map((one) => crashed.lookup.find(hashOf(one), lease.indexId));
    // a was copied, and settling found its copy gone.
    expect(slots).toEqual([null, null, rowOf('c', null)]);
  });

  test('a write after it -> visible', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    const documents = [{ identity: 'a', slot: 'p' }];
    intendPage(ledger, { lease, documents, position: '"1"' });
    settle(ledger);
    intendPage(ledger, { lease, documents, position: '"1"' })();
    buildIndex(ledger, lease.indexId);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)?.slot).toEqual(hashOf('p'));
  });

  test('override -> voids earlier writes, and no later one', () => {
    using ledger = openLedger(somePath());
    const lease = beginLease(ledger);
    const commit = intendPage(ledger, { lease, documents: [{ identity: 'a', slot: 'p' }], position: '"1"' });
    const override = { identity: hashOf('a'), slot: hashOf('p'), sequence: ledger.units.nextSequence() };
    commit();
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, overrides: [override] }]);
    buildIndex(ledger, lease.indexId);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)?.slot).toEqual(hashOf('p'));
    const sequence = ledger.units.nextSequence();
    ledger.units.commit([
      { unit: ledger.units.nextUnit(), move: null, overrides: [{ ...override, sequence }] },
    ]);
    expect(ledger.lookup.find(hashOf('a'), lease.indexId)).toBeNull();
  });
});
