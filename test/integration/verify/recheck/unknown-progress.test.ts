/** Where the progress of the mover is not known, no document is a confirmed difference. */
import { expect, test } from 'vitest';
import { effectiveKey } from '../../../../src/epk/effective-key.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import type { Verdict } from '../../../../src/verify/verdict.ts';
import { clockAt } from '../../../helpers/clock.ts';
import type { Move, Order } from '../../../helpers/migration/move.ts';
import { begin, order, orders, SOURCE, Tapped, write } from '../../../helpers/migration/tapped.ts';
import type { TapRequest } from '../../../helpers/migration/tap.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';

const COUNT = 20;
const NOTHING = { missing: 0, extra: 0, different: 0, wrongSlot: 0 };
const IN_FLIGHT = {
  equal: null,
  inFlight: 1,
  differences: NOTHING,
  waitsFor: '1 range of the source has changes that are not replicated yet',
};

/** The first round finds a difference, and the second one may confirm it. */
const ROUNDS = 3;
const DEADLINE_MS = 60_000;

/** The deadline passes in the last round: a deadline in real time can pass before the second one on a slow machine. */
async function verifyInRounds(move: Move): Promise<Verdict> {
  let rounds = 0;
  const clock = clockAt(() => systemClock.now() + (rounds < ROUNDS ? 0 : 2 * DEADLINE_MS));
  const onProgress = ({ stage }: { readonly stage: string }): void => {
    if (stage === 'rechecking') rounds += 1;
  };
  const verdict = await verifyMove(move, { deadlineMs: DEADLINE_MS, clock, onProgress });
  expect(rounds).toBe(ROUNDS);
  return verdict;
}

/** A change that expired from the feed of all versions before it was read. */
async function forgotten(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true, retentionSeconds: 3600 } });
  const { move } = tapped;
  await write(move, orders(COUNT));
  await move.run('copy');
  await write(move, [order(7, { again: 1 })]);
  await move.admin.clock(2 * 3600 * 1000);
  return tapped;
}

test('verify: position of the mover is too old -> differences are in flight', async () => {
  await using tapped = await forgotten();
  const { move } = tapped;
  expect(await verifyInRounds(move)).toMatchObject(IN_FLIGHT);
  await move.run('catch-up');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
});

test('verify: mover reads a range again -> differences are in flight', async () => {
  await using tapped = await forgotten();
  const { move, tap } = tapped;
  const drain = new AbortController();
  const isReadAgain = ({ what, mode, headers }: TapRequest): boolean =>
    what === 'read-feed' && mode === 'latest-version' && headers['if-none-match'] !== '*';
  tap.meddle = async (request, forward) => {
    if (!isReadAgain(request)) return forward();
    drain.abort(new Error('it has begun'));
    return { status: 429, headers: { 'x-ms-retry-after-ms': '60000' }, body: Buffer.alloc(0) };
  };
  await move.run('catch-up', { drain: drain.signal }).catch(() => undefined);
  expect(drain.signal.aborted).toBe(true);
  tap.meddle = async (_request, forward) => forward();
  expect(move.ledger(({ leases }) => leases.live())).toMatchObject([{ phase: 'recopy' }]);
  // All that the feed of all versions reports from there on was replicated.
  expect(await verifyInRounds(move)).toMatchObject(IN_FLIGHT);
  await move.run('catch-up');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
});

test('verify: progress of one range -> says nothing about another', async () => {
  await using tapped = await Tapped.open({ settings: { avad: true } });
  const { move } = tapped;
  await write(move, orders(COUNT));
  await move.admin.split(SOURCE);
  await move.run('copy');
  const first = (await move.admin.ranges(SOURCE)).find(({ min }) => min === '');
  const isFirst = ({ customerId }: Order): boolean =>
    effectiveKey('hash-v1', [String(customerId)]) < (first?.max ?? '');
  const changed = orders(COUNT, { again: 1 });
  const [here, there] = [changed.filter(isFirst), changed.filter((one) => !isFirst(one))];
  expect(Math.min(here.length, there.length)).toBeGreaterThan(0);
  // The other one has come further by its own numbers.
  for (let n = 0; n < 3; n += 1) await write(move, there);
  await move.run('catch-up');
  await write(move, here.slice(0, 1));
  expect(await verifyInRounds(move)).toMatchObject(IN_FLIGHT);
});

test('verify: range was split behind the mover -> differences are in flight', async () => {
  await using tapped = await Tapped.open({ settings: { avad: true } });
  const { move } = tapped;
  await write(move, orders(COUNT));
  await move.run('copy');
  await write(move, [order(7, { again: 1 })]);
  await move.admin.split(SOURCE);
  expect(await verifyInRounds(move)).toMatchObject(IN_FLIGHT);
  await move.run('catch-up');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
});

test.each(['digest', 'count'] as const)(
  'verify --level %s, and a tail: before the copy has ended -> refused, before the tail settles anything',
  async (level) => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(COUNT));
    await begin(move);
    await expect(verifyMove(move, { level })).rejects.toMatchObject({
      message: 'the copy is not finished',
      exitCode: 3,
    });
    const shown: unknown[] = [];
    const tail = move.run('catch-up', { onSnapshot: (snapshot) => shown.push(snapshot) });
    await expect(tail).rejects.toMatchObject({ message: 'the copy is not finished', exitCode: 3 });
    expect(shown).toEqual([]);
  },
);
