import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  halvesOf,
  newRange,
  rangeById,
  rangeFromRow,
  rangeOf,
  rangeToRow,
  unionOf,
  type RangeModel,
} from '../../../../src/emulator/partitions/ranges.ts';
import {
  beginSplit,
  finishSplits,
  fullestRange,
  mergeRanges,
  rangesById,
  splitOutgrown,
  splitRange,
} from '../../../../src/emulator/partitions/resizing.ts';
import { execute } from '../../../../src/emulator/documents/operations.ts';
import { WriteTransaction } from '../../../../src/emulator/documents/write-transaction.ts';
import { initialBounds } from '../../../../src/epk/bounds.ts';
import type { KeyKind } from '../../../../src/epk/effective-key.ts';
import { must } from '../../../../src/lib/assert.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';
import '../../../helpers/seed.ts';

const KINDS: readonly KeyKind[] = ['hash-v1', 'hash-v2', 'multi-hash'];

function tiles(ranges: readonly RangeModel[]): void {
  expect(ranges.map((range) => range.min)).toEqual(['', ...ranges.slice(0, -1).map((range) => range.max)]);
  expect(ranges.at(-1)?.max).toBe('FF');
}

function rangesOf(kind: KeyKind, count: number): RangeModel[] {
  const bounds = initialBounds(kind, count);
  return bounds.slice(0, -1).map((min, id) => newRange(id, min, bounds[id + 1] ?? 'FF'));
}

describe('the range of an effective key', () => {
  test('an effective key -> the range whose bounds contain it', () => {
    const epk = fc.oneof(
      fc.stringMatching(/^[0-3][0-9A-F]{31}$/),
      fc.stringMatching(/^05C1[0-9A-F]{12}$/),
      fc.constantFrom('', 'FE', '00'),
    );
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.integer({ min: 1, max: 40 }), epk, (kind, count, key) => {
        const ranges = rangesOf(kind, count);
        const found = rangeOf(ranges, key);
        expect(found.min <= key && key < found.max).toBe(true);
      }),
    );
  });

  test('an effective key at a bound -> the upper range', () => {
    const ranges = rangesOf('hash-v2', 4);
    for (const range of ranges) expect(rangeOf(ranges, range.min)).toBe(range);
  });
});

describe('a range by its id', () => {
  const ranges = [{ ...newRange(3, '', '1F'), splittingUntilMs: 1000 }, newRange(4, '1F', 'FF')];

  test.each<[string, number, number | undefined]>([
    ['4', 0, undefined],
    ['0', 0, 1002],
    ['04', 0, 1002],
    ['', 0, 1002],
    ['x', 0, 1002],
    ['3', 999, 1007],
    ['3', 1000, undefined],
  ])('%j at %i ms -> 410/%s', (id, nowMs, substatus) => {
    expect(refusalOf(() => rangeById(ranges, id, nowMs))).toEqual(
      substatus === undefined ? undefined : { status: 410, substatus },
    );
  });
});

test('a range: written as a row and read -> the same', () => {
  const range = {
    ...newRange(7, '10', '20'),
    parents: [1, 3],
    lsn: 9,
    documents: 2,
    bytes: 33,
    avadFloor: 4,
  };
  expect(rangeFromRow(rangeToRow(5, range))).toEqual(range);
});

describe('halves and unions', () => {
  test.each(KINDS)('%s: repeated halving -> the parts tile the range', (kind) => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 25 }), (picks) => {
        const ranges = rangesOf(kind, 1);
        for (const pick of picks) {
          const at = pick % ranges.length;
          const [left, right] = halvesOf(kind, must(ranges[at], 'the pick is within'), ranges.length * 10);
          expect(left.min < left.max && right.min < right.max).toBe(true);
          ranges.splice(at, 1, left, right);
        }
        tiles(ranges);
      }),
      { numRuns: 40 },
    );
  });

  test('children and unions -> continue from the parent or the higher LSN, and name all ancestors', () => {
    const parent = { ...newRange(2, '', 'FF'), parents: [0], lsn: 40, avadFloor: 7 };
    const [left, right] = halvesOf('hash-v2', parent, 5);
    expect([left, right].map(({ id, parents, lsn, avadFloor }) => ({ id, parents, lsn, avadFloor }))).toEqual(
      [
        { id: 5, parents: [0, 2], lsn: 40, avadFloor: 7 },
        { id: 6, parents: [0, 2], lsn: 40, avadFloor: 7 },
      ],
    );
    const merged = unionOf({ ...left, lsn: 50 }, { ...right, lsn: 45, avadFloor: 9 }, 7);
    expect(merged).toMatchObject({ id: 7, min: '', max: 'FF', parents: [0, 2, 5, 6], lsn: 50, avadFloor: 9 });
  });

  test('not adjacent, or a single hash -> refused', () => {
    const [first, , third] = rangesOf('hash-v2', 3);
    expect(refusalOf(() => unionOf(must(first, 'three'), must(third, 'three'), 9))?.status).toBe(400);
    expect(
      refusalOf(() => halvesOf('hash-v2', newRange(1, '0F', '0F000000000000000000000000000001'), 2))?.status,
    ).toBe(400);
  });
});

