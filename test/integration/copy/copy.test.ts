import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { begin, isLaterPage, order, orders, Tapped, write } from '../../helpers/migration/tapped.ts';

test('copy: to the end, then again -> every document has its new key, and the second run does nothing', async () => {
  await using move = await Move.open();
  await write(move, orders(300));
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

test.each([
  ['all versions', { settings: { avad: true } }],
  ['latest versions', {}],
])(
  'copy: the application writes while each page is read, %s -> it ends at its anchor',
  async (_feed, options) => {
    const WRITES_MAX = 100;
    await using tapped = await Tapped.open(options);
    const { move, tap } = tapped;
    await write(move, orders(40));
    await begin(move);
    let writes = 0;
    tap.meddle = async (request, forward) => {
      if (isLaterPage(request) && writes < WRITES_MAX) {
        writes += 1;
        await write(move, [order(100 + writes)]);
      }
      return forward();
    };
    const copied = await move.run('copy');
    expect(copied).toMatchObject({ complete: true, documents: { written: 40 } });
    expect(writes).toBeGreaterThan(3);
    expect(writes).toBeLessThan(WRITES_MAX);
    // What is written while the catch-up reads may be behind its goal.
    writes = WRITES_MAX;
    await move.run('catch-up');
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  },
);
