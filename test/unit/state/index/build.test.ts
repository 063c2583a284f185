import * as fc from 'fast-check';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ledger } from '../../../../src/state/ledger.ts';
import type { Lease } from '../../../../src/state/leases.ts';
import {
  beginLease,
  buildIndex,
  crashCopy,
  hashOf,
  intendPage,
  openLedger,
  rowOf,
  SMALL,
  temporaryFolder,
} from '../making.ts';
import { drawing, draws } from '../../../helpers/generated.ts';

const DOCUMENTS = 2000;

/** A copy of many documents in pages, of which every seventh did not land. */
function copyMany(ledger: Ledger, lease: Lease, count = DOCUMENTS): void {
  for (let first = 0; first < count; first += 1000) {
    const documents = Array.from({ length: 1000 }, (_, i) => ({
      identity: `d${first + i}`,
      slot: `s${first + i}`,
      landed: (first + i) % 7 !== 0,
    }));
    intendPage(ledger, { lease, documents, position: `"${first}"` })();
  }
}

function expectFound(ledger: Ledger, indexId: number, count = DOCUMENTS): void {
  const wrong: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const slot = ledger.lookup.find(hashOf(`d${i}`), indexId)?.slot?.toString('hex');
    if (slot !== (i % 7 === 0 ? undefined : hashOf(`s${i}`).toString('hex'))) wrong.push(`d${i}`);
  }
  expect(wrong).toEqual([]);
  expect(ledger.lookup.find(hashOf('unknown'), null)).toBeNull();
}

describe('index', () => {
  test('runs of any size -> finds what was written, nothing else', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    copyMany(ledger, lease);
    expect(ledger.isIndexed(lease.indexId)).toBe(false);
    expect(ledger.lookup.find(hashOf('d1'), lease.indexId)).toBeNull();
    buildIndex(ledger, lease.indexId, { runEntries: 512, segmentsAStep: 3, blocksAStep: 2 });
    expect(ledger.isIndexed(lease.indexId)).toBe(true);
    expectFound(ledger, lease.indexId);
    expect(ledger.lookup.find(hashOf('d1'), null)).toEqual({
      ...rowOf('d1', 's1'),
      lsn: 1,
    });
  });

  test('a crash after any step -> completed by the next build', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    copyMany(ledger, lease);
    const build = ledger.buildIndex(lease.indexId, SMALL);
    const copies: string[] = [];
    const isDrawn = drawing();
    let steps = 0;
    do if (isDrawn(steps++)) copies.push(crashCopy(path));
    while (build.step());
    expect(steps).toBeGreaterThan(20);
    for (const copy of copies) {
      using reopened = openLedger(copy);
      buildIndex(reopened, lease.indexId, SMALL);
      expectFound(reopened, lease.indexId);
    }
  });

  test('a crash after every step of a merge -> nothing is lost', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    const count = 10_000;
    copyMany(ledger, lease, count);
    let build = ledger.buildIndex(lease.indexId, SMALL);
    while (build.phase === 'collect') build.step();
    let steps = 0;
    for (; build.step(); steps += 1) build = ledger.buildIndex(lease.indexId, SMALL);
    expect(steps).toBeGreaterThan(40);
    expectFound(ledger, lease.indexId, count);
  });

  test('no documents -> finished, finds nothing', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const { indexId } = beginLease(ledger);
    buildIndex(ledger, indexId);
    expect(ledger.isIndexed(indexId)).toBe(true);
    expect(ledger.lookup.find(hashOf('d1'), indexId)).toBeNull();
  });

  test('a page of its leases is not committed -> refused', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    const commit = intendPage(ledger, { lease, documents: [{ identity: 'd', slot: 's' }], position: '"1"' });
    expect(() => ledger.buildIndex(lease.indexId)).toThrow(/every page of its leases is committed/);
    commit();
    buildIndex(ledger, lease.indexId);
    expect(ledger.lookup.find(hashOf('d'), lease.indexId)?.slot).toEqual(hashOf('s'));
  });

  test('a document copied twice -> finds the newer version', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    for (const lsn of [3, 9])
      intendPage(ledger, { lease, documents: [{ identity: 'd', slot: 's', lsn }], position: '"1"' })();
    buildIndex(ledger, lease.indexId);
    expect(ledger.lookup.find(hashOf('d'), lease.indexId)?.lsn).toBe(9);
  });

  test('a document in two slots -> assertion', () => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    const lease = beginLease(ledger);
    for (const slot of ['p', 'q'])
      intendPage(ledger, { lease, documents: [{ identity: 'd', slot }], position: '"1"' })();
    expect(() => buildIndex(ledger, lease.indexId)).toThrow(/one slot only/);
  });
});

