/** Pages that a pass must not take, and where the next one starts after writes behind the fence. */
import { expect, test } from 'vitest';
import type { TapRequest } from '../../../helpers/migration/tap.ts';
import { before, order, orders, SOURCE, Tapped, TARGET, write } from '../../../helpers/migration/tapped.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { until } from '../../../helpers/wait.ts';

const COUNT = 40;

async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true } });
  await write(tapped.move, orders(COUNT));
  await tapped.move.run('copy');
  return tapped;
}

const isFeedOf = (request: TapRequest, name: string): boolean =>
  request.what === 'read-feed' && request.mode === 'latest-version' && request.container === name;
const isEnd = ({ headers }: TapRequest): boolean => headers['if-none-match'] === '*';

test('verify pass: a page of a replica behind the fence -> read again', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  expect(await verifyMove(move)).toMatchObject({ equal: true });
  // Only a request with its session token sees the next write.
  await move.admin.account({ replicaLagMs: 600_000 });
  await move.target.items.upsert(order(7, { wrong: 1 }));
  let old = 0;
  tap.meddle = async (request, forward) => {
    const isAsked = isFeedOf(request, 'by-tenant') && !isEnd(request) && old < 3;
    if (isAsked) {
      old += 1;
      // As one that does not heed it.
      delete request.headers['x-ms-session-token'];
    }
    return forward();
  };
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({
    equal: false,
    differences: { different: 1 },
  });
  expect(old).toBe(3);
});

test('verify pass: write behind the fence -> left to the next incremental pass', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  const ended = new Set<string>();
  let writing: Promise<void> | undefined;
  // One write is replicated, and then the target is changed again: the sums include neither.
  const writeBehind = async (): Promise<void> => {
    await until(() => ended.size === 2, { what: 'the ends of both sides' });
    await write(move, [order(7, { again: 1 })]);
    move.connectionString = move.emulator.connectionString;
    await move.run('catch-up');
    move.connectionString = tap.connectionString;
    await move.target.items.upsert(order(7, { again: 2 }));
  };
  tap.meddle = async (request, forward) => {
    const { container = '' } = request;
    if (!isFeedOf(request, container)) return forward();
    if (!isEnd(request)) await (writing ??= writeBehind());
    const reply = await forward();
    if (isEnd(request)) ended.add(container);
    return reply;
  };
  expect(await verifyMove(move)).toMatchObject({
    equal: true,
    source: { count: COUNT - 1 },
    target: { count: COUNT - 1 },
  });
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({
    equal: false,
    samples: [{ kind: 'different', id: 'o7' }],
  });
});

test.each([
  { side: 'source', path: SOURCE, name: 'orders', key: '/customerId' },
  { side: 'target', path: TARGET, name: 'by-tenant', key: '/tenantId' },
])(
  'verify pass: the $side was deleted and created again meanwhile -> not read further',
  async ({ side, name, key }) => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    const { containers } = move.client.database('shop');
    tap.meddle = before((request) => isFeedOf(request, name) && !isEnd(request), {
      3: async () => {
        await move.client.database('shop').container(name).delete();
        const { container } = await containers.create({ id: name, partitionKey: key });
        for (const one of orders(2 * COUNT)) await container.items.create(one);
      },
    });
    await expect(verifyMove(move)).rejects.toMatchObject({
      message: `the ${side} container was deleted and created again`,
      exitCode: 3,
    });
  },
);
