/** A machine whose clock is wrong: what expires, and when, is for the service to say. */
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig, envOf, withSpec } from '../../helpers/migration/typed.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import { clockAt, setClock } from '../../helpers/clock.ts';

const order = (id: string, customerId: string, tenantId: string): Order => ({ id, customerId, tenantId });
/** Seconds between the reading of a page and its first write; dates that are older count as a clock that was set back. */
const WAITED_S = 9;

const ttlOf = (documents: readonly Order[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(documents.map(({ id, ttl }) => [id, ttl]));

/** Copies keep the time that is left. */
function openMortal(defaultTtl: number): Promise<Move> {
  const [source, target] = [{ defaultTtl }, { defaultTtl }];
  return Move.open({ settings: { avad: true }, source, target, flags: { ttl: ['remaining'] } });
}

test('time to live: a delayed copy -> it does not live longer than its original', async () => {
  await using move = await openMortal(100_000);
  let waitedMs = 0;
  const clock = clockAt(() => systemClock.now() + waitedMs);
  const runWaiting = async (goal: 'copy' | 'catch-up'): Promise<Readonly<Record<string, unknown>>> => {
    waitedMs = 0;
    const onPoint = (point: CrashPoint): void => {
      if (point === 'intended') waitedMs = WAITED_S * 1000;
    };
    await move.run(goal, { clock, onPoint });
    return ttlOf(await move.documents(move.target));
  };
  await move.put(
    { ...order('own', 'a', 'P'), ttl: 1000 },
    order('default', 'a', 'P'),
    // One digit less is left, and nothing.
    { ...order('short', 'a', 'P'), ttl: 1005 },
    { ...order('over', 'a', 'P'), ttl: 8 },
    { ...order('stays', 'a', 'P'), ttl: -1 },
  );
  const most = (seconds: number): unknown =>
    expect.toSatisfy((ttl: number) => ttl > 0 && ttl <= seconds - WAITED_S);
  const { over = 1, ...copied } = await runWaiting('copy');
  expect(copied).toEqual({ own: most(1000), default: most(100_000), short: most(1005), stays: -1 });
  // It may have ended before we looked.
  expect(over).toBe(1);
  // The long way: one that is there, and one that moves.
  await move.put({ ...order('own', 'a', 'P'), ttl: 2000 }, { ...order('stays', 'a', 'Q'), ttl: 1005 });
  expect(await runWaiting('catch-up')).toMatchObject({ own: most(2000), stays: most(1005) });
});

const tomorrow = clockAt(() => systemClock.now() + 24 * 3600 * 1000);

test('a clock that is a day ahead -> no live document counts as expired', async () => {
  await using move = await openMortal(3600);
  await move.put(order('7', 'a', 'P'), order('7', 'b', 'P'));
  await move.run('copy');
  const [held] = await move.documents(move.target);
  // The tries that a run begins with come before any page of the feed.
  expect((await move.run('catch-up', { clock: tomorrow })).documents).toMatchObject({ deadLettered: 1 });
  expect((await move.documents(move.target)).map(({ customerId }) => customerId)).toEqual([
    held?.['customerId'],
  ]);
});

test("the machine's clock is set forward while copies wait -> they live as long as their originals", async () => {
  await using move = await openMortal(100_000);
  await move.put({ ...order('own', 'a', 'P'), ttl: 1000 }, order('default', 'a', 'P'));
  let setMs = 0;
  const clock = setClock(() => setMs);
  const onPoint = (point: CrashPoint): void => {
    if (point === 'intended') setMs = 600_000;
  };
  const nearly = (seconds: number): unknown =>
    expect.toSatisfy((ttl: number) => ttl <= seconds && ttl > seconds - 60);
  await move.run('copy', { clock, onPoint });
  expect(ttlOf(await move.documents(move.target))).toEqual({ own: nearly(1000), default: nearly(100_000) });
  await move.put({ ...order('own', 'a', 'P'), ttl: 2000 });
  setMs = 0;
  await move.run('catch-up', { clock, onPoint });
  expect(ttlOf(await move.documents(move.target))).toMatchObject({ own: nearly(2000) });
});

test.each(['read-feed', 'batch'] as const)(
  'every second %s reply is dated a day ahead -> no live document is left out or deleted',
  async (op) => {
    await using move = await openMortal(3600);
    const wrong = { match: { op }, every: 2, effect: { dateOffMs: 24 * 3600 * 1000 } };
    const ids = ['1', '2', '3', '4', '5', '6', '7', '8'];
    await move.put(...ids.map((id) => order(id, 'a', 'P')));
    await move.admin.faults([wrong]);
    await move.run('copy');
    const inTarget = async (): Promise<readonly string[]> =>
      (await move.documents(move.target)).map(({ id }) => id).toSorted();
    expect(await inTarget()).toEqual(ids);
    await move.put(...ids.map((id) => ({ ...order(id, 'a', 'P'), n: 1 })));
    await move.run('catch-up');
    expect(await inTarget()).toEqual(ids);
  },
);

test.each([61 * 60_000, -3 * 24 * 3600 * 1000])(
  "a clock that is %d ms ahead of what the service accepts -> said, and signed by the service's time",
  async (aheadMs) => {
    await using move = await openMortal(3600);
    await move.put(order('7', 'a', 'P'), { ...order('8', 'b', 'P'), ttl: 1000 });
    const clock = setClock(() => aheadMs);
    await move.run('copy', { clock });
    expect(ttlOf(await move.documents(move.target))).toMatchObject({
      8: expect.toSatisfy((ttl: number) => ttl <= 1000 && ttl > 900),
    });
    await move.put({ ...order('7', 'a', 'P'), n: 2 });
    await move.run('catch-up', { clock });
    const said = aheadMs > 0 ? '61 minutes ahead of' : '3 days behind';
    const lines = move.lines.filter((line) => line.includes("this machine's clock is"));
    // Once for each run.
    expect(lines).toEqual([expect.stringContaining(said), expect.stringContaining(said)]);
  },
);

test('a cutover with a clock that is off -> said once, though it connects more than once', async () => {
  await using move = await openMortal(3600);
  await move.put(order('7', 'a', 'P'));
  for (const argv of [['copy'], ['verify', '--deadline', '60s']])
    expect((await cosmig(move, ...argv, '--ttl', 'remaining')).code).toBe(0);
  const argv = [
    'cutover',
    '--writers-stopped',
    '--on-commit',
    'true',
    '--quiet-for',
    '1s',
    '--watch-writes',
    '1s',
  ];
  const flags = [...argv, '--ttl', 'remaining'];
  const ran = await runCosmig(withSpec(flags), { env: envOf(move), clock: setClock(() => 61 * 60_000) });
  expect([ran.code, ran.stderr.match(/this machine's clock is/g)]).toEqual([0, ["this machine's clock is"]]);
});

test('a clock that is off, and a wrong key -> the error names both', async () => {
  await using move = await openMortal(3600);
  await move.put(order('7', 'a', 'P'));
  move.connectionString = move.connectionString.replace(
    /AccountKey=[^;]+/,
    `AccountKey=${Buffer.alloc(64, 7).toString('base64')}`,
  );
  const failed = move.run('copy', { clock: setClock(() => -61 * 60_000) });
  await expect(failed).rejects.toMatchObject({
    exitCode: 6,
    why: expect.stringMatching(/this machine's clock is 61 minutes behind the service's.*or .*the key/),
    hint: expect.stringContaining('NTP'),
  });
});
