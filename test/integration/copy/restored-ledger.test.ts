/** An older copy of the ledger is put back in its place, and the migration resumes with it. */
import { copyFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { repairAll, runCutover } from '../../../src/engine/run.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, REQUEST_TIMEOUT_MS, type Order } from '../../helpers/migration/move.ts';
import { begin } from '../../helpers/migration/tapped.ts';

const order = (n: number): Order => ({ id: `o${n}`, customerId: `c${n % 3}`, tenantId: `t${n % 2}`, n });
const orders = Array.from({ length: 30 }, (_, n) => order(n));
const AVAD = { settings: { avad: true } };

/** Takes a copy now; gives what puts it back. */
function keep(move: Move): () => void {
  const backup = `${move.ledgerPath}.backup`;
  const ledger = Ledger.openReadonly(move.ledgerPath);
  ledger.backup(backup);
  ledger.close();
  return () => copyFileSync(backup, move.ledgerPath);
}

test('restored ledger: from before the copy -> a comparison is due, and finds the unknown documents', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await begin(move);
  const putBack = keep(move);
  expect((await move.run('copy')).sweepPending).toBe(false);
  putBack();
  // Its copy is in no ledger, and neither feed shows more of it than that it is gone.
  await move.source.item('o7', 'c1').delete();
  await move.run('copy');
  const { sweepPending } = await move.run('catch-up');
  expect(sweepPending).toBe(true);
  expect(move.lines.join('\n')).toContain('this ledger is an older copy');
  expect((await move.documents(move.target)).map(({ id }) => id)).toContain('o7');
  await repairAll(move.parts(), [move.suspect(order(7))]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('restored ledger: from before the tail -> moves, deletes and short-lived documents are repeated', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await move.run('copy');
  const putBack = keep(move);
  await move.put({ ...order(1), tenantId: 'moved' }, order(40), order(41));
  await move.source.item('o2', 'c2').delete();
  await move.run('catch-up');
  await move.source.item('o40', 'c1').delete();
  await move.put({ ...order(1), tenantId: 'again' });
  await move.run('catch-up');
  putBack();
  const { sweepPending } = await move.run('catch-up');
  expect(sweepPending).toBe(true);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

// Only Linux identifies its boot; elsewhere every run after a crash waits.
test.skipIf(process.platform !== 'linux')(
  'restored ledger: documents are in doubt -> it waits for the requests of the runs that are missing in it',
  async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await begin(move);
    const onPoint = (point: CrashPoint): void => {
      if (point === 'outcomes-known') throw new Error('it dies');
    };
    await expect(move.run('copy', { onPoint })).rejects.toThrow('it dies');
    // No request of that run can take effect any longer. Those of the next one can.
    await delay(2 * REQUEST_TIMEOUT_MS + 1100);
    const putBack = keep(move);
    const said: string[] = [];
    const say = (text: string): void => void said.push(text);
    await move.run('copy', { say });
    expect(said.join()).not.toContain('was interrupted: waiting');
    putBack();
    await move.run('copy', { say });
    expect(said.join()).toContain('the last run was interrupted: waiting 1 s');
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  },
);

test('restored ledger: from before the cutover commit -> nothing is replicated', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await move.run('copy');
  const putBack = keep(move);
  await runCutover(move.parts(), CUTOVER);
  putBack();
  const before = await move.documents(move.target);
  await move.put({ ...order(1), n: 'written to the wrong side' });
  for (const goal of ['tail', 'catch-up', 'copy'] as const)
    await expect(move.run(goal)).rejects.toMatchObject({
      exitCode: 3,
      message: 'this ledger is from before the migration was committed',
    });
  expect(await move.documents(move.target)).toEqual(before);
});
