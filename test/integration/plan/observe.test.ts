/** What `--observe` reports of a load that is known. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Move } from '../../helpers/migration/move.ts';
import { Tap } from '../../helpers/migration/tap.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { CosmigRun } from '../../helpers/run-cosmig.ts';

interface Observed {
  readonly hottest: { readonly value: string; readonly writesPerSecond: number } | null;
  readonly movesShare: number;
  readonly brokenBatches: { readonly broken: number; readonly seen: number };
}
interface Planned {
  readonly source: { readonly averageBytes: number };
  readonly observed: { readonly seconds: number; readonly writes: number; readonly updates: number };
  readonly candidates: readonly { readonly key: string; readonly observed: Observed | null }[];
}

const DOCUMENTS = 60;
const signal = new AbortController().signal;
const write = (n: number, more: object = {}): Record<string, unknown> => ({
  id: `o${n}`,
  customerId: `c${n}`,
  tenantId: n < 40 ? 'hot' : `t${n}`,
  ...more,
});

test.each([
  ['as it is', async () => undefined],
  ['and a range splits', async (move: Move) => move.admin.split('shop/orders', { rangeId: '0' })],
])(
  'a known load, %s -> writes of the hottest value, moves, broken batches',
  async (_name, strike: (move: Move) => Promise<unknown>) => {
    await using move = await Move.open({ source: { throughput: 12_000 } });
    await using tap = await Tap.open(move.emulator);
    move.connectionString = tap.connectionString;
    const run = new CosmigRun(
      ['plan', '--source', 'shop/orders', '--candidate', '/tenantId', '--json', '--observe', '9s'],
      { env: envOf(move), clock: systemClock },
    );
    // The pass and the one who follows ask both ranges for their end.
    const ends = (): number =>
      tap.seen.filter(({ mode, headers }) => mode === 'latest-version' && headers['if-none-match'] === '*')
        .length;
    await expect.poll(ends, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    await systemClock.sleep(300, signal);
    await Promise.all(Array.from({ length: DOCUMENTS }, (_none, n) => move.source.items.create(write(n))));
    await systemClock.sleep(1800, signal);
    await strike(move);
    // Every second one of these updates changes the tenant.
    await Promise.all(
      Array.from({ length: 20 }, (_none, n) =>
        move.source.items.upsert(write(n, n % 2 === 0 ? { tenantId: 'other' } : { note: 'changed' })),
      ),
    );
    for (let n = 0; n < 5; n += 1)
      await move.source.items.batch(
        [0, 1].map((at) => ({
          operationType: 'Create' as const,
          resourceBody: { id: `b${n}-${at}`, customerId: `b${n}`, tenantId: n < 3 ? `b${at}` : 'together' },
        })),
        `b${n}`,
      );
    const ran = await run.ended;
    expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, '']);
    const { observed, candidates } = JSON.parse(ran.stdout) as Planned;
    expect(observed).toMatchObject({ writes: DOCUMENTS + 20 + 10, updates: 20 });
    const [present, tenant] = candidates.map(({ observed: one }) => one);
    expect(present).toMatchObject({ movesShare: 0, brokenBatches: { broken: 0, seen: 5 } });
    // 40 creations and the 10 updates that stay there.
    expect(tenant).toMatchObject({
      hottest: { value: 'hot', writesPerSecond: 50 / observed.seconds },
      movesShare: 0.5,
      brokenBatches: { broken: 3, seen: 5 },
    });
  },
);
