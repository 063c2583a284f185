/** In which order a cutover looks, compares and brings over: what happens between two of them is not lost. */
import { expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import type { CutoverParts, Proof } from '../../../src/engine/cutover/contract.ts';
import { until } from '../../helpers/wait.ts';
import { Move, type MoveOptions } from '../../helpers/move.ts';

const EQUAL: Proof = { equal: true, why: '', suspects: [] };

async function moved(options: MoveOptions): Promise<Move> {
  const move = await Move.open(options);
  for (let n = 0; n < 4; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: 'P' });
  await move.run('copy');
  return move;
}

const phaseOf = (move: Move): string => move.ledger(({ facts }) => facts.read().phase);

async function cut(
  move: Move,
  parts: Partial<CutoverParts>,
): Promise<{ readonly result: unknown; readonly said: string }> {
  const said: string[] = [];
  const result = await runCutover(move.parts(), {
    stopWriters: async () => {},
    onCommit: async () => {},
    onAbort: async () => {},
    lastCleanMs: () => 1,
    prove: async () => EQUAL,
    say: (text) => said.push(text),
    deadlineMs: 20_000,
    quietMs: 200,
    watchMs: 0,
    ...parts,
  }).catch((error: unknown) => error);
  return { result, said: said.join('\n') };
}

test('what is written when the fence was watched, and the comparison is not over, has it start over', async () => {
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
  expect([proofs, said]).toEqual([2, expect.stringContaining('somebody still writes: "late" written')]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('what expires while the fence is watched, and was compared before, is brought over', async () => {
  // It does not expire there by itself.
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
      if (name === 'proving') expired ??= expire();
    },
  });
  await expired;
  expect(said).not.toContain('somebody still writes');
  expect(result).toMatchObject({ phase: 'committed' });
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
});

test('what is not proven is asked for again, and never committed', async () => {
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

test('a document that was brought right and differs still ends it', async () => {
  await using move = await moved({});
  let proofs = 0;
  const suspects = [move.suspect({ id: '2', customerId: 'c2', tenantId: 'P' })];
  const { result } = await cut(move, {
    prove: async () => {
      proofs += 1;
      return { equal: false, why: '1 different', suspects };
    },
  });
  expect(result).toMatchObject({ message: 'both sides do not hold the same', exitCode: 3 });
  expect([proofs, phaseOf(move)]).toEqual([2, 'tailing']);
});

test('where nobody tells of deletes, and nothing expires, ends that have moved were moved by one', async () => {
  await using move = await moved({});
  let deleted: Promise<unknown> | undefined;
  const { said } = await cut(move, {
    quietMs: 1000,
    onStep: ({ name }) => {
      if (name === 'proving') deleted ??= move.source.item('2', 'c2').delete();
    },
  });
  await deleted;
  expect(said).toContain('somebody still writes: documents deleted in range 0');
});

test('one that is too late tells why it could not be proven', async () => {
  await using move = await moved({ settings: { avad: true } });
  const { result } = await cut(move, {
    deadlineMs: 1500,
    prove: async () => ({ ...EQUAL, equal: null, why: '3 documents may be in flight' }),
  });
  expect(result).toMatchObject({
    message: 'the cutover was not done in time',
    why: '--deadline is 1.5 s, and 3 documents may be in flight; the source stays in use',
    hint: expect.stringContaining('run cosmig verify, so that less has to be compared') as unknown,
  });
});

test('one that is too late since nobody answers says what it was at, and not that there is much to compare', async () => {
  await using move = await moved({ settings: { avad: true } });
  const { result } = await cut(move, {
    deadlineMs: 1500,
    stopWriters: async () => {
      await move.admin.faults([{ match: { op: 'read-feed', coll: 'orders' }, effect: { hang: 'before' } }]);
    },
  });
  expect(result).toMatchObject({
    why: '--deadline is 1.5 s, and it was still catching up; the source stays in use',
    hint: expect.stringContaining('see whether both accounts answer as they should') as unknown,
  });
});

test('one that is too late since somebody still writes names what was written', async () => {
  await using move = await moved({ settings: { avad: true } });
  let n = 0;
  const { result } = await cut(move, {
    deadlineMs: 6000,
    quietMs: 300,
    onStep: () => void move.put({ id: 'late', customerId: 'z', tenantId: `t${(n += 1)}` }),
  });
  expect(result).toMatchObject({
    message: 'the cutover was not done in time',
    why: '--deadline is 6.0 s, and somebody still wrote: "late" written in range 0; the source stays in use',
    hint: expect.stringContaining('see to it that all writers are stopped') as unknown,
  });
});
