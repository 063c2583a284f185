/** Numbers that differ while somebody writes, or where a replica lags, are not called a difference. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/lib/clock.ts';
import { order, orders, SOURCE, Tapped, write } from '../helpers/tapped.ts';
import type { TapRequest } from '../helpers/tap.ts';
import { verifyMove } from '../helpers/verify.ts';

const COUNT = 20;
const DEADLINE_MS = 60_000;
const NOTHING = { missing: 0, extra: 0, different: 0, wrongSlot: 0 };

async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true } });
  await write(tapped.move, orders(COUNT));
  await tapped.move.run('copy');
  return tapped;
}

const isCount = ({ container, headers }: TapRequest): boolean =>
  container === 'orders' && headers['x-ms-documentdb-isquery'] !== undefined;

/** The time is over behind the third look. */
const clockOf = (looks: () => number): Clock => ({
  now: () => systemClock.now() + (looks() < 3 ? 0 : 2 * DEADLINE_MS),
});

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
  const verdict = await verifyMove(move, {
    level: 'count',
    deadlineMs: DEADLINE_MS,
    clock: clockOf(() => looks),
  });
  expect(looks).toBe(3);
  expect(verdict).toMatchObject({ equal: null, differences: NOTHING, inFlight: 1 });
});

test('where the mover is behind what was counted, and the replica that tells how far it is lags', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  // Nobody sees what is written from now on, but for who counts.
  await move.admin.account({ replicaLagMs: 600_000 });
  await write(move, [order(COUNT)]);
  const [range] = await move.admin.ranges(SOURCE);
  let looks = 0;
  tap.meddle = async (request, forward) => {
    if (isCount(request)) {
      looks += 1;
      request.headers['x-ms-session-token'] = `${range?.id}:-1#${range?.lsn}`;
    }
    return forward();
  };
  const verdict = await verifyMove(move, {
    level: 'count',
    deadlineMs: DEADLINE_MS,
    clock: clockOf(() => looks),
  });
  expect(looks).toBe(3);
  expect(verdict).toMatchObject({ equal: null, differences: NOTHING, inFlight: 1 });
});
