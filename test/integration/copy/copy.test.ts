import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';

const orders = (count: number): { id: string; customerId: string; tenantId: string; n: number }[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
  }));

test('copy: to the end, then again -> every document has its new key, and the second run does nothing', async () => {
  await using move = await Move.open();
  await move.put(...orders(300));
  const copied = await move.run('copy');
  expect(copied).toMatchObject({
    complete: true,
    phase: 'tailing',
    documents: { written: 300, deadLettered: 0 },
  });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  const again = await move.run('catch-up');
  expect(again).toMatchObject({ complete: true, documents: { written: 0 } });
});
