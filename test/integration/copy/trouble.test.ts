/**
 * Trouble that passes and trouble that lasts (facts SVC-38 to SVC-43): servers that hang, bodies that are cut, replicas that
 * lag, a feed that has forgotten, access that is gone, containers that are deleted and made again. Nothing is lost by any
 * of it, and a run that any of it ends leaves a ledger with which the next one resumes.
 */
import { describe, expect, test } from 'vitest';
import { NotReadyError, ServiceError } from '../../../src/lib/errors.ts';
import { must } from '../../../src/lib/assert.ts';
import type { FaultEffect, FaultOp, FaultRule } from '../../helpers/emulator/admin.ts';
import { byDay } from '../../helpers/generated.ts';
import type { Move } from '../../helpers/migration/move.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import type { TapRequest } from '../../helpers/migration/tap.ts';
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
  write,
} from '../../helpers/migration/tapped.ts';
import { envOf, SPEC } from '../../helpers/migration/typed.ts';
import { fastClock } from '../../helpers/clock.ts';

const AVAD = { settings: { avad: true } };
const idsIn = async (move: Move): Promise<unknown[]> =>
  (await move.documents(move.target)).map(({ id }) => id);

/** Where the source's feed ends. */
const isFeedEnd = ({ what, container, headers }: TapRequest): boolean =>
  what === 'read-feed' && container === 'orders' && headers['if-none-match'] === '*';

/** What a reader knows who has seen everything. */
async function newestToken({ admin }: Move): Promise<string> {
  const [range] = await admin.ranges(SOURCE);
  return `0:-1#${must(range, 'the source has a range').lsn}`;
}

describe('trouble: damaged bodies, and servers that do not answer', () => {
  const kinds: ReadonlyArray<[kind: string, effects: readonly FaultEffect[]]> = [
    ['cut, foreign and empty bodies', [{ body: 'truncated' }, { body: 'html' }, { body: 'empty' }]],
    [
      'late replies',
      [{ delayMs: 800 }, { delayMs: 800, delayAt: 'after' }, { delayMs: 800, delayAt: 'reply' }],
    ],
    ['no replies', [{ hang: 'before' }, { hang: 'after' }, { reset: 'before' }, { reset: 'after' }]],
    ['refusals that pass', [{ status: 408 }, { status: 449 }, { status: 500 }, { status: 503 }]],
    [
      'refusals late in a split',
      [
        { status: 503, substatus: 21003 },
        { status: 503, substatus: 21004 },
      ],
    ],
  ];
  /** Each once, at so many requests from one to the next. */
  const each = (match: FaultRule['match'], effects: readonly FaultEffect[], apart: number): FaultRule[] =>
    effects.map((effect, i) => ({ match, times: 1, after: i * apart, effect }));
  const feed = { op: 'read-feed', coll: 'orders' } as const;

  test.each(byDay(kinds, { every: 2 }))('a feed, %s -> read in the end', async (_kind, effects) => {
    await using tapped = await Tapped.open(AVAD);
    const { move } = tapped;
    await write(move, orders(50));
    await begin(move);
    await move.admin.faults(each(feed, effects, 2));
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.documents).toMatchObject({ read: 50, written: 50 });
    await write(move, orders(50, { again: true }));
    await move.source.item('o3', 'c3').delete();
    await move.admin.faults(each(feed, effects, 2));
    const tailed = await move.run('catch-up');
    await expectStruck(move);
    expect(tailed.documents).toMatchObject({ read: 51, deleted: 1 });
    await expectSame(move, tailed);
  });

  test.each(byDay(kinds, { every: 2, from: 1 }))('batches, %s -> done in the end', async (_kind, effects) => {
    await using tapped = await Tapped.open(AVAD);
    const { move } = tapped;
    const colliding = [5, 6].map((n) => order(n, { id: 'one', tenantId: 'P' }));
    await write(move, [...orders(50), ...colliding]);
    await begin(move);
    const toTarget = each({ op: 'batch', coll: 'by-tenant' }, effects, 1);
    await move.admin.faults([...toTarget, ...each({ op: 'batch', coll: 'orders' }, effects, 0)]);
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.documents).toMatchObject({ written: 51, deadLettered: 1 });
    await move.admin.faults(toTarget);
    await move.source.item('one', 'c5').delete();
    await write(move, orders(20, { tenantId: 'moved' }));
    const tailed = await move.run('catch-up');
    await expectStruck(move);
    await expectSame(move, tailed);
  });
});

