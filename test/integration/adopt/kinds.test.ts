/** Adoption in migrations of every kind: other delete modes, lifetimes, keys, machines, and kills at any moment. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import { RESERVATION_ID } from '../../../src/preflight/reservation.ts';
import { compareForCutover } from '../../../src/workflows/compare.ts';
import { byDay } from '../../helpers/generated.ts';
import {
  adopt,
  AVAD,
  complete,
  crashAt,
  expectEqual,
  lose,
  order,
  orders,
  refusalOf,
  versions,
} from '../../helpers/migration/adopting.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';
import { start } from '../../helpers/migration/typed.ts';

const TTL = { defaultTtl: -1 };

const KINDS: ReadonlyArray<readonly [name: string, options: MoveOptions]> = [
  ['no feed reports deletes', {}],
  ['remaining lifetimes', { ...AVAD, source: TTL, target: TTL, flags: { ttl: ['remaining'] } }],
  [
    'a derived value replaces the source key',
    {
      ...AVAD,
      target: { partitionKey: '/customerId' },
      flags: { derive: ['/customerId={tenantId}-{customerId}'], keepSourceKeyAs: ['/formerly'] },
    },
  ],
  [
    'a key of two levels',
    {
      ...AVAD,
      target: { partitionKey: { paths: ['/tenantId', '/n'], kind: 'MultiHash', version: 2 } as never },
      flags: { partitionKey: ['/tenantId', '/n'] },
    },
  ],
  ['unique keys', { ...AVAD, target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/serial'] }] } } }],
];

describe('a lost ledger', () => {
  test.each(byDay(KINDS, { every: 3 }))(
    '%s -> adopted, and what has changed is in the target',
    async (_name, options) => {
      await using move = await Move.open(options);
      await move.put(...orders.map((one) => ({ ...one, ttl: 10_000, serial: one.id })));
      await move.run('copy');
      lose(move);
      const before = await versions(move.target);
      await move.put(order(1, { tenantId: 'moved', serial: 'o1' }), order(2, { n: 2, serial: 'changed' }));
      await move.source.item('o4', 'c1').delete();
      await adopt(move);
      expect(await complete(move)).toBe(true);
      const after = await versions(move.target);
      expect(after.filter((one) => before.includes(one))).toHaveLength(57);
      expect(after).toHaveLength(59);
    },
  );

  test('deletes are marked -> marked documents leave the target', async () => {
    await using move = await Move.open({ flags: { deletes: ['marker:/isDeleted'] } });
    await move.put(...orders);
    await move.run('copy');
    lose(move);
    await move.put(order(3, { isDeleted: true }));
    const { documents } = await adopt(move);
    expect(documents).toMatchObject({ deleted: 1, written: 0 });
    expect(await complete(move)).toBe(true);
    expect((await move.documents(move.target)).map(({ id }) => id)).not.toContain('o3');
  });
});

test('the reservation names a ledger of another machine -> the counts say so, and --yes takes it over', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await expect(move.run('copy', { onPoint: crashAt('committed', 3) })).rejects.toThrow('ends here');
  const reservation = move.target.item(RESERVATION_ID, RESERVATION_ID);
  const { resource } = await reservation.read<{ cosmig: { path: string } }>();
  const cosmig = { ...resource?.cosmig, path: '/srv/orders.db on another-machine' };
  await reservation.replace({ ...resource, id: RESERVATION_ID, tenantId: RESERVATION_ID, cosmig });
  const flags = { ledger: [`${move.ledgerPath}.new`] };
  const refusal = await refusalOf(adopt(move, { flags: { ...flags, yes: ['false'] } }));
  expect(refusal).toMatchObject({
    exitCode: 3,
    why: expect.stringContaining('reserved for the ledger /srv/orders.db on another-machine'),
  });
  await expect(adopt(move, { flags, onPoint: crashAt('committed', 2) })).rejects.toThrow('ends here');
  // The first ledger has lost its reservation, and another copy is refused by that of the new one.
  expect(
    await refusalOf(move.run('copy', { flags: { ledger: [`${move.ledgerPath}.third`] } })),
  ).toMatchObject({
    exitCode: 7,
    why: expect.stringContaining('ledger.db.new'),
  });
  await adopt(move, { flags });
  await expectEqual(move);
});

test('strangers are left -> the cutover names them and does not commit; without them it does', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await move.run('copy');
  lose(move);
  await move.target.items.upsert({ id: 'settings', tenantId: 't0' });
  await adopt(move);
  expect(await complete(move)).toBe(false);
  const compare = async (signal: AbortSignal, scope: 'all' | 'changes' | 'writes' | 'what differed') =>
    compareForCutover(move.parts(), { deadlineMs: 60_000, signal, scope });
  const cutover = { ...CUTOVER, prove: compare };
  const refusal = await refusalOf(runCutover(move.parts(), cutover));
  expect(`${refusal.message} ${refusal.why}`).toContain('settings');
  expect((await move.documents(move.target)).map(({ id }) => id)).toContain('settings');
  await move.target.item('settings', 't0').delete();
  await runCutover(move.parts(), cutover);
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('committed');
});

test('killed at any moment, again and again -> both sides are equal in the end', async () => {
  await using move = await Move.open({ settings: { avad: true, pageBytes: 2000 } });
  const many = Array.from({ length: 300 }, (_, n) => order(n));
  for (let at = 0; at < many.length; at += 50)
    await Promise.all(many.slice(at, at + 50).map(async (one) => move.put(one)));
  for (const one of many.slice(0, 150)) await move.target.items.upsert(one);
  for (let n = 400; n < 420; n += 1) await move.target.items.upsert(order(n));
  for (let n = 10; n < 20; n += 1) await move.target.items.upsert(order(n, { tenantId: 'old' }));
  // A stale copy is in the slot of another document, which has to take it over.
  for (let n = 200; n < 210; n += 1) {
    await move.target.items.upsert(order(n, { tenantId: 'taken' }));
    await move.put(order(n, { customerId: 'another', tenantId: 'taken' }));
  }
  let killed = 0;
  for (let afterMs = 1000; ; afterMs += 600) {
    const run = start(move, 'copy', '--adopt-target');
    const kill = new AbortController();
    const late = delay(afterMs, undefined, { signal: kill.signal }).then(
      () => run.kill('SIGKILL'),
      () => {},
    );
    const { code, stderr } = await run.ended;
    kill.abort();
    await late;
    if (code === 0) break;
    expect(stderr).not.toContain('bug');
    expect(code).toBe(-1);
    killed += 1;
  }
  expect(killed).toBeGreaterThan(1);
  await expectEqual(move);
});
