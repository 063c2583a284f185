/** Changes between two steps of a cutover (read ends, compare, replicate) are not lost. */
import { expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import type { ComparisonResult, CutoverOptions } from '../../../src/engine/cutover/contract.ts';
import { until } from '../../helpers/wait.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';

const EQUAL: ComparisonResult = { equal: true, why: '', suspects: [] };

async function moved(options: MoveOptions): Promise<Move> {
  const move = await Move.open(options);
  for (let n = 0; n < 4; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: 'P' });
  await move.run('copy');
  return move;
}

const phaseOf = (move: Move): string => move.ledger(({ migration }) => migration.read().phase);

async function cut(
  move: Move,
  parts: Partial<CutoverOptions>,
): Promise<{ readonly result: unknown; readonly said: string }> {
  const said: string[] = [];
  const result = await runCutover(move.parts(), {
    stopWriters: async () => {},
    onCommit: async () => {},
    onAbort: async () => {},
    lastCleanMs: () => 1,
    prove: async () => EQUAL,
    say: (text) => said.push(text),
    deadlineMs: 60_000,
    quietMs: 200,
    watchMs: 0,
    ...parts,
  }).catch((error: unknown) => error);
  return { result, said: said.join('\n') };
}

test('cutover: write after the watch while the comparison is not over -> the fence starts over', async () => {
  await using move = await moved({ settings: { avad: true } });
  let proofs = 0;
  const { result, said } = await cut(move, {
    prove: async () => {
      if ((proofs += 1) === 1) {
        await until(() => phaseOf(move) === 'drained', { what: 'the end of the watch' });
        await move.put({ id: 'late', customerId: 'a', tenantId: 'P' });
      }
      return EQUAL;
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect([proofs, said]).toEqual([2, expect.stringContaining('writes still arriving: "late" written')]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('cutover: what expires while the fence is watched, after its comparison -> replicated', async () => {
  // Documents do not expire in the target by themselves.
  await using move = await moved({ settings: { avad: true }, source: { defaultTtl: -1 } });
  await move.put({ id: 'mortal', customerId: 'a', tenantId: 'P', ttl: 60 });
  await move.run('catch-up');
  let expired: Promise<void> | undefined;
  const expire = async (): Promise<void> => {
    await move.admin.clock(120_000);
    await move.admin.purgeExpired('shop/orders');
  };
  const { result, said } = await cut(move, {
    quietMs: 1500,
    onStep: ({ name }) => {
      if (name === 'comparing') expired ??= expire();
    },
  });
  await expired;
  expect(said).not.toContain('writes still arriving');
  expect(result).toMatchObject({ phase: 'committed' });
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
});

test('cutover: what is not proven -> compared again, never committed', async () => {
  await using move = await moved({ settings: { avad: true } });
  let proofs = 0;
  const { result } = await cut(move, {
    prove: async () => {
      proofs += 1;
      expect(phaseOf(move)).not.toBe('committed');
      return proofs < 3 ? { ...EQUAL, equal: null } : EQUAL;
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(proofs).toBe(3);
});

test('cutover: document repaired and differs again -> refused', async () => {
  await using move = await moved({});
  let proofs = 0;
  const suspects = [move.suspect({ id: '2', customerId: 'c2', tenantId: 'P' })];
  const { result } = await cut(move, {
    prove: async () => {
      proofs += 1;
      return { equal: false, why: '1 different', suspects };
    },
  });
  expect(result).toMatchObject({ message: 'source and target are not equal', exitCode: 3 });
  expect([proofs, phaseOf(move)]).toEqual([2, 'tailing']);
});

test('cutover: deletes not reported, nothing expires, an end moved -> a delete is reported', async () => {
  await using move = await moved({});
  let deleted: Promise<unknown> | undefined;
  const { said } = await cut(move, {
    quietMs: 1000,
    onStep: ({ name }) => {
      if (name === 'comparing') deleted ??= move.source.item('2', 'c2').delete();
    },
  });
  await deleted;
  expect(said).toContain('writes still arriving: documents deleted in range 0');
});

test('cutover: deadline during the comparison -> says why it is not proven', async () => {
  await using move = await moved({ settings: { avad: true } });
  const { result } = await cut(move, {
    deadlineMs: 1500,
    prove: async () => ({ ...EQUAL, equal: null, why: '3 documents may be in flight' }),
  });
  expect(result).toMatchObject({
    message: 'the cutover did not finish in time',
    why: '--deadline is 1.5 s, and 3 documents may be in flight; the source stays in use',
    hint: expect.stringContaining('run cosmig verify, so that less has to be compared') as unknown,
  });
});

test('cutover: deadline while the service is silent -> says which step it was in', async () => {
  await using move = await moved({ settings: { avad: true } });
  const { result } = await cut(move, {
    deadlineMs: 1500,
    stopWriters: async () => {
      await move.admin.faults([{ match: { op: 'read-feed', coll: 'orders' }, effect: { hang: 'before' } }]);
    },
  });
  expect(result).toMatchObject({
    why: '--deadline is 1.5 s, and it was still catching up; the source stays in use',
    hint: expect.stringContaining('check that both accounts respond normally') as unknown,
  });
});

test('cutover: deadline while writes arrive -> reports what was written', async () => {
  await using move = await moved({ settings: { avad: true } });
  let n = 0;
  const { result } = await cut(move, {
    deadlineMs: 6000,
    quietMs: 300,
    onStep: () => void move.put({ id: 'late', customerId: 'z', tenantId: `t${(n += 1)}` }),
  });
  expect(result).toMatchObject({
    message: 'the cutover did not finish in time',
    why: '--deadline is 6.0 s, and writes were still arriving: "late" written in range 0; the source stays in use',
    hint: expect.stringContaining('make sure that all writers are stopped') as unknown,
  });
});
