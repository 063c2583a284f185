import { expect, test } from 'vitest';
import { Ledger } from '../../../../src/state/ledger.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { SPEC, typed } from '../../../helpers/migration/typed.ts';

test('verify --repair: deletes were lost, and a difference stays -> a comparison is still due', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await typed(move, 'copy', ...SPEC)).code).toBe(0);
  {
    const { spec } = move.parts();
    using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: 1, create: 'never' });
    for (const { number } of ledger.leases.live()) ledger.leases.change(number, { sweepPending: true });
  }
  // An object is not a key value, so this document belongs to no source document, and is not repaired.
  await move.target.items.create({ id: 'other', customerId: { of: 'object' }, tenantId: 'P' });
  expect((await typed(move, 'verify', '--repair', '--deadline', '10s', ...SPEC)).code).toBe(4);
  const pending = move.ledger(({ leases }) => leases.live().map(({ sweepPending }) => sweepPending));
  expect(pending).not.toEqual([]);
  expect(pending.filter((isPending) => !isPending)).toEqual([]);
}, 60_000);
