/** Each look at the ledger opens its file, so their number must not grow with the differences. */
import { expect, test, vi } from 'vitest';
import { Ledger } from '../../../../src/state/ledger.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

test('verify: a thousand differences -> as many looks at the ledger as for one', async () => {
  await using move = await Move.open();
  await putAll(
    move,
    Array.from({ length: 1000 }, (_, n) => ({ id: `o${n}`, customerId: `c${n % 17}`, tenantId: `t${n}` })),
  );
  await move.run('copy');
  await move.run('catch-up');
  const looks = vi.spyOn(Ledger, 'openReadonly');
  const looksFor = async (missing: number): Promise<number> => {
    looks.mockClear();
    await expect(verifyMove(move)).resolves.toMatchObject({ equal: false, differences: { missing } });
    return looks.mock.calls.length;
  };
  await move.target.item('o0', 't0').delete();
  const one = await looksFor(1);
  for (let at = 1; at < 1000; at += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, 1000 - at) }, async (_, i) =>
        move.target.item(`o${at + i}`, `t${at + i}`).delete(),
      ),
    );
  expect(await looksFor(1000)).toBe(one);
  looks.mockRestore();
});
