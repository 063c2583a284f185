/** A migration goes over, comes back, and goes over again: each time with the same engine and without a new copy. */
import { expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';

const order = (id: number, tenant: string, more: object = {}): Order => ({
  id: `${id}`,
  customerId: `c${id % 3}`,
  tenantId: tenant,
  ...more,
});

for (const deletes of ['avad', 'reconcile'] as const) {
  test(`turns: what is written after each cutover (${deletes}) -> reaches the other side without a new copy`, async () => {
    await using move = await Move.open({ settings: { avad: deletes === 'avad' } });
    const { source, target } = move;
    const turns = new Turns(move);
    const keepSource = async () => ({ deletes, forMs: 3_600_000, pausedTtl: null });
    await move.put(...Array.from({ length: 40 }, (_, i) => order(i, `t${i % 7}`)));
    await turns.run(0, 'copy');
    await turns.cutOver(0, { keepSource });

    await target.items.create(order(100, 't1'));
    await target.item('3', 't3').replace(order(3, 't3', { changed: true }));
    // The old key changes: the copy in the source moves.
    await target.item('4', 't4').replace({ ...order(4, 't4'), customerId: 'moved' });
    if (deletes === 'avad') await target.item('5', 't5').delete();
    await turns.run(1, 'catch-up');
    expect(await move.documents(source)).toEqual(await move.documents(target));

    await turns.cutOver(1, { keepSource });
    await source.items.create(order(200, 't2'));
    await source.item('6', 'c0').replace({ ...order(6, 't6'), tenantId: 'elsewhere' });
    await turns.run(2, 'catch-up');
    expect(await move.documents(target)).toEqual(await move.documents(source));
    expect((await move.documents(target)).length).toBe(deletes === 'avad' ? 41 : 42);
  });
}
