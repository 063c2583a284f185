/** Counts that differ because of concurrent writes or a lagging replica are not differences. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/lib/clock.ts';
import type { Verdict } from '../../../../src/verify/verdict.ts';
import type { Move } from '../../../helpers/migration/move.ts';
import { before, order, orders, SOURCE, Tapped, TARGET, write } from '../../../helpers/migration/tapped.ts';
import type { TapRequest } from '../../../helpers/migration/tap.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { clockAt } from '../../../helpers/clock.ts';

const COUNT = 20;
const DEADLINE_MS = 60_000;
const NOTHING = { missing: 0, extra: 0, different: 0, wrongSlot: 0 };

async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true } });
  await write(tapped.move, orders(COUNT));
  await tapped.move.run('copy');
  return tapped;
}

const isQueryOf = ({ container, headers }: TapRequest, name: string): boolean =>
  container === name && headers['x-ms-documentdb-isquery'] !== undefined;
/** Strikes after the target was counted; the source is counted last. */
const isCount = (request: TapRequest): boolean => isQueryOf(request, 'orders');

/** Looks until the deadline. */
const LOOKS_MAX = 4;
const clockOf = (looks: () => number): Clock =>
  clockAt(() => systemClock.now() + (looks() < LOOKS_MAX ? 0 : 2 * DEADLINE_MS));

const countedWithin = async (move: Move, looks: () => number): Promise<Verdict> =>
  // A count that is held while the mover runs is not lost: it must not be asked for again.
  verifyMove(move, {
    level: 'count',
    deadlineMs: DEADLINE_MS,
    clock: clockOf(looks),
    timing: { requestTimeoutMs: 45_000 },
  });

test('verify count: two looks with different counts -> not proven', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  let looks = 0;
  tap.meddle = async (request, forward) => {
    if (!isCount(request)) return forward();
    // The mover had replicated everything, and the target was counted.
    await write(move, [order(COUNT + looks)]);
    looks += 1;
    const reply = await forward();
    move.connectionString = move.emulator.connectionString;
    await move.run('catch-up');
    return reply;
  };
  const verdict = await countedWithin(move, () => looks);
  expect(looks).toBe(LOOKS_MAX);
  expect(verdict).toMatchObject({ equal: null, differences: NOTHING, inFlight: 1 });
});

test('verify count: mover behind and a lagging replica hides it -> not proven', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  // A count sees what is written from now on (the emulator's queries do not lag); a feed shows it only to a request with
  // its session token.
  await move.admin.account({ replicaLagMs: 600_000 });
  await write(move, [order(COUNT)]);
  let looks = 0;
  tap.meddle = async (request, forward) => {
    if (isCount(request)) looks += 1;
    return forward();
  };
  const verdict = await countedWithin(move, () => looks);
  expect(looks).toBe(LOOKS_MAX);
  expect(verdict).toMatchObject({ equal: null, differences: NOTHING, inFlight: 1 });
});

test('verify count: mover commits between looks -> the target is read with its session token', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  await write(move, [order(COUNT)]);
  let looks = 0;
  tap.meddle = async (request, forward) => {
    if (isCount(request) && (looks += 1) === 2) {
      move.connectionString = move.emulator.connectionString;
      await move.run('catch-up');
    }
    return forward();
  };
  const verdict = await countedWithin(move, () => looks);
  expect(verdict).toMatchObject({ equal: true, source: { count: COUNT + 1 } });
  const [range] = await move.admin.ranges(TARGET);
  const last = tap.seen.findLast((request) => isQueryOf(request, 'by-tenant'));
  expect(last?.headers['x-ms-session-token']).toBe(`${range?.id}:-1#${range?.lsn}`);
});

test.each([
  { name: 'orders', path: SOURCE },
  { name: 'by-tenant', path: TARGET },
])(
  'verify count: a range of $name splits while it is counted -> its children are counted',
  async ({ name, path }) => {
    await using tapped = await copied();
    const { move, tap } = tapped;
    const isCounted = (request: TapRequest): boolean => isQueryOf(request, name);
    tap.meddle = before(isCounted, { 1: async () => move.admin.split(path) });
    let looks = 0;
    const verdict = await verifyMove(move, { level: 'count', onProgress: () => (looks += 1) });
    expect(verdict).toMatchObject({ equal: true, source: { count: COUNT }, target: { count: COUNT } });
    expect(looks).toBe(1);
    expect(await move.admin.ranges(path)).toHaveLength(2);
  },
);
