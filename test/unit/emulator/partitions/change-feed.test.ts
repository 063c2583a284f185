import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dropOldChanges,
  readFeed,
  type FeedRequest,
} from '../../../../src/emulator/partitions/change-feed.ts';
import type { ContainerModel } from '../../../../src/emulator/account/model.ts';
import { splitRange } from '../../../../src/emulator/partitions/resizing.ts';
import { effectiveKey } from '../../../../src/epk/effective-key.ts';
import { must } from '../../../../src/lib/assert.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

interface Page {
  readonly ids: string[];
  readonly lsns: number[];
  readonly etag: string;
}

interface Entry {
  readonly id?: string;
  readonly _lsn?: number;
  readonly current?: { readonly id: string };
  readonly metadata?: { readonly operationType: string; readonly lsn: number; readonly id?: string };
}

/** One page of the first range, or of the range and part that the request names. */
function read(memory: MemoryAccount, container: ContainerModel, request: Partial<FeedRequest> = {}): Page {
  const range = request.range ?? must(container.ranges[0], 'a container has a range');
  const page = readFeed(memory.account, container, {
    mode: 'latest-version',
    range,
    min: range.min,
    max: range.max,
    ifNoneMatch: undefined,
    ifModifiedSince: undefined,
    maxItems: undefined,
    visibleLsn: range.lsn,
    ...request,
  });
  const entries = JSON.parse(`[${page.body?.toString() ?? ''}]`) as Entry[];
  expect(entries).toHaveLength(page.count);
  return {
    ids: entries.map((entry) => entry.id ?? entry.current?.id ?? entry.metadata?.id ?? '?'),
    lsns: entries.map((entry) => entry._lsn ?? entry.metadata?.lsn ?? -1),
    etag: page.etag,
  };
}

function* pages(
  memory: MemoryAccount,
  container: ContainerModel,
  request: Partial<FeedRequest> = {},
): Generator<Page> {
  let ifNoneMatch = request.ifNoneMatch;
  for (;;) {
    const page = read(memory, container, { ...request, ifNoneMatch });
    if (page.ids.length === 0) return;
    yield page;
    ifNoneMatch = page.etag;
  }
}

/** Transactions of the given sizes, each in one LSN. */
function filled(memory: MemoryAccount, sizes: readonly number[], more = {}): ContainerModel {
  const container = memory.container();
  let number = 0;
  for (const size of sizes) {
    const writes = Array.from({ length: size }, () => ({
      id: String((number += 1)),
      key: `k${number % 5}`,
      more,
    }));
    memory.write(container, ...writes);
  }
  return container;
}

describe('a page', () => {
  test('any limits -> whole transactions, at least one; later pages have the rest', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        sizes,
        fc.option(fc.integer({ min: 1, max: 10 })),
        fc.constantFrom(0, 500, 2000, 4_000_000),
        fc.boolean(),
        (transactions, maxItems, pageBytes, avad) => {
          using memory = new MemoryAccount({ pageBytes, avad: true });
          const container = filled(memory, transactions);
          const request = avad ? ({ mode: 'all-versions', ifNoneMatch: '"0;full"' } as const) : {};
          const seen: number[] = [];
          for (const page of pages(memory, container, { ...request, maxItems: maxItems ?? undefined })) {
            expect(Math.min(...page.lsns)).toBeGreaterThan(Math.max(0, ...seen));
            seen.push(...page.lsns);
            // Without its last transaction a page is within the limit: it is never longer than it must be.
            const last = page.lsns.at(-1);
            expect(page.lsns.filter((lsn) => lsn !== last).length).toBeLessThan(
              maxItems ?? Number.POSITIVE_INFINITY,
            );
          }
          expect(seen).toEqual(transactions.flatMap((size, index) => Array<number>(size).fill(index + 1)));
        },
      ),
      { numRuns: draws(60) },
    );
  });

  test.each<[number[], number | undefined, number[]]>([
    [[1, 1, 1, 1, 1], 2, [2, 2, 1]],
    [[1, 1, 1], 3, [3]],
    [[5], 1, [5]],
    [[2, 2, 2], 3, [4, 2]],
    [[1, 5, 1], 1, [1, 5, 1]],
    [[1, 1], undefined, [2]],
  ])('transactions %j, at most %j items -> pages %j', (transactions, maxItems, expected) => {
    using memory = new MemoryAccount();
    const container = filled(memory, transactions);
    expect([...pages(memory, container, { maxItems })].map((page) => page.ids.length)).toEqual(expected);
  });

  test('a transaction too large for the page -> on the next page, unless it is the first', () => {
    using memory = new MemoryAccount({ pageBytes: 5000 });
    const container = filled(memory, [1, 1, 1, 3, 1], { text: 'x'.repeat(2000) });
    expect([...pages(memory, container)].map((page) => page.lsns)).toEqual([[1, 2], [3], [4, 4, 4], [5]]);
  });

  test.each([1, 3, 5, 20, undefined])('at most %j items -> charged for its content', (maxItems) => {
    using memory = new MemoryAccount({ avad: true });
    const container = filled(memory, [5]);
    const range = must(container.ranges[0], 'one range');
    const { min, max, lsn: visibleLsn } = range;
    for (const mode of ['latest-version', 'all-versions'] as const) {
      const ifNoneMatch = mode === 'latest-version' ? undefined : '"0;full"';
      const request = {
        mode,
        range,
        min,
        max,
        ifNoneMatch,
        ifModifiedSince: undefined,
        maxItems,
        visibleLsn,
      };
      expect(readFeed(memory.account, container, request)).toMatchObject({ count: 5, chargeRu: 5 });
    }
  });

  test('nothing new -> the same position or a later one', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    expect(read(memory, container)).toEqual({ ids: [], lsns: [], etag: '"0"' });
    memory.write(container, { id: 'a' });
    expect(read(memory, container, { ifNoneMatch: '"1"' })).toEqual({ ids: [], lsns: [], etag: '"1"' });
    memory.write(container, { id: 'a', kind: 'delete' });
    expect(read(memory, container, { ifNoneMatch: '"1"' }).etag).toBe('"2"');
    expect(read(memory, container, { ifNoneMatch: '"40"' }).etag).toBe('"40"');
  });
});

