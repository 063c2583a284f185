/** The dead letters that `verify --repair` closes: named with what became of their documents. */
import { expect, test } from 'vitest';
import { both, loserOf, NEEDS_KEY as flags, order } from '../../../helpers/migration/collisions.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig } from '../../../helpers/migration/typed.ts';
import { VERDICT } from '../../../unit/report/verdict.ts';
import { compareAndRepair } from '../../../../src/workflows/repair.ts';

test('verify --repair: documents of letters, and one that had a slot, are gone -> names each closed letter', async () => {
  await using move = await Move.open({ flags });
  await move.put(...both('inv-2'), ...both('inv-3'), ...both('inv-4'), order('inv-5', 'a', {}));
  await move.run('copy');
  const [two, three, four] = await Promise.all(
    ['inv-2', 'inv-3', 'inv-4'].map(async (id) => loserOf(move, id)),
  );
  await move.source.item('inv-2', two === 'a' ? 'b' : 'a').delete();
  await move.source.item('inv-3', three ?? '').delete();
  await move.source.item('inv-5', 'a').delete();
  const options = ['--missing-key', 'dead-letter', '--deadline', '5s'];
  const { code, stdout } = await cosmig(move, 'verify', '--repair', ...options);
  const [, closed = ''] =
    /dead letters 3 closed: (.*?)(?: rechecked| dead letters)/.exec(stdout.replaceAll(/\s+/g, ' ')) ?? [];
  expect([code, closed.split(', ').toSorted()]).toEqual([
    0,
    [`"inv-2" of ["${two}"] was moved`, `"inv-3" of ["${three}"] is gone`, '"inv-5" of ["a"] is gone'],
  ]);
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(stdout).toMatch(/^dead letters +1 open, 0 discarded;/m);
  await move.source.item('inv-4', four ?? '').delete();
  const again = await cosmig(move, 'verify', '--repair', '--json', ...options);
  expect([again.code, JSON.parse(again.stdout)]).toMatchObject([
    0,
    {
      closedLetters: { closed: 1, named: [{ id: 'inv-4', sourceKey: [four], became: 'gone' }] },
      letters: { open: 0 },
    },
  ]);
  expect(
    JSON.parse((await cosmig(move, 'verify', '--repair', '--json', ...options)).stdout),
  ).not.toHaveProperty('closedLetters');
});

test('verify --repair: the comparison ends before its tail would look at letters -> looked at all the same', async () => {
  await using move = await Move.open({ flags });
  await move.put(order('1', 'a', {}));
  await move.run('copy');
  await move.source.item('1', 'a').delete();
  const verdict = await compareAndRepair(move.parts({ timing: { pollMs: 60_000 } }), async () => VERDICT);
  expect(verdict.closedLetters).toMatchObject({ closed: 1, named: [{ id: '1', became: 'gone' }] });
});
