/** Which document may have a slot when the source does not answer well: a copy is never removed on a guess. */
import { describe, expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';

const order = (id: string, customerId: string, tenantId: string): Order => ({ id, customerId, tenantId });

describe('slot owner: the source cannot be read', () => {
  test.each([
    { status: 400, substatus: 0 },
    { status: 413, substatus: 0 },
    { status: 404, substatus: 0 },
  ])('the source answers $status -> the copy stays', async ({ status, substatus }) => {
    await using move = await Move.open();
    await move.put(order('7', 'a', 'P'));
    await move.run('copy');
    const held = await move.documents(move.target);
    await move.put(order('7', 'b', 'P'));
    await move.admin.faults([{ match: { op: 'batch', coll: 'orders' }, effect: { status, substatus } }]);
    await expect(move.run('catch-up')).rejects.toMatchObject({ exitCode: 6 });
    expect(await move.documents(move.target)).toEqual(held);
    await move.admin.clearFaults();
    expect((await move.run('catch-up')).documents).toMatchObject({ deadLettered: 1 });
    expect(await move.documents(move.target)).toEqual(held);
  });
});

test('slot owner: a copy without a source key -> counts as ours, also during the copy', async () => {
  await using move = await Move.open();
  await move.put({ id: '7', tenantId: 'P' }, order('7', 'a', 'P'));
  await move.run('copy');
  const letters = move.ledger((ledger) => ledger.letters.list({ state: 'open', after: 0, limit: 9 }));
  expect(letters).toMatchObject([{ reason: 'collision', sourceKey: '["a"]' }]);
});
