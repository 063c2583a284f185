/** Changes after a check has passed: after the gate, after a waiver, after the comparison. */
import { expect, test } from 'vitest';
import { compareForCutover } from '../../../src/workflows/compare.ts';
import { runCutover } from '../../../src/engine/run.ts';
import type { CutoverOptions } from '../../../src/engine/cutover/contract.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { Move, type MoveOptions, type Order } from '../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../helpers/migration/verify.ts';

const order = (n: number): Order => ({ id: `o${n}`, customerId: `c${n % 17}`, tenantId: `t${n % 5}`, n });

async function proven(options: MoveOptions, more: readonly Order[] = []): Promise<Move> {
  const move = await Move.open(options);
  await putAll(move, [...Array.from({ length: 30 }, (_, n) => order(n)), ...more]);
  await move.run('copy');
  const { spec } = move.parts();
  {
    using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: 1, create: 'never' });
    for (const { number } of ledger.letters.list({ state: 'open', after: 0, limit: 10 }))
      ledger.letters.discard(number, 1);
  }
  const flags = options.flags ?? {};
  expect(await verifyMove(move, { flags })).toMatchObject({ equal: true });
  return move;
}

/** Uses the comparison of the command. */
async function cut(
  move: Move,
  parts: (proof: CutoverOptions['prove']) => Partial<CutoverOptions>,
): Promise<{ readonly result: unknown; readonly phase: string; readonly ids: readonly string[] }> {
  const run = move.parts();
  const proof: CutoverOptions['prove'] = async (signal, scope) =>
    compareForCutover(run, { deadlineMs: 60_000, signal, scope });
  const result = await runCutover(run, {
    stopWriters: async () => {},
    onCommit: async () => {},
    onAbort: async () => {},
    lastCleanMs: () => 1,
    prove: proof,
    say: () => {},
    deadlineMs: 60_000,
    quietMs: 300,
    watchMs: 0,
    ...parts(proof),
  }).catch((error: unknown) => error);
  const phase = move.ledger(({ migration }) => migration.read().phase);
  return { result, phase, ids: (await move.documents(move.target)).map(({ id }) => id) };
}

test('cutover: dead letter opens after the gate -> does not commit', async () => {
  await using move = await proven({ settings: { avad: true } });
  const { result, phase } = await cut(move, () => ({
    // The last write claims a key that is taken.
    stopWriters: async () => move.put({ ...order(1), customerId: 'other' }),
  }));
  expect(result).toMatchObject({ message: 'a document is not in the target', exitCode: 3 });
  expect(phase).toBe('tailing');
});

test('cutover: waived letter and a deleted document -> the delete is found', async () => {
  const keyless = { id: 'no key', customerId: 'a' };
  await using move = await proven({ flags: { missingKey: ['dead-letter'] } }, [keyless]);
  await move.source.item('o3', 'c3').delete();
  const { phase, ids } = await cut(move, () => ({}));
  expect(phase).toBe('committed');
  expect(ids).toHaveLength(29);
  expect(ids).not.toContain('o3');
});

test('cutover: documents expire, deletes not reported, delete during the watch -> not carried over', async () => {
  await using move = await proven({ source: { defaultTtl: -1 } });
  let isDeleted = false;
  const { phase, ids } = await cut(move, (proof) => ({
    quietMs: 2000,
    onStep: ({ name }) => {
      // By then a comparison that began with the watch would have passed it.
      if (name !== 'watching the fence' || isDeleted) return;
      isDeleted = true;
      void move.source.item('o3', 'c3').delete();
    },
    prove: proof,
  }));
  expect([phase, isDeleted]).toEqual(['committed', true]);
  expect(ids).not.toContain('o3');
});
