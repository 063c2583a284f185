import { describe, expect, test } from 'vitest';
import { lsnOf } from '../../../../src/cosmos/feed/session-tokens.ts';
import type { Meddle, TapRequest } from '../../../helpers/migration/tap.ts';
import { before, order, orders, SOURCE, TARGET, Tapped, write } from '../../../helpers/migration/tapped.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';

const COUNT = 200;
const CONTAINERS = ['orders', 'by-tenant'] as const;

/** Both sides equal; forgets the requests that made them so. */
async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, orders(COUNT));
  await move.run('copy');
  await move.run('catch-up');
  tap.seen.length = 0;
  return tapped;
}

/** Counts the documents returned by pages and point reads, by container. */
function counting(): { readonly meddle: Meddle; readonly documents: Record<string, number> } {
  const documents: Record<string, number> = {};
  const meddle: Meddle = async (request, forward) => {
    const reply = await forward();
    const { what, container = '' } = request;
    const name = `${what} ${container}`;
    if (reply.status >= 300 || (what !== 'read-feed' && what !== 'batch')) return reply;
    const body: unknown = JSON.parse(reply.body.toString());
    const list: unknown = what === 'batch' ? body : Reflect.get(body as object, 'Documents');
    documents[name] = (documents[name] ?? 0) + (list as readonly unknown[]).length;
    return reply;
  };
  return { meddle, documents };
}

/** RU charged so far by the ranges of both sides. */
async function chargesOf({ move }: Tapped): Promise<number[]> {
  const all = [await move.admin.ranges(SOURCE), await move.admin.ranges(TARGET)];
  return all.map((ranges) => ranges.reduce((sum, range) => sum + Number(Reflect.get(range, 'ru')), 0));
}

const isData = ({ what, container }: TapRequest): boolean =>
  (what === 'read-feed' || what === 'batch') && CONTAINERS.some((name) => name === container);

describe('verify reads', () => {
  test('equal sides -> each document once, and the RU are reported', async () => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    const { meddle, documents } = counting();
    tap.meddle = meddle;
    const charged = await chargesOf(tapped);
    const verdict = await verifyMove(move);
    expect(verdict.equal).toBe(true);
    expect(documents).toEqual({ 'read-feed orders': COUNT, 'read-feed by-tenant': COUNT });
    const spent = (await chargesOf(tapped)).map((ru, side) => ru - (charged[side] ?? 0));
    expect(verdict.ru.source).toBeCloseTo(spent[0] ?? 0);
    expect(verdict.ru.target).toBeCloseTo(spent[1] ?? 0);
    expect(verdict.ru.source).toBeGreaterThan(COUNT / 2);
  });

  test('differences -> point reads of those documents only', async () => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    await move.target.items.upsert(order(7, { n: 8 }));
    await move.target.item('o9', 't4').delete();
    await move.target.items.create({ id: 'extra', customerId: 'c1', tenantId: 't1' });
    const { meddle, documents } = counting();
    tap.meddle = meddle;
    // What is lost is read again.
    expect(await verifyMove(move, { timing: { requestTimeoutMs: 45_000 } })).toMatchObject({
      equal: false,
      differences: { missing: 1, extra: 1, different: 1, wrongSlot: 0 },
    });
    // Each of three is looked at twice.
    expect(documents).toEqual({
      'read-feed orders': COUNT,
      'read-feed by-tenant': COUNT,
      'batch orders': 6,
      'batch by-tenant': 6,
    });
  });

  test.each(['digest', 'count'] as const)('--level %s -> low priority on both sides', async (level) => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    await move.target.items.upsert(order(7, { n: 8 }));
    await verifyMove(move, { level });
    const isQuery = ({ headers, container }: TapRequest): boolean =>
      headers['x-ms-documentdb-isquery'] !== undefined && CONTAINERS.some((name) => name === container);
    const reads = tap.seen.filter((request) => isData(request) || isQuery(request));
    const kinds = new Set(reads.map(({ what, container }) => `${what} ${container}`));
    expect(kinds).toEqual(
      new Set(
        level === 'count'
          ? ['other orders', 'other by-tenant', 'read-feed orders']
          : CONTAINERS.flatMap((name) => [`read-feed ${name}`, `other ${name}`, `batch ${name}`]),
      ),
    );
    for (const { headers } of reads) expect(headers['x-ms-cosmos-priority-level']).toBe('Low');
  });
});