type Op =
  | { readonly op: 'copy'; readonly documents: readonly number[]; readonly commits: boolean }
  | { readonly op: 'cancel' | 'row' | 'tombstone'; readonly document: number }
  | { readonly op: 'crash' };

const document = fc.integer({ min: 0, max: 30 });
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('copy' as const),
      documents: fc.uniqueArray(document),
      commits: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom('cancel' as const, 'row' as const, 'tombstone' as const),
      document,
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('crash' as const) }) },
);

/** What the ledger ought to know, in memory: of each document the newest claim and the newest cancellation. */
class Oracle {
  readonly landed = new Map<number, number>();
  readonly cancelled = new Map<number, number>();
  readonly rows = new Map<number, string | null>();

  slotOf(one: number): string | null {
    const row = this.rows.get(one);
    if (row !== undefined) return row;
    const at = this.landed.get(one) ?? 0;
    return at === 0 || (this.cancelled.get(one) ?? -1) > at ? null : `s${one}`;
  }
}

function apply(
  ledger: Ledger,
  { lease, oracle, step }: { lease: Lease; oracle: Oracle; step: Exclude<Op, { op: 'crash' }> },
): void {
  if (step.op === 'copy') {
    const documents = step.documents.map((one) => ({
      identity: `d${one}`,
      slot: `s${one}`,
      landed: one % 5 !== 0,
    }));
    const commit = intendPage(ledger, { lease, documents, position: '"1"' });
    // What is never committed is settled as gone; what is, counts from its outcome.
    if (!step.commits) ledger.units.settle({ units: ledger.units.unsettled() });
    else for (const [i, at] of commit().entries()) if (at > 0) oracle.landed.set(step.documents[i] ?? -1, at);
    return;
  }
  const { document: one } = step;
  const slot = step.op === 'row' ? `r${one}` : null;
  const unit = ledger.units.nextUnit();
  const sequence = ledger.units.nextSequence();
  if (step.op === 'cancel') {
    ledger.units.commit([
      { unit, move: null, overrides: [{ identity: hashOf(`d${one}`), slot: hashOf(`s${one}`), sequence }] },
    ]);
    oracle.cancelled.set(one, sequence);
  } else {
    ledger.units.commit([{ unit, move: null, rows: [rowOf(`d${one}`, slot)] }]);
    oracle.rows.set(one, slot);
  }
}

test('lookup: any history of rows, index and overrides -> as the oracle says', () => {
  const part = fc.array(op, { maxLength: 15 });
  fc.assert(
    fc.property(part, part, (before, after) => {
      const folder = temporaryFolder();
      let path = join(folder, 'ledger.db');
      let ledger = openLedger(path);
      const lease = beginLease(ledger);
      const oracle = new Oracle();
      const play = (step: Op): void => {
        if (step.op !== 'crash') return apply(ledger, { lease, oracle, step });
        path = crashCopy(path);
        ledger.close();
        ledger = openLedger(path);
      };
      try {
        for (const step of before) play(step);
        buildIndex(ledger, lease.indexId, SMALL);
        for (const step of after) if (step.op !== 'copy') play(step);
        for (let one = 0; one <= 30; one += 1) {
          const slot = oracle.slotOf(one);
          const found = ledger.lookup.find(hashOf(`d${one}`), lease.indexId)?.slot ?? null;
          expect(found).toEqual(slot === null ? null : hashOf(slot));
        }
      } finally {
        ledger.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: draws(60) },
  );
});
