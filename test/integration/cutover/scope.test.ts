/** A cutover compares the state of now, of this migration; results of earlier comparisons prove nothing. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lastProofAtMs, compareForCutover } from '../../../src/workflows/compare.ts';
import { runCutover } from '../../../src/engine/run.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions, type Order } from '../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../helpers/migration/verify.ts';

const order = (n: number, more: object = {}): Order => ({
  id: `o${n}`,
  customerId: `c${n % 17}`,
  tenantId: `t${n % 5}`,
  n,
  ...more,
});

async function proven(options: MoveOptions = {}): Promise<Move> {
  const move = await Move.open(options);
  await putAll(
    move,
    Array.from({ length: 30 }, (_, n) => order(n)),
  );
  await move.run('copy');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
  return move;
}

test('cutover: everything is compared and one that was not proven before exists -> starts from scratch', async () => {
  // Documents may expire, and deletes are not reported.
  await using move = await proven({ source: { defaultTtl: -1 } });
  await move.put(order(1, { again: 1 }));
  expect(await verifyMove(move, { deadlineMs: 0 })).toMatchObject({ equal: null, inFlight: 1 });
  await move.run('catch-up');
  await move.target.item('o7', 't2').delete();
  const run = move.parts();
  const result = await runCutover(run, {
    ...CUTOVER,
    prove: async (signal, scope) => compareForCutover(run, { deadlineMs: 20_000, signal, scope }),
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('cutover: proof of another spec -> opens no gate', async () => {
  await using move = await proven();
  expect(lastProofAtMs(move.parts().spec)).toEqual(expect.any(Number));
  for (const end of ['', '-wal', '-shm']) rmSync(`${move.ledgerPath}${end}`, { force: true });
  expect(lastProofAtMs(move.parts({ flags: { deletes: ['marker:/isDeleted'] } }).spec)).toBeNull();
});

test('cutover: everything was compared -> only differences are compared again, and a proof is recorded', async () => {
  await using move = await proven();
  // The delete is not reported: the counts show it, and then all documents are compared.
  await move.source.item('o3', 'c3').delete();
  const run = move.parts();
  const scopes: unknown[] = [];
  const result = await runCutover(run, {
    ...CUTOVER,
    prove: async (signal, scope) => {
      const proof = await compareForCutover(run, { deadlineMs: 20_000, signal, scope });
      scopes.push([scope, proof.equal, lastProofAtMs(run.spec) === null]);
      return proof;
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(scopes).toEqual([
    ['changes', false, true],
    ['what differed', true, false],
  ]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
