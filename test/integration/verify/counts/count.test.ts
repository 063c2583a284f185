import { describe, expect, test } from 'vitest';
import { NotReadyError } from '../../../../src/lib/errors.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { PLACES, typed } from '../../../helpers/migration/typed.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
  }));

describe('verify --level count', () => {
  test('ranges that split -> counted range by range', async () => {
    await using move = await Move.open();
    await putAll(move, orders(120));
    await move.run('copy');
    await move.admin.split('shop/orders');
    const verdict = await verifyMove(move, { level: 'count' });
    expect(verdict).toMatchObject({
      equal: true,
      source: { count: 120 },
      target: { count: 120 },
      differences: { missing: 0, extra: 0 },
    });
    const { source, target } = verdict.details.ranges;
    expect(source.length).toBeGreaterThan(1);
    for (const ranges of [source, target])
      expect(ranges.reduce((sum, { documents }) => sum + documents, 0)).toBe(120);
  });

  test('open letters -> accounted for', async () => {
    await using move = await Move.open();
    await move.put(...orders(20), { id: 'o1', customerId: 'other', tenantId: 't1' });
    await move.run('copy');
    const verdict = await verifyMove(move, { level: 'count' });
    expect(verdict).toMatchObject({
      equal: true,
      source: { count: 21 },
      target: { count: 20 },
      letters: { open: 1, discarded: 0 },
    });
  });

  test('documents marked as deleted -> not counted', async () => {
    const flags = { deletes: ['marker:/isDeleted'] };
    await using move = await Move.open({ flags });
    await move.put(...orders(20), { id: 'gone', customerId: 'c1', tenantId: 't1', isDeleted: true });
    await move.run('copy');
    const verdict = await verifyMove(move, { level: 'count', flags });
    expect(verdict).toMatchObject({ equal: true, source: { count: 20 }, target: { count: 20 } });
  });

  test('document missing, mover past it -> a difference', async () => {
    await using move = await Move.open();
    await putAll(move, orders(20));
    await move.run('copy');
    await move.run('catch-up');
    await move.target.item('o3', 't3').delete();
    const verdict = await verifyMove(move, { level: 'count' });
    expect(verdict).toMatchObject({ equal: false, differences: { missing: 1, extra: 0 }, inFlight: 0 });
  });

  test('document too many, letters open -> a difference', async () => {
    await using move = await Move.open();
    await move.put(...orders(20), { id: 'o1', customerId: 'other', tenantId: 't1' });
    await move.run('copy');
    await move.run('catch-up');
    await move.target.items.create({ id: 'x', customerId: 'c1', tenantId: 't1' });
    const verdict = await verifyMove(move, { level: 'count' });
    expect(verdict).toMatchObject({ equal: false, differences: { missing: 0, extra: 1 }, inFlight: 0 });
  });

  test('document missing, a waived one was moved after all -> a difference', async () => {
    await using move = await Move.open();
    const waived = { id: 'o1', customerId: 'other' };
    await move.put(...orders(20), { ...waived, tenantId: 't1' });
    await move.run('copy');
    expect((await typed(move, 'dead-letters', 'discard', '1', ...PLACES)).code).toBe(0);
    expect(await verifyMove(move, { level: 'count' })).toMatchObject({ equal: true, target: { count: 20 } });
    await move.target.item('o3', 't3').delete();
    await move.run('catch-up');
    const one = { equal: false, differences: { missing: 1, extra: 0 } };
    expect(await verifyMove(move, { level: 'count' })).toMatchObject(one);
    await move.target.items.create({ id: 'o3', customerId: 'c3', tenantId: 't3', n: 3 });
    await move.put({ ...waived, tenantId: 'free' });
    await move.run('catch-up');
    expect(await verifyMove(move, { level: 'count' })).toMatchObject({ equal: true, target: { count: 21 } });
    await move.target.item('o3', 't3').delete();
    expect(await verifyMove(move, { level: 'count' })).toMatchObject(one);
  });

  test('write not replicated yet -> not proven', async () => {
    await using move = await Move.open();
    await putAll(move, orders(20));
    await move.run('copy');
    await move.put({ id: 'new', customerId: 'c1', tenantId: 't1' });
    const verdict = await verifyMove(move, { level: 'count', deadlineMs: 200 });
    expect(verdict).toMatchObject({ equal: null, inFlight: 1, differences: { missing: 0 } });
    await move.run('catch-up');
    await expect(verifyMove(move, { level: 'count' })).resolves.toMatchObject({ equal: true });
  });

  test('copy not begun, or another spec -> refused', async () => {
    await using move = await Move.open();
    await putAll(move, orders(3));
    await move.run('copy');
    const otherKey = verifyMove(move, { level: 'count', flags: { partitionKey: ['/customerId'] } });
    await expect(otherKey).rejects.toThrow('this migration was started with another --partition-key');
    await move.target.delete();
    await move.client.database('shop').containers.create({ id: 'by-tenant', partitionKey: '/tenantId' });
    await expect(verifyMove(move, { level: 'count' })).rejects.toThrow(NotReadyError);
  });
});
