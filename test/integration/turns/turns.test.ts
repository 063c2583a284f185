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

const KEYS = [
  { key: 'a property', options: {} },
  { key: 'derived', options: { target: { partitionKey: '/pk' }, flags: { derive: ['/pk={tenantId}'] } } },
  {
    key: 'in place of the old key',
    options: {
      target: { partitionKey: '/customerId' },
      flags: { derive: ['/customerId={tenantId}'], keepSourceKeyAs: ['/customer'] },
    },
  },
];

test.each(KEYS.slice(1))(
  'turns: a key that is $key -> goes there, back, and there again',
  async ({ options }) => {
    await using move = await Move.open({ settings: { avad: true }, ...options });
    const { source, target } = move;
    const turns = new Turns(move);
    await move.put(...Array.from({ length: 20 }, (_, i) => order(i, `t${i % 7}`)));
    const before = await move.documents(source);
    await turns.run(0, 'copy');
    await turns.cutOver(0);
    const there = await move.documents(target);
    const [one, two] = there;
    await target.items.upsert({ ...one, changed: 1 });
    await turns.run(1, 'catch-up');
    await turns.cutOver(1);
    const back = await move.documents(source);
    expect(back.filter(({ id }) => id !== one?.id)).toEqual(before.filter(({ id }) => id !== one?.id));
    expect(back.filter(({ changed }) => changed === 1)).toHaveLength(1);
    const again = before.find(({ id }) => id === two?.id);
    await source.items.upsert({ ...again, changed: 2 });
    await turns.run(2, 'catch-up');
    expect(await move.documents(target)).toEqual(
      there.map((document) =>
        document.id === one?.id
          ? { ...document, changed: 1 }
          : document.id === two?.id
            ? { ...document, changed: 2 }
            : document,
      ),
    );
  },
);

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
