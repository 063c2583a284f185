/** A cutover that crashed after its commit looks for late writes from the positions in its ledger. */
import { expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import { formatTime } from '../../../src/lib/clock.ts';
import { CanceledError } from '../../../src/lib/errors.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move } from '../../helpers/migration/move.ts';

/** Committed, the source not checked since; many writes and deletes were replicated before. */
async function died(): Promise<Move> {
  const move = await Move.open({ settings: { avad: true } });
  for (let n = 0; n < 6; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: 'P' });
  await move.run('copy');
  await move.put({ id: '1', customerId: 'c1', tenantId: 'P', again: 1 });
  await move.source.item('2', 'c2').delete();
  const crash = new AbortController();
  const onPoint = (point: string): void => {
    if (point === 'cut-over') crash.abort(new CanceledError('SIGINT'));
  };
  const dying = runCutover(move.parts({ abort: crash.signal, onPoint }), {
    ...CUTOVER,
    onCommit: async (signal) => signal.throwIfAborted(),
  });
  await expect(dying).rejects.toThrow('stopped by SIGINT');
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('committed');
  return move;
}

const lookedAgain = async (move: Move): Promise<unknown> =>
  (await runCutover(move.parts(), { ...CUTOVER, watchMs: 300 })).lateWrites;

test('cutover resumed after its commit: changes replicated before the commit -> not late writes', async () => {
  await using move = await died();
  expect(await lookedAgain(move)).toEqual([]);
});

test('cutover resumed after its commit: delete after the commit -> reported', async () => {
  await using move = await died();
  await move.source.item('3', 'c3').delete();
  expect(await lookedAgain(move)).toEqual([{ range: '0', ids: ['"3"'], what: 'deleted' }]);
});

test('cutover resumed after its commit: change history expired -> reported, and nothing is left to do', async () => {
  await using move = await died();
  await move.put({ id: 'late', customerId: 'x', tenantId: 'P' });
  await move.admin.account({ retentionSeconds: 60 });
  await move.admin.clock(3_600_000);
  const committedAt = move.ledger(({ journal }) => journal.lastCutover(9).at(-1)?.atMs ?? 0);
  await expect(lookedAgain(move)).rejects.toMatchObject({
    exitCode: 9,
    message:
      'the target is in use, but late writes cannot be found: the change history of the source has expired',
    hint: expect.stringContaining(
      `with a _ts of ${Math.floor(committedAt / 1000)} (${formatTime(committedAt)}) or more`,
    ) as string,
  });
  const journal = move.ledger(({ journal }) => journal.lastCutover(9).map(({ event }) => event));
  expect(journal.slice(-2)).toEqual(['application switched', 'late write watch ended']);
});
