/** Numbers that differ while somebody writes, or where a replica lags, are not called a difference. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/lib/clock.ts';
import type { Verdict } from '../../../../src/verify/verdict.ts';
import type { Move } from '../../../helpers/move.ts';
import { before, order, orders, SOURCE, Tapped, TARGET, write } from '../../../helpers/tapped.ts';
import type { TapRequest } from '../../../helpers/tap.ts';
import { verifyMove } from '../../../helpers/verify.ts';
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
/** The source is counted last. */
const isCount = (request: TapRequest): boolean => isQueryOf(request, 'orders');

/** The time is over behind so many looks. */
const LOOKS_MAX = 4;
const clockOf = (looks: () => number): Clock =>
  clockAt(() => systemClock.now() + (looks() < LOOKS_MAX ? 0 : 2 * DEADLINE_MS));

const countedWithin = async (move: Move, looks: () => number): Promise<Verdict> =>
  verifyMove(move, { level: 'count', deadlineMs: DEADLINE_MS, clock: clockOf(looks) });

test('of two looks that find another number each', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  let looks = 0;
  tap.meddle = async (request, forward) => {
    if (!isCount(request)) return forward();
    // The mover had brought over everything, and the target was counted.
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

test('where the mover is behind what was counted, and the replica that tells how far it is lags', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  // Whoever counts sees what is written from now on (the emulator's queries do not lag); feeds show it with its token only.
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

test('the target is asked with what the mover has committed meanwhile', async () => {
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
  'a range of $name that splits while it is counted is counted as what it has become',
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
