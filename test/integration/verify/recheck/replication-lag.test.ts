/** A lagging replica: what it does not show is neither a confirmed difference nor equal. */
import { describe, expect, test } from 'vitest';
import { lsnOf } from '../../../../src/cosmos/feed/session-tokens.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { Tapped } from '../../../helpers/migration/tapped.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

/** From now on writes are visible only to reads with their session token. */
const LAG = { replicaLagMs: 600_000 };
const order = (n: number, more: object = {}): Order => ({
  id: `o${n}`,
  customerId: `c${n % 17}`,
  tenantId: `t${n % 5}`,
  n,
  ...more,
});

async function copied(): Promise<Move> {
  const move = await Move.open({ settings: { avad: true } });
  await putAll(
    move,
    Array.from({ length: 20 }, (_, n) => order(n)),
  );
  await move.run('copy');
  return move;
}

test('verify: document just replicated, target replica lags -> not a difference', async () => {
  await using move = await copied();
  await move.put(order(1, { again: 1 }));
  await move.admin.account(LAG);
  let rounds = 0;
  let caughtUp: Promise<unknown> | undefined;
  const verdict = await verifyMove(move, {
    deadlineMs: 60_000,
    timing: { gapMs: 300 },
    onProgress: ({ stage }) => {
      // It was seen to differ once by then.
      if (stage === 'rechecking' && (rounds += 1) === 2) caughtUp = move.run('catch-up');
    },
  });
  await caughtUp;
  expect(rounds).toBeGreaterThan(1);
  expect(verdict).toMatchObject({ equal: true, inFlight: 0 });
});

test('verify: source replica hides what the mover has seen -> not a difference', async () => {
  await using move = await copied();
  await move.admin.account(LAG);
  await move.put(order(1, { again: 1 }), order(2, { tenantId: 'moved' }));
  await move.run('catch-up');
  expect(await verifyMove(move)).toMatchObject({ equal: true, inFlight: 0 });
});

/** Queries of the local account see the newest state, so a count brings it into the session; the feed alone does not. */
const HOW = [
  ['changes', { level: 'changes' }],
  ['changes without counts', { level: 'changes', isCounted: false }],
  ['all', { level: 'digest', newest: true, fresh: true }],
] as const;

describe.each(HOW)('verify %s', (_how, parts) => {
  test.each([1, 10])('change made just now, the last of %i -> compared', async (changes) => {
    await using move = await copied();
    expect(await verifyMove(move)).toMatchObject({ equal: true });
    await move.admin.account(LAG);
    for (let n = 1; n < changes; n += 1) await move.target.items.upsert(order(8));
    await move.target.items.upsert(order(7, { wrong: 1 }));
    expect(await verifyMove(move, parts)).toMatchObject({ equal: false, differences: { different: 1 } });
  });
});

test.each([
  ['source', 'orders', 'c7'],
  ['target', 'by-tenant', 't2'],
] as const)(
  'verify changes: delete made just now in the %s, one replica does not show it -> found by the counts',
  async (side, name, key) => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await putAll(
      move,
      Array.from({ length: 20 }, (_, n) => order(n)),
    );
    await move.run('copy');
    expect(await verifyMove(move)).toMatchObject({ equal: true });
    await move[side].item('o7', key).delete();
    const newest = (await move.admin.ranges(`shop/${name}`)).map(({ lsn }) => lsn);
    // A replica counts what it shows, unless the session asks for more.
    tap.meddle = async (request, forward) => {
      const isCount = request.body.includes('COUNT(1)') && request.container === name;
      const asked = lsnOf(request.headers['x-ms-session-token']) ?? 0;
      const reply = await forward();
      if (!isCount || newest.includes(asked)) return reply;
      const count = (JSON.parse(reply.body.toString()) as { Documents: number[] }).Documents[0] ?? 0;
      return { ...reply, body: Buffer.from(JSON.stringify({ Documents: [count + 1] })) };
    };
    expect(await verifyMove(move, { level: 'changes', deadlineMs: 0 })).toMatchObject({
      details: { extent: 'all' },
    });
  },
);
