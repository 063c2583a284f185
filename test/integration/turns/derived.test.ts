/** Turns of a migration whose key is derived: what the mover and the application wrote goes back, and over again. */
import type { Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';

const order = (id: number, tenant: string, more: object = {}): Order => ({
  id: `${id}`,
  customerId: `c${id % 3}`,
  tenantId: tenant,
  ...more,
});

/** The documents of a side by id, with some of their properties taken out. */
const without = async (move: Move, side: Container, ...names: readonly string[]): Promise<unknown[]> =>
  (await move.documents(side))
    .map((one): Record<string, unknown> =>
      Object.fromEntries(Object.entries(one).filter(([name]) => !names.includes(name))),
    )
    .toSorted((one, other) => Number(one['id']) - Number(other['id']));

test('turns with a derived key -> the property is in the target only, unless the application chose its value', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    target: { partitionKey: { paths: ['/k/pk'] } },
    flags: { derive: ['/k/pk={tenantId}-{region|default:eu}'] },
  });
  const { source, target } = move;
  const turns = new Turns(move);
  await move.put(
    ...Array.from({ length: 30 }, (_, i) => order(i, `t${i % 7}`)),
    order(30, 't1', { k: { pk: 't1-eu' } }),
    order(31, 't1', { k: {} }),
    order(32, 't1', { k: { z: 1 } }),
    order(33, 't1', { k: { pk: 't1-eu' } }),
    order(34, 't1', { k: { pk: 't1-eu', z: 1 } }),
  );
  await turns.run(0, 'copy');
  expect((await turns.cutOver(0)).documents.deadLettered).toBe(0);

  const now = (id: number, tenant: string, pk: string, more: object = {}): Order => ({
    k: { pk },
    ...order(id, tenant, more),
  });
  await target.items.create(now(100, 't1', 't1-eu'));
  await target.items.create(now(101, 't1', 't1-us', { region: 'us' }));
  await target.items.create(now(102, 't1', 'chosen by the application'));
  await target.item('3', 't3-eu').replace(now(3, 't3', 't3-eu', { changed: true }));
  await target.item('4', 't4-eu').replace({ ...now(4, 't4', 't4-eu'), customerId: 'moved' });
  await target.item('5', 't5-eu').delete();
  // The new key changes: the application deletes the document, and writes it again.
  await target.item('6', 't6-eu').delete();
  await target.items.create(now(6, 't0', 't0-eu'));
  // What the source had before anything was derived stays there, although the documents change.
  const own = [
    now(30, 't1', 't1-eu', { changed: true }),
    order(31, 't1', { k: { pk: 't1-eu' }, changed: true }),
    order(32, 't1', { k: { pk: 't1-eu', z: 1 }, changed: true }),
    { ...now(33, 't1', 't1-eu'), customerId: 'moved' },
    order(34, 't1', { k: { z: 2, pk: 't1-eu' } }),
  ];
  for (const one of own) await target.item(one.id, 't1-eu').replace(one);
  await turns.run(1, 'catch-up');
  const old = new Map((await move.documents(source)).map((one) => [one.id, one]));
  expect(own.map(({ id }) => old.get(id))).toEqual([
    own[0],
    order(31, 't1', { k: {}, changed: true }),
    order(32, 't1', { k: { z: 1 }, changed: true }),
    own[3],
    own[4],
  ]);
  expect(old.get('100')).toEqual(order(100, 't1'));
  expect(old.get('101')).toEqual(order(101, 't1', { region: 'us' }));
  expect(old.get('102')).toEqual(now(102, 't1', 'chosen by the application'));
  expect(old.get('3')).toEqual(order(3, 't3', { changed: true }));
  expect(old.get('4')).toEqual({ ...order(4, 't4'), customerId: 'moved' });
  expect(old.has('5')).toBe(false);
  expect(old.get('6')).toEqual(order(6, 't0'));
  expect(await without(move, source, 'k')).toEqual(await without(move, target, 'k'));

  expect((await turns.cutOver(1)).documents.deadLettered).toBe(0);
  await source.items.create(order(200, 't2'));
  await source.item('7', 'c1').replace(order(7, 't7', { region: 'us' }));
  await source
    .item('102', 'c0')
    .replace({ ...order(102, 't1'), k: { pk: 'chosen by the application' }, changed: true });
  await turns.run(2, 'catch-up');
  const there = new Map((await move.documents(target)).map((one) => [one.id, one]));
  expect(there.get('200')).toEqual(now(200, 't2', 't2-eu'));
  expect(there.get('7')).toEqual(now(7, 't7', 't7-us', { region: 'us' }));
  expect(there.get('102')).toEqual(now(102, 't1', 'chosen by the application', { changed: true }));
  expect(await without(move, source, 'k')).toEqual(await without(move, target, 'k'));
  expect((await turns.cutOver(2)).documents.deadLettered).toBe(0);
});

test('turns with a derived key: a crash before a document moves that had the property -> it still has it', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    target: { partitionKey: { paths: ['/pk'] } },
    flags: { derive: ['/pk={tenantId}'] },
  });
  const turns = new Turns(move);
  await move.put(order(1, 't1', { pk: 't1' }), order(2, 't2'));
  await turns.run(0, 'copy');
  await turns.cutOver(0);
  const moved = { ...order(1, 't1', { pk: 't1' }), customerId: 'moved' };
  await move.target.item('1', 't1').replace(moved);
  const crash = new Error('a crash');
  const onPoint = (point: CrashPoint): void => {
    if (point === 'intended') throw crash;
  };
  await expect(turns.run(1, 'catch-up', { onPoint })).rejects.toThrow(crash);
  await turns.run(1, 'catch-up');
  expect(await move.documents(move.source)).toEqual(expect.arrayContaining([moved, order(2, 't2')]));
});

test('turns with a replaced source key -> it gets its old value back, and the kept value is taken out', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    target: { partitionKey: { paths: ['/customerId'] } },
    flags: { derive: ['/customerId={tenantId}-{customerId}'], keepSourceKeyAs: ['/oldCustomer'] },
  });
  const { source, target } = move;
  const turns = new Turns(move);
  await move.put(...Array.from({ length: 20 }, (_, i) => order(i, `t${i % 7}`)));
  await turns.run(0, 'copy');
  await turns.cutOver(0);

  await target.items.create({ ...order(100, 't1'), customerId: 't1-new', oldCustomer: 'new' });
  await target
    .item('3', 't3-c0')
    .replace({ ...order(3, 't3', { changed: true }), customerId: 't3-c0', oldCustomer: 'c0' });
  // A copy of this document could not be found again: its key is not what is derived for it.
  await target.items.create({ ...order(101, 't1'), customerId: 'other', oldCustomer: 'c2' });
  expect((await turns.run(1, 'catch-up')).documents.deadLettered).toBe(1);
  const old = new Map((await move.documents(source)).map((one) => [one.id, one]));
  expect(old.get('100')).toEqual({ ...order(100, 't1'), customerId: 'new' });
  expect(old.get('3')).toEqual(order(3, 't3', { changed: true }));
  expect(old.has('101')).toBe(false);

  await target.item('101', 'other').delete();
  await turns.run(1, 'catch-up');
  await turns.cutOver(1);
  await source.items.create(order(200, 't2'));
  await turns.run(2, 'catch-up');
  expect(await without(move, source, 'customerId', 'oldCustomer')).toEqual(
    await without(move, target, 'customerId', 'oldCustomer'),
  );
  await turns.cutOver(2);
});