test('preflight: no reply -> it waits as long as a run does, then tries again', async () => {
  await using tapped = await Tapped.open();
  const { move } = tapped;
  await write(move, orders(5));
  const once = { times: 1, effect: { hang: 'before' } } as const;
  await move.admin.faults([
    { match: { op: 'pkranges' }, ...once },
    { match: { op: 'batch', coll: 'by-tenant' }, ...once },
    { match: { op: 'batch', coll: 'orders' }, ...once },
    { match: { op: 'read-feed', coll: 'by-tenant' }, ...once },
    { match: { op: 'read-feed', coll: 'orders' }, after: 1, ...once },
  ]);
  expect((await move.run('copy')).documents).toMatchObject({ written: 5 });
  await expectStruck(move);
});

describe('trouble: a lagging replica', () => {
  const LAG_MS = 1500;

  test('answers 304 -> the copy does not end', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(20));
    await move.admin.account({ replicaLagMs: LAG_MS });
    await write(move, orders(40).slice(20));
    // The anchors are read from one that is up to date, everything else from one that is not.
    const token = await newestToken(move);
    tap.meddle = (request, forward) => {
      if (request.what === 'read-feed' && request.container === 'orders') {
        if (request.headers['if-none-match'] === '*') request.headers['x-ms-session-token'] = token;
        else delete request.headers['x-ms-session-token'];
      }
      return forward();
    };
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ read: 40, written: 40 });
    await expectSame(move, copied);
  });

  test.each([
    ['is asked with the newest token there is', (): void => {}],
    [
      'is not believed when it shows what was before the anchor',
      ({ headers, what, container }: TapRequest): void => {
        const isPage = what === 'read-feed' && container === 'orders' && headers['if-none-match'] !== '*';
        if (isPage) delete headers['x-ms-session-token'];
      },
    ],
  ])('%s -> a document deleted before AVAD was primed does not come back', async (_how, meddle) => {
    await using tapped = await Tapped.open(AVAD);
    const { move, tap } = tapped;
    await write(move, orders(20));
    await move.admin.account({ replicaLagMs: LAG_MS });
    // Changes behind the delete, so that its LSN is not the newest.
    await move.source.item('o7', 'c7').delete();
    await write(move, orders(3, { after: 'the delete' }));
    const token = await newestToken(move);
    tap.meddle = (request, forward) => {
      if (isFeedEnd(request)) request.headers['x-ms-session-token'] = token;
      meddle(request);
      return forward();
    };
    const copied = await move.run('copy');
    await move.admin.account({ replicaLagMs: 0 });
    expect(await idsIn(move)).not.toContain('o7');
    await expectSame(move, copied);
    await expectSame(move, await move.run('catch-up'));
  });

  test.each([
    ['all versions', AVAD],
    ['latest versions', {}],
  ])('lags by an hour, %s -> writes from before the tail are not missed', async (_feed, options) => {
    await using tapped = await Tapped.open(options);
    const { move } = tapped;
    await write(move, orders(20));
    await move.run('copy');
    await move.admin.account({ replicaLagMs: 3_600_000 });
    for (let n = 0; n < 30; n += 1) await write(move, [order(n, { again: true })]);
    const tailed = await move.run('catch-up');
    await move.admin.account({ replicaLagMs: 0 });
    expect(tailed.documents).toMatchObject({ deadLettered: 0 });
    await expectSame(move, tailed);
  });

  test('in the target -> writes of the previous run are not hidden', async () => {
    await using tapped = await Tapped.open(AVAD);
    const { move, tap } = tapped;
    await write(move, orders(20));
    await move.admin.account({ replicaLagMs: 5000 });
    await move.run('copy');
    await move.source.item('o7', 'c7').delete();
    await write(move, [order(3, { tenantId: 'moved' })]);
    const token = await newestToken(move);
    tap.meddle = (request, forward) => {
      // The source says how far it is; whether the target has our writes is for the run to find out.
      if (isFeedEnd(request)) request.headers['x-ms-session-token'] = token;
      return forward();
    };
    const tailed = await move.run('catch-up');
    expect(tailed.documents).toMatchObject({ deleted: 1, moved: 1 });
    await move.admin.account({ replicaLagMs: 0 });
    await expectSame(move, tailed);
  });
});