test('verify: first request to each side -> sends the session tokens of the mover', async () => {
  await using tapped = await Tapped.open({ settings: { avad: true } });
  const { move, tap } = tapped;
  await write(move, orders(20));
  await move.run('copy');
  await write(move, [order(3, { again: 1 })]);
  await move.run('catch-up');
  await move.target.items.upsert(order(7, { n: 8 }));
  tap.seen.length = 0;
  expect(await verifyMove(move)).toMatchObject({ equal: false, differences: { different: 1 } });
  const known = move.ledger(({ tokens, targetTokens }) => ({
    orders: lsnOf(tokens.all()[0]?.token),
    'by-tenant': lsnOf(targetTokens.all()[0]?.token),
  }));
  for (const name of CONTAINERS) {
    const asked = tap.seen.filter((request) => isData(request) && request.container === name);
    expect(asked.length).toBeGreaterThan(2);
    const lsns = asked.map(({ headers }) => lsnOf(headers['x-ms-session-token']) ?? 0);
    expect(Math.min(...lsns)).toBeGreaterThanOrEqual(known[name] ?? Infinity);
  }
});

describe('verify: ranges that change during the pass', () => {
  /** Nothing is left out, counted twice or looked at again. */
  const WHOLE = {
    equal: true,
    source: { count: COUNT },
    target: { count: COUNT },
    details: { lookedAtAgain: 0 },
  };
  const isLaterPageOf =
    (name: string) =>
    ({ what, container, headers }: TapRequest): boolean => {
      const from = headers['if-none-match'];
      return what === 'read-feed' && container === name && from !== undefined && from !== '*';
    };

  test.each([
    { path: SOURCE, name: 'orders' },
    { path: TARGET, name: 'by-tenant' },
  ])(
    'of $name, merged and split again -> no document is left out or counted twice',
    async ({ path, name }) => {
      await using tapped = await copied();
      const { move, tap } = tapped;
      await move.admin.split(path, { rangeId: '0' });
      await move.admin.split(path, { rangeId: '1' });
      tap.meddle = before(isLaterPageOf(name), {
        5: async () => move.admin.merge(path, ['4', '2']),
        12: async () => move.admin.split(path, { rangeId: '5' }),
      });
      const verdict = await verifyMove(move);
      expect(verdict).toMatchObject(WHOLE);
      expect((await move.admin.ranges(path)).map(({ id }) => id)).toEqual(['3', '6', '7']);
    },
  );

  test('split, and a child splits again -> equal', async () => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    const splitting = before(isLaterPageOf('orders'), {
      3: async () => move.admin.split(SOURCE, { rangeId: '0' }),
      8: async () => move.admin.split(SOURCE, { rangeId: '1' }),
      14: async () => move.admin.split(SOURCE, { rangeId: '4' }),
    });
    const { meddle, documents } = counting();
    tap.meddle = async (request, forward) => meddle(request, async () => splitting(request, forward));
    const verdict = await verifyMove(move);
    expect(verdict).toMatchObject(WHOLE);
    // A child continues from the position of its parent.
    expect(documents).toEqual({ 'read-feed orders': COUNT, 'read-feed by-tenant': COUNT });
    const ids = (await move.admin.ranges(SOURCE)).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(['2', '3', '5', '6']);
    const { source } = verdict.details.ranges;
    expect(source.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(source.reduce((sum, { documents }) => sum + documents, 0)).toBe(COUNT);
  });
});
