import { setTimeout } from 'node:timers/promises';
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
  // Another program creates its document again when it is gone, which no repair can fix.
  const stop = new AbortController();
  const write = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await move.target.items.create({ id: 'other', customerId: 'b', tenantId: 'P' }).catch(() => {});
      await setTimeout(10);
    }
  };
  const writing = write();
  try {
    expect((await typed(move, 'verify', '--repair', '--deadline', '60s', ...SPEC)).code).toBe(4);
  } finally {
    stop.abort();
    await writing;
  }
  const pending = move.ledger(({ leases }) => leases.live().map(({ sweepPending }) => sweepPending));
  expect(pending).not.toEqual([]);
  expect(pending.filter((isPending) => !isPending)).toEqual([]);
});