describe('the latest-version feed', () => {
  test('several writes -> each document once, at its last write, no deleted one', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    for (const id of ['a', 'b', 'c', 'a']) memory.write(container, { id });
    memory.write(container, { id: 'b', kind: 'delete' });
    expect(read(memory, container)).toEqual({ ids: ['c', 'a'], lsns: [3, 4], etag: '"5"' });
  });

  test('expired documents -> hidden', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ defaultTtl: 10 });
    memory.write(container, { id: 'a' }, { id: 'b', more: { ttl: -1 } });
    memory.clock.advance(10_000);
    expect(read(memory, container).ids).toEqual(['b']);
  });

  test.each<[string, string[]]>([
    ['Wed, 31 Dec 2025 23:59:59 GMT', ['a', 'b', 'c']],
    ['Thu, 01 Jan 2026 00:00:00 GMT', ['b', 'c']],
    ['Thu, 01 Jan 2026 00:00:01 GMT', ['c']],
    ['Thu, 01 Jan 2026 00:00:02 GMT', []],
    ['Thu, 01 Jan 1970 00:00:00 GMT', ['a', 'b', 'c']],
  ])('from the time %s on -> %j', (ifModifiedSince, ids) => {
    using memory = new MemoryAccount();
    const container = memory.container();
    for (const id of ['a', 'b', 'c']) {
      memory.write(container, { id });
      memory.clock.advance(1000);
    }
    const page = read(memory, container, { ifModifiedSince });
    expect([page.ids, page.etag]).toEqual([ids, '"3"']);
    // A reader by time sends its time with every later page: the position wins.
    expect(read(memory, container, { ifModifiedSince, ifNoneMatch: '"2"' }).ids).toEqual(['c']);
  });

  test.each([
    '',
    'x',
    '"',
    '""',
    '"-1"',
    '1.5',
    '"1;full"',
    '"1;half"',
    '0x1',
    '9'.repeat(16),
    'W/"1"',
    '"1" "2"',
  ])('the position %j -> refused', (ifNoneMatch) => {
    using memory = new MemoryAccount();
    const container = memory.container();
    expect(refusalOf(() => read(memory, container, { ifNoneMatch }))?.status).toBe(400);
  });

  test('an invalid time -> refused', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    expect(refusalOf(() => read(memory, container, { ifModifiedSince: 'yesterday' }))?.status).toBe(400);
  });

  test('from now on -> later changes', () => {
    using memory = new MemoryAccount();
    const container = filled(memory, [2]);
    const now = read(memory, container, { ifNoneMatch: '*' });
    expect(now).toEqual({ ids: [], lsns: [], etag: '"1"' });
    memory.write(container, { id: 'new' });
    expect(read(memory, container, { ifNoneMatch: now.etag }).ids).toEqual(['new']);
  });

  test('a lagging reader -> no later transactions', () => {
    using memory = new MemoryAccount();
    const container = filled(memory, [1, 1, 1]);
    expect(read(memory, container, { visibleLsn: 2 })).toEqual({
      ids: ['1', '2'],
      lsns: [1, 2],
      etag: '"2"',
    });
  });
});

