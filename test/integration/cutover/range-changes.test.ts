/** Ranges of the source that split, merge or move while writers are stopped only delay a cutover a little. */
import { describe, expect, test } from 'vitest';
import { runCutover, type RunSnapshot } from '../../../src/engine/run.ts';
import type { CutoverOptions, CutoverResult } from '../../../src/engine/cutover/contract.ts';
import { byDay } from '../../helpers/generated.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';

async function moved(options: MoveOptions): Promise<Move> {
  const move = await Move.open(options);
  for (let n = 0; n < 12; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: `t${n % 3}` });
  await move.run('copy');
  return move;
}

async function cut(
  move: Move,
  parts: Partial<CutoverOptions>,
): Promise<{ readonly result: RunSnapshot & CutoverResult; readonly said: string }> {
  const said: string[] = [];
  const result = await runCutover(move.parts(), {
    ...CUTOVER,
    say: (text) => said.push(text),
    quietMs: 300,
    ...parts,
  });
  return { result, said: said.join('\n') };
}

describe.each<readonly [string, MoveOptions]>([
  ['deletes reported', { settings: { avad: true } }],
  ['deletes not reported', {}],
])('a cutover, %s', (_how, options) => {
  test('split during watch and comparison -> commits', async () => {
    await using move = await moved(options);
    let proofs = 0;
    let splitting: Promise<unknown> | undefined;
    const { result } = await cut(move, {
      onStep: ({ name }) => {
        if (name === 'watching the fence') splitting ??= move.admin.split('shop/orders');
      },
      prove: async () => {
        await splitting;
        if ((proofs += 1) === 1) await move.admin.split('shop/orders');
        return { equal: true, why: '', suspects: [] };
      },
    });
    expect(result).toMatchObject({ phase: 'committed', lateWrites: [] });
    expect(await move.admin.ranges('shop/orders')).toHaveLength(3);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test.each(byDay([1000, 1002, 1007, 1008], { every: 4, from: 1 }))(
    '410/%i from a range that still exists -> commits',
    async (substatus) => {
      await using move = await moved(options);
      const { result } = await cut(move, {
        stopWriters: async () =>
          move.admin.faults([
            { match: { op: 'read-feed' }, every: 3, times: 5, effect: { status: 410, substatus } },
          ]),
      });
      expect(result).toMatchObject({ phase: 'committed' });
    },
  );

  test('split after the commit -> not a late write, and hides none', async () => {
    await using move = await moved(options);
    const { result, said } = await cut(move, {
      watchMs: 300,
      onCommit: async () => {
        await move.admin.split('shop/orders');
        await move.put({ id: 'oops', customerId: 'a', tenantId: 'P' });
      },
    });
    expect(result.lateWrites).toMatchObject([{ ids: ['"oops"'], what: 'written' }]);
    expect(said.match(/LATE WRITE/g)).toHaveLength(1);
  });

  test('late writes in every range -> reported, and that there are more', async () => {
    await using move = await moved(options);
    await move.admin.split('shop/orders');
    await move.run('catch-up');
    const { result, said } = await cut(move, {
      watchMs: 300,
      onCommit: async () => {
        for (let n = 0; n < 24; n += 1)
          await move.put({ id: `late ${n}`, customerId: `c${n}`, tenantId: 'P' });
      },
    });
    const ranges = new Set(result.lateWrites.map(({ range }) => range));
    expect(ranges).toEqual(new Set((await move.admin.ranges('shop/orders')).map(({ id }) => id)));
    expect(said).toMatch(/LATE WRITE .*(?:"late \d+", ){4}"late \d+" and perhaps others written in range/);
  });
});

test('cutover: late deletes and writes of one id -> reported separately', async () => {
  await using move = await moved({ settings: { avad: true } });
  await move.put({ id: '0', customerId: 'other', tenantId: 'P' });
  const { result, said } = await cut(move, {
    watchMs: 300,
    onCommit: async () => {
      await move.source.item('0', 'c0').delete();
      for (const customerId of ['other', 'new']) await move.put({ id: '0', customerId, tenantId: 'Q' });
    },
  });
  const touched = result.lateWrites.flatMap(({ ids, what }) => ids.map((id) => `${id} ${what}`));
  expect(touched.toSorted()).toEqual(['"0" deleted', '"0" written', '"0" written']);
  expect(said).toMatch(/LATE WRITE after the commit, not replicated: "0" deleted in range/);
});