describe('trouble: the feed of all versions', () => {
  const HOUR_MS = 3_600_000;

  test('has forgotten unread changes -> the documents are read again, and a comparison is due', async () => {
    await using tapped = await Tapped.open({ settings: { avad: true, retentionSeconds: 3600 } });
    const { move } = tapped;
    await write(move, orders(30));
    await move.run('copy');
    await write(move, [...orders(10, { again: true }), order(40), order(11, { tenantId: 'moved' })]);
    await move.source.item('o12', 'c12').delete();
    await move.admin.clock(2 * HOUR_MS);
    await write(move, [order(41), order(12, { again: 'made again' })]);
    const tailed = await move.run('catch-up');
    expect(tailed.sweepPending).toBe(true);
    expect(move.lines.join('')).toContain('has forgotten changes that were not read');
    await expectSame(move, tailed);
    // From there on deletes are reported again, and the sweep that is due stays due.
    await move.source.item('o13', 'c13').delete();
    const later = await move.run('catch-up');
    expect(later.sweepPending).toBe(true);
    expect(later.documents).toMatchObject({ deleted: 1 });
    await expectSame(move, later);
  });

  test('has forgotten changes while its range was splitting -> the documents are read again', async () => {
    await using tapped = await Tapped.open({ settings: { avad: true, retentionSeconds: 3600 } });
    const { move, tap } = tapped;
    await write(move, orders(30));
    await move.run('copy');
    await write(move, orders(20, { again: true }));
    await move.admin.clock(2 * HOUR_MS);
    const isAsked = ({ what, mode, headers }: TapRequest): boolean =>
      what === 'read-feed' && mode === 'all-versions' && headers['if-none-match'] === '*';
    // The third: where it ends, why it refuses, and then the new anchor.
    tap.meddle = before(isAsked, {
      2: ({ rangeId = '' }) => move.admin.split(SOURCE, { rangeId }),
      3: ({ rangeId = '' }) => move.admin.split(SOURCE, { rangeId: rangeId === '0' ? '1' : rangeId }),
    });
    const tailed = await move.run('catch-up');
    expect(tailed.sweepPending).toBe(true);
    expect(tailed.ranges.length).toBeGreaterThan(1);
    await expectSame(move, tailed);
  });

  test('is switched off -> the run ends with a hint, and resumes once it is on again', async () => {
    await using tapped = await Tapped.open(AVAD);
    const { move } = tapped;
    await write(move, orders(30));
    await move.run('copy');
    await write(move, orders(10, { tenantId: 'moved' }));
    await move.admin.account({ avad: false });
    await write(move, [order(30), order(5, { tenantId: 'moved again' })]);
    const refused = move.run('catch-up');
    await expect(refused).rejects.toThrow(NotReadyError);
    await expect(refused).rejects.toThrow('no longer reports deletes');
    const argv = ['tail', '--until-caught-up', ...SPEC];
    const ran = await runCosmig(argv, { env: envOf(move) });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain('switch it on again');
    await move.admin.account({ avad: true });
    const tailed = await move.run('catch-up');
    expect(tailed.sweepPending).toBe(true);
    await expectSame(move, tailed);
  });
});

describe('trouble: access is denied', () => {
  test('for a while -> waited out on both sides, without a dead letter', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    const colliding = [5, 6].map((n) => order(n, { id: 'one', tenantId: 'P' }));
    await write(move, [...orders(20), ...colliding]);
    await begin(move);
    const places = [
      { op: 'read-feed', coll: 'orders' },
      { op: 'batch', coll: 'by-tenant' },
      { op: 'batch', coll: 'orders' },
    ] as const;
    await move.admin.faults(
      places.map((match, i) => ({ match, times: 1, effect: { status: i % 2 === 0 ? 401 : 403 } })),
    );
    const copied = await move.run('copy');
    await expectStruck(move);
    expect(copied.documents).toMatchObject({ written: 21, deadLettered: 1 });
    expect(copied.durationMs).toBeGreaterThan(2000);
  });

  test.each<[number, FaultOp, string]>([
    [401, 'read-feed', 'orders'],
    [403, 'batch', 'by-tenant'],
    [403, 'create', 'by-tenant'],
  ])(
    'for good (%d to %s of %s) -> exit code 6, and the copy resumes once access is back',
    async (status, op, coll) => {
      await using tapped = await Tapped.open();
      const { move } = tapped;
      await write(move, orders(30));
      await begin(move);
      await move.admin.faults([{ match: { op, coll }, after: 2, effect: { status } }]);
      // The patience for it is two minutes.
      const copying = move.run('copy', { clock: fastClock(200) });
      await expect(copying).rejects.toThrow(ServiceError);
      await expect(copying).rejects.toMatchObject({ exitCode: 6, details: { status } });
      expect(move.ledger(({ letters }) => letters.openCount())).toBe(0);
      await move.admin.clearFaults();
      await expectSame(move, await move.run('copy'));
    },
  );
});

test('trouble: access stays denied, on the command line -> exit code 6, and why', async () => {
  await using tapped = await Tapped.open();
  const { move } = tapped;
  await write(move, orders(10));
  await begin(move);
  await move.admin.faults([{ match: { op: 'read-feed', coll: 'orders' }, effect: { status: 403 } }]);
  const around = { env: envOf(move), clock: fastClock(200) };
  const ran = await runCosmig(['copy', ...SPEC, '--json'], around);
  expect(ran.code).toBe(6);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    complete: false,
    documents: { deadLettered: 0 },
    error: { code: 'service', message: expect.stringContaining('403') as string },
  });
});