describe('parts of the hash space', () => {
  test('any division -> every document exactly once', () => {
    const hex = fc.stringMatching(/^[0-3][0-9A-F]{0,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(hex, { maxLength: 5 }), (cuts) => {
        using memory = new MemoryAccount();
        const container = filled(memory, [3, 4, 5, 1]);
        const bounds = ['', ...cuts.toSorted(), 'FF'];
        const parts = bounds
          .slice(0, -1)
          .map((min, index) => read(memory, container, { min, max: bounds[index + 1] ?? 'FF' }).ids);
        expect(parts.flat().toSorted()).toEqual(read(memory, container).ids.toSorted());
      }),
      { numRuns: draws(30) },
    );
  });

  test('a split -> children continue from the parent’s position, nothing is lost or repeated', () => {
    using memory = new MemoryAccount({ avad: true });
    const container = filled(memory, [4, 4]);
    const first = read(memory, container, { maxItems: 1 });
    const children = splitRange(memory.account, container, must(container.ranges[0], 'one range'));
    memory.write(container, ...['x', 'y', 'z'].map((id, index) => ({ id, key: `k${index}` })));
    const rest = children.flatMap((range) => read(memory, container, { range, ifNoneMatch: first.etag }).ids);
    expect(rest.toSorted()).toEqual(['5', '6', '7', '8', 'x', 'y', 'z']);
    for (const range of children) {
      const full = read(memory, container, { mode: 'all-versions', range, ifNoneMatch: '"1;full"' });
      expect(full.ids.toSorted()).toEqual(
        read(memory, container, { range, ifNoneMatch: '"1"' }).ids.toSorted(),
      );
    }
  });

  test('one logical key -> its documents', () => {
    using memory = new MemoryAccount();
    const container = filled(memory, [10]);
    const epk = effectiveKey('hash-v2', ['k1']);
    expect(read(memory, container, { min: epk, max: `${epk}0` }).ids).toEqual(['1', '6']);
  });
});

describe('all versions and deletes', () => {
  const full = { mode: 'all-versions' } as const;

  test('versions and deletes -> an entry each, with its LSN', () => {
    using memory = new MemoryAccount({ avad: true });
    const container = memory.container();
    memory.write(container, { id: 'a' });
    memory.write(container, { id: 'a' }, { id: 'b' });
    memory.write(container, { id: 'a', kind: 'delete' });
    const page = read(memory, container, { ...full, ifNoneMatch: '"0;full"' });
    expect(page).toEqual({ ids: ['a', 'a', 'b', 'a'], lsns: [1, 2, 2, 3], etag: '"3;full"' });
  });

  test.each<[string, object, object]>([
    ['when it is off', { avad: false }, { ifNoneMatch: '*' }],
    ['from the beginning', { avad: true }, {}],
    ['from a time', { avad: true }, { ifModifiedSince: 'Thu, 01 Jan 2026 00:00:00 GMT' }],
    ['from a position of the other feed', { avad: true }, { ifNoneMatch: '"1"' }],
    ['from a text that is not a position', { avad: true }, { ifNoneMatch: 'x' }],
  ])('%s -> refused', (_when, settings, request) => {
    using memory = new MemoryAccount({ ...settings });
    const container = memory.container();
    memory.write(container, { id: 'a' });
    expect(refusalOf(() => read(memory, container, { ...full, ...request }))).toEqual({
      status: 400,
      substatus: 0,
    });
  });

  test('a position before the retention or before avad was on -> refused', () => {
    using memory = new MemoryAccount({ avad: true, retentionSeconds: 60 });
    const container = memory.container();
    memory.write(container, { id: 'a' });
    memory.clock.advance(30_000);
    memory.write(container, { id: 'b' });
    memory.clock.advance(31_000);
    expect(refusalOf(() => read(memory, container, { ...full, ifNoneMatch: '"0;full"' }))?.status).toBe(400);
    expect(read(memory, container, { ...full, ifNoneMatch: '"1;full"' }).ids).toEqual(['b']);
    memory.account.configure({ avad: false });
    memory.write(container, { id: 'unseen' });
    memory.account.configure({ avad: true });
    expect(refusalOf(() => read(memory, container, { ...full, ifNoneMatch: '"2;full"' }))?.status).toBe(400);
    memory.write(container, { id: 'c' });
    expect(read(memory, container, { ...full, ifNoneMatch: '"3;full"' }).ids).toEqual(['c']);
  });

  test('changes younger than the retention -> kept, by transaction', () => {
    using memory = new MemoryAccount({ avad: true, retentionSeconds: 5 });
    const container = memory.container();
    for (let second = 0; second < 10; second += 1) {
      memory.write(container, { id: `${second}` }, { id: `${second}b` });
      memory.clock.advance(1000);
    }
    dropOldChanges(memory.account);
    const floor = must(container.ranges[0], 'one range').avadFloor;
    expect(read(memory, container, { ...full, ifNoneMatch: `"${floor};full"` }).ids).toHaveLength(
      2 * (10 - floor),
    );
    expect(floor).toBe(5);
  });
});