describe('a container whose ranges change', () => {
  test('random splits and merges -> every document in the range of its key, exact counters', () => {
    const step = fc.tuple(fc.constantFrom('split', 'merge', 'write', 'delete'), fc.nat());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        using memory = new MemoryAccount();
        const container = memory.container();
        const live = new Set<string>();
        for (const [what, pick] of steps) {
          const at = pick % container.ranges.length;
          const range = must(container.ranges[at], 'the pick is within');
          const next = container.ranges[at + 1];
          const id = `${pick % 17}`;
          if (what === 'split') splitRange(memory.account, container, range);
          else if (what === 'merge' && next !== undefined)
            mergeRanges(memory.account, container, next, range);
          else if (what === 'write')
            memory.write(container, { id, key: id, more: { text: 'x'.repeat(pick % 90) } });
          else if (what === 'delete' && live.has(id))
            memory.write(container, { id, key: id, kind: 'delete' });
          if (what === 'write') live.add(id);
          if (what === 'delete') live.delete(id);
        }
        tiles(container.ranges);
        expect(container.documents).toBe(live.size);
        for (const row of memory.account.documents.rowsOf(container.number))
          expect(row.range).toBe(rangeOf(container.ranges, row.epk).id);
        for (const range of container.ranges) {
          const { documents, bytes } = range;
          expect(memory.account.documents.measure(container.number, range.id)).toEqual({ documents, bytes });
        }
        const ids = container.ranges.map((range) => range.id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(container.nextRange).toBeGreaterThan(Math.max(...ids));
      }),
      { numRuns: 40 },
    );
  });

  test('a range exceeds its limit -> split, unless it has a single logical partition', () => {
    using memory = new MemoryAccount({ rangeLimitBytes: 2000 });
    const [spread, hot] = [memory.container(), memory.container()];
    for (let number = 0; number < 30; number += 1) {
      const more = { text: 'x'.repeat(200) };
      memory.write(spread, { id: `${number}`, key: number, more });
      memory.write(hot, { id: `${number}`, key: 'one', more });
    }
    for (let tick = 0; tick < 20; tick += 1) splitOutgrown(memory.account);
    for (const range of spread.ranges) expect(range.bytes).toBeLessThanOrEqual(2000);
    expect(hot.ranges).toHaveLength(1);
  });

  test('all keys below one prefix -> split between keys', () => {
    using memory = new MemoryAccount({ rangeLimitBytes: 3000 });
    const container = memory.container({
      partitionKey: { paths: ['/pk', '/user'], kind: 'MultiHash', version: 2 },
    });
    WriteTransaction.run(memory.account, container, (transaction) => {
      for (let number = 0; number < 40; number += 1) {
        const [id, user] = [`${number}`, `u${number}`];
        const text = JSON.stringify({ id, pk: 'tenant', user, text: 'x'.repeat(200) });
        execute(transaction, { kind: 'create', id, key: ['tenant', user], text });
      }
    });
    for (let tick = 0; tick < 20; tick += 1) splitOutgrown(memory.account);
    tiles(container.ranges);
    for (const { bytes, documents } of container.ranges) {
      expect(bytes).toBeLessThanOrEqual(3000);
      expect(documents).toBeGreaterThan(0);
    }
  });

  test('a split with a duration -> 410/1007 until it is over', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    const range = must(container.ranges[0], 'one range');
    beginSplit(memory.account, container, range, 1000);
    finishSplits(memory.account);
    expect(refusalOf(() => rangeById(container.ranges, '0', memory.clock.now()))).toEqual({
      status: 410,
      substatus: 1007,
    });
    memory.clock.advance(1000);
    finishSplits(memory.account);
    expect(container.ranges.map(({ id, parents }) => ({ id, parents }))).toEqual([
      { id: 1, parents: [0] },
      { id: 2, parents: [0] },
    ]);
  });

  test('a single hash, a split with a duration -> refused at once', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    for (let halvings = 0; halvings < 125; halvings += 1)
      splitRange(memory.account, container, must(container.ranges[0], 'one range'));
    const narrow = must(container.ranges[0], 'one range');
    expect(refusalOf(() => beginSplit(memory.account, container, narrow, 1000))?.status).toBe(400);
    expect(narrow.splittingUntilMs).toBeUndefined();
  });

  test('a merge: either order -> accepted; with avad -> refused', () => {
    using memory = new MemoryAccount();
    const container = memory.container({}, { mode: 'manual', ru: 12_000 });
    const [left, right] = [must(container.ranges[0], 'two'), must(container.ranges[1], 'two')];
    memory.account.configure({ avad: true });
    expect(refusalOf(() => mergeRanges(memory.account, container, left, right))?.status).toBe(400);
    memory.account.configure({ avad: false });
    expect(mergeRanges(memory.account, container, right, left)).toMatchObject({ id: 2, min: '', max: 'FF' });
  });

  test('ids as numbers or texts -> found', () => {
    using memory = new MemoryAccount();
    const container = memory.container({}, { mode: 'manual', ru: 12_000 });
    expect(rangesById(container, [1, '0']).map((range) => range.id)).toEqual([1, 0]);
    for (const id of [undefined, null, {}, { toString: 1 }, [], ['0'], '00', 2, -1, true]) {
      expect(refusalOf(() => rangesById(container, [id]))?.status).toBe(404);
    }
    memory.write(container, { id: 'a' });
    expect(fullestRange(container).documents).toBe(1);
  });
});