describe('trouble: a container is deleted and created again', () => {
  async function recreate({ client }: Move, id: 'orders' | 'by-tenant'): Promise<void> {
    const { containers } = client.database('shop');
    await client.database('shop').container(id).delete();
    await containers.create({ id, partitionKey: id === 'orders' ? '/customerId' : '/tenantId' });
  }

  test('the source, between two runs -> refused, and the target is left as it is', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(20));
    await move.run('copy');
    const target = await move.documents(move.target);
    await recreate(move, 'orders');
    for (const goal of ['copy', 'catch-up', 'tail'] as const)
      await expect(move.run(goal)).rejects.toMatchObject({ exitCode: 3 });
    expect(await move.documents(move.target)).toEqual(target);
  });

  test.each(['latest versions', 'all versions'])(
    'the source, during a tail with the feed of %s -> refused',
    async (feed) => {
      await using tapped = await Tapped.open(feed === 'all versions' ? AVAD : {});
      const { move, tap } = tapped;
      await write(move, orders(40));
      await move.run('copy');
      await write(move, orders(40, { again: true }));
      tap.meddle = before(isLaterPage, { 4: () => recreate(move, 'orders') });
      const tailing = move.run('catch-up', { clock: fastClock(300) });
      await expect(tailing).rejects.toMatchObject({ exitCode: 3 });
      await expect(tailing).rejects.toThrow('deleted and created again');
      expect(await move.documents(move.target)).toHaveLength(40);
    },
  );

  test.each([
    ['source', 'orders', 'latest versions'],
    ['source', 'orders', 'all versions'],
    ['target', 'by-tenant', 'latest versions'],
  ] as const)(
    'the %s (%s), during a tail with the feed of %s -> named within seconds',
    async (side, id, feed) => {
      await using tapped = await Tapped.open(feed === 'all versions' ? AVAD : {});
      const { move, tap } = tapped;
      await write(move, orders(40));
      await move.run('copy');
      await write(move, orders(40, { again: true }));
      let beganMs = 0;
      const isOfSide = ({ what, container }: TapRequest): boolean =>
        container === id && what === (side === 'source' ? 'read-feed' : 'batch');
      tap.meddle = before(isOfSide, {
        1: async () => {
          await recreate(move, id);
          beganMs = performance.now();
        },
      });
      await expect(move.run('tail')).rejects.toThrow(`the ${side} container was deleted and created again`);
      expect(performance.now() - beganMs).toBeLessThan(60_000);
      expect(await move.documents(move.target)).toHaveLength(side === 'source' ? 40 : 0);
    },
  );

  test('the source, while a tail waits for changes, and stays deleted -> named within seconds', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(5));
    await move.run('copy');
    let beganMs = 0;
    tap.meddle = before(({ what }) => what === 'read-feed', {
      4: async () => {
        await move.source.delete();
        beganMs = performance.now();
      },
    });
    await expect(move.run('tail')).rejects.toThrow('there is no source container shop/orders');
    expect(performance.now() - beganMs).toBeLessThan(60_000);
  });

  test('the source, during a point read -> the document does not count as deleted', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, [...orders(20), order(5, { id: 'one', tenantId: 'P' })]);
    await move.run('copy');
    // The place is taken; whether its holder is still there is asked of the source.
    await write(move, [order(6, { id: 'one', tenantId: 'P' })]);
    tap.meddle = before(isBatchOf('orders'), {
      1: async () => {
        await recreate(move, 'orders');
        // The new one has come as far as the old one had, so it answers a request with the old session token.
        await write(move, orders(60));
      },
    });
    await expect(move.run('catch-up', { clock: fastClock(300) })).rejects.toMatchObject({ exitCode: 3 });
    const [one] = (await move.documents(move.target)).filter(({ id }) => id === 'one');
    expect(one).toMatchObject({ customerId: 'c5' });
  });

  test('the target, during writes -> no missing document counts as written', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    tap.meddle = before(isBatchOf('by-tenant'), { 3: () => recreate(move, 'by-tenant') });
    await expect(move.run('copy')).rejects.toMatchObject({ exitCode: 3 });
    await expect(move.run('copy')).rejects.toMatchObject({ exitCode: 3 });
  });

  test('a write that reaches another container of the name of the target -> not done', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    tap.meddle = before(isBatchOf('by-tenant'), { 1: () => recreate(move, 'by-tenant') });
    const copying = move.run('copy');
    await expect(copying).rejects.toThrow('the target container was deleted and created again');
    expect(await move.documents(move.target)).toEqual([]);
  });

  test('the source stays deleted -> the run reports that', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    tap.meddle = before(isLaterPage, { 3: async () => move.source.delete() });
    const copying = move.run('copy', { clock: fastClock(300) });
    await expect(copying).rejects.toMatchObject({ exitCode: 3 });
    await expect(copying).rejects.toThrow('there is no source container');
    expect(move.ledger(({ letters }) => letters.openCount())).toBe(0);
  });
});
