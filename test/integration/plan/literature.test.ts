/**
 * The data sets of the literature, generated from a seed and loaded into an account in one go, with the command that an
 * operator types. What the text calls bad is not recommended, and the reason is the text's.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { bulkLoad } from '../../helpers/emulator/bulk-load.ts';
import { byDay } from '../../helpers/generated.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import { cars, feeds, NOW, orders, posts, tenants, type Item } from '../../unit/plan/verdict/literature.ts';

const COUNT = 1200;
const SEEDS = byDay([11, 12], { every: 2 });

let move: Move;
beforeAll(async () => {
  move = await Move.open();
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

interface Reason {
  readonly code: string;
  readonly text: string;
}
interface Growth {
  readonly from: string;
  readonly bytesPerDay: number;
  readonly partitionsAtHorizon: number;
  readonly first: { readonly value: string; readonly bytesPerDay: number } | null;
}
interface Planned {
  readonly code: number;
  readonly recommendation: {
    readonly action: string;
    readonly key?: string;
    readonly why: readonly string[];
    readonly unless: readonly string[];
  };
  readonly reasons: Readonly<Record<string, readonly Reason[]>>;
  readonly growth: readonly Growth[];
}

let containers = 0;

/** Loads a data set into a container of its own, and plans for it. */
async function plan(
  items: readonly Item[],
  {
    key,
    candidates = [],
    throughput = 60_000,
    argv = [],
  }: {
    readonly key: string;
    readonly candidates?: readonly string[];
    readonly throughput?: number;
    readonly argv?: readonly string[];
  },
): Promise<Planned> {
  containers += 1;
  const id = `literature-${containers}`;
  const { database } = await move.client.databases.createIfNotExists({ id: 'shop' });
  const { container } = await database.containers.create({ id, partitionKey: key, throughput });
  await bulkLoad(
    container,
    items.map(({ _ts: _written, ...item }) => item),
  );
  const ran = await runCosmig(
    [
      'plan',
      '--source',
      `shop/${id}`,
      '--json',
      ...candidates.flatMap((candidate) => ['--candidate', candidate]),
      ...argv,
    ],
    { env: { ...envOf(move), COSMIG_LEDGER: `${move.ledgerPath}-${containers}` }, clock: systemClock },
  );
  const { recommendation, candidates: measured } = JSON.parse(ran.stdout) as {
    readonly recommendation: Planned['recommendation'];
    readonly candidates: readonly {
      readonly key: string;
      readonly growth: Growth;
      readonly verdict: Readonly<Record<'blockers' | 'risks', readonly Reason[]>>;
    }[];
  };
  return {
    code: ran.code,
    recommendation,
    growth: measured.map(({ growth }) => growth),
    reasons: Object.fromEntries(
      measured.map((one) => [one.key, [...one.verdict.blockers, ...one.verdict.risks]]),
    ),
  };
}

const codes = (reasons: readonly Reason[] | undefined): readonly string[] =>
  (reasons ?? []).map(({ code }) => code).toSorted();
const texts = (reasons: readonly Reason[] | undefined): string =>
  (reasons ?? []).map(({ text }) => text).join('\n');

test.each(SEEDS)(
  'tenants A to F with a giant, seed %i -> storage and writes are hot; to the user',
  async (seed) => {
    const candidates = ['/userId', '/tenantId,/userId'];
    const { recommendation, reasons } = await plan(tenants(seed, COUNT), { key: '/tenantId', candidates });
    expect(codes(reasons['/tenantId'])).toEqual(['few-values', 'recency', 'uneven']);
    expect(texts(reasons['/tenantId'])).toMatch(
      /7\d % of all documents have the value A|6\d % of all documents have the value A/,
    );
    expect(texts(reasons['/tenantId'])).toMatch(/% of the writes of the last hour went to the value A/);
    expect(recommendation).toMatchObject({ action: 'migrate', key: '/userId' });
  },
);

test.each(SEEDS)('orders, seed %i -> by time hot now, by category few values, by item good', async (seed) => {
  const candidates = ['/orderTime', '/orderDay', '/category', '/id'];
  const { recommendation, reasons } = await plan(orders(seed, COUNT), { key: '/source', candidates });
  expect(codes(reasons['/orderTime'])).toEqual(['time-values']);
  expect(codes(reasons['/orderDay'])).toEqual(['recency']);
  expect(texts(reasons['/orderDay'])).toMatch(
    /storage is even, but all that is written now goes to one value/,
  );
  expect(codes(reasons['/category'])).toContain('few-values');
  expect(texts(reasons['/category'])).toMatch(/the key has only 8 values/);
  expect(codes(reasons['/id'])).toEqual([]);
  expect(recommendation).toMatchObject({ action: 'migrate', key: '/id' });
});

