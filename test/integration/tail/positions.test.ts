/**
 * Where a reader is, and that it never is anywhere else: ranges that split and merge, positions the service refuses,
 * pages that say nothing (facts SDK-12 and SDK-13). Every interleaving is made, not hoped for: something stands between
 * cosmig and the account and holds a request until the test has done what it must.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { byDay } from '../../helpers/generated.ts';
import type { MoveOptions } from '../../helpers/migration/move.ts';
import type { FaultEffect, FaultRule } from '../../helpers/emulator/admin.ts';
import {
  before,
  begin,
  expectSame,
  expectStruck,
  isBatchOf,
  isLaterPage,
  order,
  orders,
  SOURCE,
  Tapped,
  TARGET,
  write,
} from '../../helpers/migration/tapped.ts';
import { until } from '../../helpers/wait.ts';

const COUNT = 120;
const FEEDS: ReadonlyArray<[name: string, options: MoveOptions]> = [
  ['latest versions', {}],
  ['all versions', { settings: { avad: true } }],
];

describe.each(FEEDS)('positions: a range splits, feed of %s', (_name, options) => {
  test('during the copy -> its children continue at its position, and nothing is read twice', async () => {
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(COUNT));
    await begin(move);
    tap.meddle = before(isLaterPage, { 5: () => move.admin.split(SOURCE) });
    const copied = await move.run('copy');
    expect(copied).toMatchObject({ complete: true, documents: { read: COUNT, written: COUNT } });
    expect(copied.ranges.map(({ id, phase }) => [id, phase])).toEqual([
      ['1', 'tail'],
      ['2', 'tail'],
    ]);
    await expectSame(move, copied);
  });

  test('in mid-tail -> every change is applied', async () => {
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(40));
    await move.run('copy');
    await write(move, orders(40, { tenantId: 'moved' }));
    tap.meddle = before(isLaterPage, { 4: () => move.admin.split(SOURCE) });
    const tailed = await move.run('catch-up');
    expect(tailed).toMatchObject({ complete: true, documents: { read: 40, moved: 40 } });
    expect(tailed.ranges.map(({ id }) => id)).toEqual(['1', '2']);
    await expectSame(move, tailed);
  });

  test('while an idle tail waits -> its children continue', async () => {
    await using tapped = await Tapped.open(options);
    const { move } = tapped;
    await write(move, orders(20));
    await move.run('copy');
    const drain = new AbortController();
    let lag: number | null = null;
    const tailing = move.run('tail', {
      drain: drain.signal,
      onSnapshot: ({ lagSeconds }) => (lag = lagSeconds),
    });
    await until(() => lag !== null, { what: 'a tail that has caught up' });
    await move.admin.split(SOURCE);
    await write(move, orders(40, { after: 'the split' }));
    await move.admin.split(SOURCE);
    await write(move, orders(60, { after: 'the second' }));
    await until(
      async () => (await move.documents(move.target)).every(({ after }) => after === 'the second'),
      {
        what: 'the last of the changes',
        everyMs: 100,
      },
    );
    drain.abort(new Error('enough'));
    await expect(tailing).rejects.toThrow('enough');
    await expectSame(move);
  });

  test('its children split again, with pages in flight -> nothing is lost', async () => {
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(COUNT));
    await begin(move);
    let underWay = 0;
    const atSplit: number[] = [];
    const splits = before(isLaterPage, Object.fromEntries([4, 9, 14, 19].map((page) => [page, splitIt])));
    async function splitIt({ rangeId = '' }: { rangeId: string | undefined }): Promise<void> {
      atSplit.push(underWay);
      await move.admin.split(SOURCE, { rangeId });
    }
    tap.meddle = async (request, forward) => {
      if (request.what !== 'batch') return splits(request, forward);
      underWay += 1;
      await delay(40);
      const reply = await forward();
      underWay -= 1;
      return reply;
    };
    const copied = await move.run('copy', { timing: { requestTimeoutMs: 2000 } });
    expect(atSplit).toHaveLength(4);
    expect(Math.max(...atSplit)).toBeGreaterThan(0);
    expect(copied).toMatchObject({ complete: true, documents: { read: COUNT, written: COUNT } });
    expect(copied.ranges).toHaveLength(5);
    await expectSame(move, copied);
  });

  test('twice between two runs, after a kill during the copy -> nothing is lost', async () => {
    await using tapped = await Tapped.open(options);
    const { move } = tapped;
    await write(move, orders(COUNT));
    const crash = new AbortController();
    let pages = 0;
    const copying = move.run('copy', {
      abort: crash.signal,
      onPoint: (point) => {
        if (point === 'committed' && (pages += 1) === 8) crash.abort(new Error('crash'));
      },
    });
    await expect(copying).rejects.toThrow('crash');
    await move.admin.split(SOURCE, { rangeId: '0' });
    await move.admin.split(SOURCE, { rangeId: '1' });
    const copied = await move.run('copy');
    expect(copied.ranges.map(({ id }) => id)).toEqual(['3', '4', '2']);
    expect(copied.complete).toBe(true);
    await move.admin.split(SOURCE, { rangeId: '2' });
    await write(move, orders(30, { tenantId: 'moved' }));
    await expectSame(move, await move.run('catch-up'));
  });

  test('slowly -> the ranges are read now and then while the split lasts', async () => {
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    let seenAtSplit = 0;
    const splitSlowly = async (): Promise<void> => {
      seenAtSplit = tap.seen.length;
      await move.admin.split(SOURCE, { durationMs: 1000 });
    };
    tap.meddle = before(isLaterPage, { 3: splitSlowly });
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ read: 40, written: 40 });
    expect(copied.ranges).toHaveLength(2);
    const listed = tap.seen
      .slice(seenAtSplit)
      .filter(({ what, container }) => what === 'pkranges' && container === 'orders');
    expect(listed.length).toBeGreaterThan(1);
    expect(listed.length).toBeLessThan(10);
    await expectSame(move, copied);
  });
});

test('positions: ranges of the target split during writes -> nothing is lost', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, orders(COUNT));
  await begin(move);
  tap.meddle = before(isBatchOf('by-tenant'), {
    2: () => move.admin.split(TARGET),
    5: ({ rangeId = '' }) => move.admin.split(TARGET, { rangeId }),
  });
  const copied = await move.run('copy');
  expect(copied.documents).toMatchObject({ read: COUNT, written: COUNT });
  expect(await move.admin.ranges(TARGET)).toHaveLength(3);
  await expectSame(move, copied);
});

describe('positions: ranges merge', () => {
  test('during the copy -> each reader keeps to its part, also when the union splits elsewhere', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await move.admin.split(SOURCE, { rangeId: '0' });
    await move.admin.split(SOURCE, { rangeId: '1' });
    await write(move, orders(COUNT));
    await begin(move);
    tap.meddle = before(isLaterPage, {
      5: () => move.admin.merge(SOURCE, ['4', '2']),
      12: () => move.admin.split(SOURCE, { rangeId: '5' }),
    });
    const copied = await move.run('copy');
    expect(copied).toMatchObject({ complete: true, documents: { read: COUNT, written: COUNT } });
    expect(copied.ranges.map(({ id }) => id)).toEqual(['3', '6', '6', '7']);
    await expectSame(move, copied);
  });

  test('in mid-tail -> every change is applied', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await move.admin.split(SOURCE);
    await write(move, orders(40));
    await move.run('copy');
    await write(move, orders(40, { tenantId: 'moved' }));
    tap.meddle = before(isLaterPage, { 4: () => move.admin.merge(SOURCE, ['1', '2']) });
    const tailed = await move.run('catch-up');
    expect(tailed.documents).toMatchObject({ read: 40, moved: 40 });
    expect(tailed.ranges.map(({ id }) => id)).toEqual(['3', '3']);
    await expectSame(move, tailed);
  });

  test('between two runs, and split again between the next two -> nothing is lost', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await move.admin.split(SOURCE);
    await write(move, orders(COUNT));
    const drain = new AbortController();
    let pages = 0;
    const copying = move.run('copy', {
      drain: drain.signal,
      onPoint: (point) => {
        if (point === 'committed' && (pages += 1) === 6) drain.abort(new Error('enough'));
      },
    });
    await expect(copying).rejects.toThrow('enough');
    await move.admin.merge(SOURCE, ['1', '2']);
    const copied = await move.run('copy');
    expect(copied.ranges.map(({ id }) => id)).toEqual(['3', '3']);
    await write(move, orders(60, { tenantId: 'moved' }));
    await move.admin.split(SOURCE);
    const tailed = await move.run('catch-up');
    expect(tailed.documents).toMatchObject({ moved: 60 });
    await expectSame(move, tailed);
  });
});

describe('positions: 410 of every kind', () => {
  /** Each once, at so many requests from one to the next. */
  function gone(match: FaultRule['match'], apart: number): FaultRule[] {
    const effects: FaultEffect[] = [1000, 1002, 1007, 1008].map((substatus) => ({ status: 410, substatus }));
    return [...effects, { status: 410 }].map((effect, i) => ({ match, times: 1, after: i * apart, effect }));
  }
  const feed = { op: 'read-feed', coll: 'orders' } as const;

  test('from a feed -> the position stays', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(60));
    await begin(move);
    await move.admin.faults(gone(feed, 2));
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.documents).toMatchObject({ read: 60, written: 60 });
    await write(move, orders(60, { again: true }));
    await move.admin.faults(gone(feed, 2));
    const tailed = await move.run('catch-up');
    await expectStruck(move);
    expect(tailed.documents).toMatchObject({ read: 60, written: 60 });
    await expectSame(move, tailed);
  });

  test('from the feed of all versions and its anchors -> the positions stay', async () => {
    await using tapped = await Tapped.open({ settings: { avad: true } });
    const { move } = tapped;
    await write(move, orders(60));
    await move.admin.faults(gone(feed, 3));
    await begin(move);
    await move.run('copy');
    await expectStruck(move);
    await write(move, orders(60, { again: true }));
    await move.source.item('o1', 'c1').delete();
    await move.admin.faults(gone(feed, 2));
    const tailed = await move.run('catch-up');
    await expectStruck(move);
    expect(tailed.documents).toMatchObject({ read: 61, deleted: 1 });
    await expectSame(move, tailed);
  });

  test('from batches, point reads and single operations -> sent again', async () => {
    await using tapped = await Tapped.open({ settings: { avad: true } });
    const { move } = tapped;
    // Some of these are for one place: the source is asked about those.
    const colliding = [5, 6].map((n) => order(n, { id: 'one', tenantId: 'P' }));
    await write(move, [...orders(60), ...colliding]);
    await begin(move);
    const rules = [
      ...gone({ op: 'batch', coll: 'by-tenant' }, 2),
      ...gone({ op: 'batch', coll: 'orders' }, 0),
      ...gone({ op: 'create', coll: 'by-tenant' }, 5),
    ];
    await move.admin.faults(rules);
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.documents).toMatchObject({ written: 61, deadLettered: 1 });
    await move.source.item('one', 'c5').delete();
    await write(move, orders(60, { tenantId: 'moved' }));
    await move.admin.faults(rules);
    await expectSame(move, await move.run('catch-up'));
  });

  test('from the list of ranges -> read again', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    await move.admin.faults(gone({ op: 'pkranges' }, 0));
    tap.meddle = before(isLaterPage, { 3: () => move.admin.split(SOURCE) });
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.ranges).toHaveLength(2);
    await expectSame(move, copied);
  });
});

