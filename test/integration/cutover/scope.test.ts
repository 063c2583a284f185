/** A cutover compares the state of now, of this migration; results of earlier comparisons prove nothing. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lastCleanComparison, compareForCutover } from '../../../src/workflows/compare.ts';
import { runCutover } from '../../../src/engine/run.ts';
import { clockAt } from '../../helpers/clock.ts';
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
    prove: async (signal, scope) => compareForCutover(run, { deadlineMs: 60_000, signal, scope }),
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('cutover: proof of another spec -> opens no gate', async () => {
  await using move = await proven();
  expect(lastCleanComparison(move.parts().spec)).toMatchObject({ atMs: expect.any(Number) as number });
  for (const end of ['', '-wal', '-shm']) rmSync(`${move.ledgerPath}${end}`, { force: true });
  expect(lastCleanComparison(move.parts({ flags: { deletes: ['marker:/isDeleted'] } }).spec)).toBeNull();
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
      const proof = await compareForCutover(run, { deadlineMs: 60_000, signal, scope });
      scopes.push([scope, proof.equal, lastCleanComparison(run.spec) === null]);
      return proof;
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(scopes).toEqual([
    ['changes', false, true],
    ['what differed', true, false],
    // The repair has written in the target, and another process may have too.
    ['changes', true, false],
  ]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

const noStop = async (): Promise<never> => {
  throw new Error('the writers must not be stopped');
};

test('cutover: comparing all documents would take longer than the deadline -> refused before writers are stopped', async () => {
  // Documents may expire, and deletes are not reported: everything has to be compared.
  await using move = await proven({ source: { defaultTtl: -1 } });
  const cut = runCutover(move.parts(), {
    ...CUTOVER,
    stopWriters: noStop,
    deadlineMs: 60_000,
    compareAllMs: () => 61_000,
  });
  await expect(cut).rejects.toMatchObject({
    message: 'the comparison would take longer than the writers may be stopped',
    why: expect.stringContaining('read both sides in 61 s, and --deadline is 60 s') as string,
    exitCode: 3,
  });
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('tailing');
});

test.each([
  [61_000, 'if a side has lost documents unnoticed, the cutover will not finish in time'],
  [60_000, undefined],
])(
  'cutover: only changes are compared, all would take %d of 60,000 ms -> said: %s',
  async (takesMs, text) => {
    await using move = await proven();
    const said: string[] = [];
    const say = (line: string): unknown => said.push(line);
    await runCutover(move.parts(), { ...CUTOVER, say, deadlineMs: 60_000, compareAllMs: () => takesMs });
    expect(said.find((line) => line.startsWith('if a side has lost'))?.split(':')[0]).toBe(text);
  },
);

test.each([
  [3000, '; the last comparison of all documents read both sides in 3.0 s'],
  [
    61_000,
    ', and the cutover will not finish in time; the last comparison of all documents read both sides in 61 s, and --deadline is 60 s',
  ],
])(
  'cutover: documents have expired and are not purged, deletes are reported, all take %d ms -> said at the gate, and compared',
  async (takesMs, end) => {
    const settings = { avad: true, ttlPurgeDelayMs: 600_000 };
    await using move = await proven({ settings, source: { defaultTtl: -1 }, target: { defaultTtl: -1 } });
    await move.put(order(40, { ttl: 1 }), order(41, { ttl: 1 }));
    await move.run('catch-up');
    await move.admin.clock(5000);
    const run = move.parts();
    const said: string[] = [];
    let isSaid: boolean | undefined;
    const result = await runCutover(run, {
      ...CUTOVER,
      say: (line) => said.push(line),
      stopWriters: async () => void (isSaid = said.some((line) => line.startsWith('documents expire: '))),
      deadlineMs: 60_000,
      compareAllMs: () => takesMs,
      prove: async (signal, scope) => compareForCutover(run, { deadlineMs: 60_000, signal, scope }),
    });
    expect(result).toMatchObject({ phase: 'committed', proof: { compared: 'all' } });
    expect([isSaid, said.filter((line) => line.startsWith('documents expire: '))]).toEqual([
      true,
      [
        `documents expire: if some have expired and are not purged yet, all documents will be compared with writers stopped${end}`,
      ],
    ]);
  },
);

test('cutover: how long it took to compare all documents -> known, also after a comparison of changes', async () => {
  await using move = await proven();
  const { spec } = move.parts();
  const before = lastCleanComparison(spec);
  expect(before?.readMs).toBeGreaterThan(0);
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({ equal: true });
  const after = lastCleanComparison(spec);
  expect(after?.atMs).toBeGreaterThan(before?.atMs ?? 0);
  expect(after?.readMs).toBe(before?.readMs);
});

const HOURS_MS = 3600 * 1000;

test('cutover: comparison of all documents was interrupted for hours -> these do not count as its duration', async () => {
  await using move = await Move.open();
  await putAll(
    move,
    Array.from({ length: 30 }, (_, n) => order(n)),
  );
  await move.run('copy');
  const stop = new AbortController();
  const stopped = verifyMove(move, {
    signal: stop.signal,
    timing: { pageSize: 2 },
    onProgress: ({ target }) => {
      if (target > 2) stop.abort(new Error('enough'));
    },
  });
  await expect(stopped).rejects.toThrow('enough');
  const clock = clockAt(() => Date.now() + 8 * HOURS_MS);
  expect(await verifyMove(move, { clock })).toMatchObject({ equal: true });
  const { readMs } = lastCleanComparison(move.parts().spec) ?? {};
  expect(readMs).toBeGreaterThan(0);
  expect(readMs).toBeLessThan(HOURS_MS);
});