test.each(SEEDS)('connected cars, seed %i -> by model few, by month hot, by device good', async (seed) => {
  const candidates = ['/model', '/month', '/deviceId', '/pk={deviceId}-{createdAt|month}'];
  // The growth is that of the last month, so the data has to be of these days.
  const shiftMs = systemClock.now() - NOW * 1000;
  const items = cars(seed, COUNT).map((car) => ({
    ...car,
    createdAt: new Date(Date.parse(String(car['createdAt'])) + shiftMs).toISOString(),
  }));
  const { recommendation, reasons, growth } = await plan(items, {
    key: '/plant',
    candidates,
    argv: ['--created', '/createdAt'],
  });
  expect(codes(reasons['/model'])).toContain('few-values');
  expect(codes(reasons['/month'])).toEqual(expect.arrayContaining(['few-values', 'recency']));
  expect(codes(reasons['/deviceId'])).toEqual([]);
  expect(codes(reasons[candidates[3] ?? ''])).toEqual([]);
  expect(recommendation).toMatchObject({ action: 'migrate', key: '/deviceId' });
  // The container grows as its dates of creation say, and a device by its part of it.
  expect(new Set(growth.map(({ from }) => from))).toEqual(new Set(['/createdAt']));
  const [present, , , device] = growth;
  expect(present?.partitionsAtHorizon).toBeGreaterThanOrEqual(10);
  expect(device?.first?.bytesPerDay).toBeLessThan((present?.bytesPerDay ?? 0) / 20);
});

test.each(SEEDS)(
  'feeds, seed %i -> by month hot; provider with a bucket, or a unique id, good',
  async (seed) => {
    const good = ['/pk={provider}-{createdAt|month}', '/pk={provider}-{createdAt|quarter}', '/guid'];
    const { recommendation, reasons } = await plan(feeds(seed, COUNT), {
      key: '/site',
      candidates: ['/month', ...good],
    });
    expect(codes(reasons['/month'])).toContain('recency');
    for (const key of good) expect([key, codes(reasons[key])]).toEqual([key, []]);
    expect(recommendation.action).toBe('migrate');
    expect(good).toContain(recommendation.key);
  },
);

test.each(SEEDS)('a social timeline, seed %i -> by user and month', async (seed) => {
  const [good, bad] = ['/pk={userId}-{createdAt|month}', '/pk={createdAt|month}'];
  const { recommendation, reasons } = await plan(posts(seed, COUNT), {
    key: '/network',
    candidates: [good, bad],
  });
  expect(codes(reasons[good])).toEqual([]);
  expect(codes(reasons[bad])).toContain('recency');
  expect(recommendation).toMatchObject({ action: 'migrate', key: good });
});

test.each(SEEDS)(
  'a date as the present key, seed %i -> to the date with a suffix of 1 to 400',
  async (seed) => {
    const suffixed = '/pk={orderDay}-{id|hash:400}';
    const { recommendation, reasons } = await plan(orders(seed, COUNT), {
      key: '/orderDay',
      candidates: [suffixed],
    });
    expect(codes(reasons['/orderDay'])).toEqual(['recency']);
    expect(codes(reasons[suffixed])).toEqual([]);
    expect(recommendation).toMatchObject({ action: 'migrate', key: suffixed });
  },
);

test.each(SEEDS)('a container below five partitions, seed %i -> left as it is', async (seed) => {
  const { recommendation } = await plan(tenants(seed, COUNT), {
    key: '/tenantId',
    candidates: ['/userId'],
    throughput: 10_000,
  });
  expect(recommendation.action).toBe('keep');
  expect(recommendation.why.join()).toMatch(/physical partitions?, and a key matters from about 5 on/);
});

const BAD = /^\/(?:tenantId|category|model|month|orderDay|orderTime|createdAt|plant|site|network|source)$/;

test.each(
  SEEDS.flatMap((seed) =>
    Object.entries({
      tenants: [tenants, '/tenantId'],
      orders: [orders, '/source'],
      cars: [cars, '/plant'],
      feeds: [feeds, '/site'],
      posts: [posts, '/network'],
    } as const).map(([name, [make, key]]) => [name, seed, make, key] as const),
  ),
)('%s, seed %i, no candidates typed -> a good one is found', async (_name, seed, make, key) => {
  const { recommendation, reasons } = await plan(make(seed, COUNT), { key });
  expect(Object.keys(reasons).length).toBeGreaterThan(1);
  expect(recommendation.action).toBe('migrate');
  expect(recommendation.key).not.toMatch(BAD);
});