describe('positions: a list of ranges', () => {
  const troubles: readonly FaultEffect[] = [
    { status: 503 },
    { status: 429, retryAfterMs: 20 },
    { reset: 'before' },
    { hang: 'before' },
    { body: 'html' },
    { body: 'empty' },
    { body: 'truncated' },
    { pkranges: 'incomplete' },
    { pkranges: 'stale' },
  ];
  test.each(byDay(troubles, { every: 3 }))('with %j after a split -> read again', async (effect) => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await move.admin.split(SOURCE);
    await write(move, orders(60));
    await begin(move);
    tap.meddle = before(isLaterPage, {
      4: async ({ rangeId = '' }) => {
        await move.admin.split(SOURCE, { rangeId });
        await move.admin.faults([{ match: { op: 'pkranges', coll: 'orders' }, times: 2, effect }]);
      },
    });
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ read: 60, written: 60 });
    await expectStruck(move);
    expect(copied.ranges).toHaveLength(3);
    await expectSame(move, copied);
  });

  test.each(
    byDay(
      troubles.filter(({ hang }) => hang === undefined),
      { every: 3, from: 1 },
    ),
  )('with %j at the start -> the run begins with all ranges', async (effect) => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await move.admin.split(SOURCE);
    await move.admin.split(SOURCE);
    await write(move, orders(40));
    await move.admin.faults([{ match: { op: 'pkranges' }, every: 2, times: 4, effect }]);
    const copied = await move.run('copy');
    expect(copied.ranges).toHaveLength(3);
    await expectSame(move, copied);
  });
});

describe.each(FEEDS)('positions: an empty page of the feed of %s', (_name, options) => {
  test('more pages follow -> neither the copy nor the tail ends', async () => {
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    const isAny = (request: Parameters<typeof isLaterPage>[0]): boolean =>
      request.what === 'read-feed' && request.headers['if-none-match'] !== '*';
    let pages = 0;
    tap.meddle = async (request, forward) => {
      const reply = await forward();
      if (!isAny(request) || reply.status !== 200 || (pages += 1) % 2 === 0) return reply;
      const body = Buffer.from('{"_rid":"","Documents":[],"_count":0}');
      // Where the reader was, so what it held comes again.
      const etag = request.headers['if-none-match'] ?? '"0"';
      return { ...reply, headers: { ...reply.headers, etag }, body };
    };
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ read: 40, written: 40 });
    await write(move, orders(40, { tenantId: 'moved' }));
    pages = 0;
    const tailed = await move.run('catch-up');
    expect(tailed.documents).toMatchObject({ moved: 40 });
    expect(pages).toBeGreaterThan(8);
    await expectSame(move, tailed);
  });
});
