/** Verify files of an earlier migration of the same name say nothing about the current one. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Move, type MoveOptions, type Order } from '../../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';
import { clockAt } from '../../../helpers/clock.ts';

const COUNT = 60;
const order = (n: number): Order => ({ id: `o${n}`, customerId: `c${n % 17}`, tenantId: `t${n % 5}`, n });

/** Starts a new migration under the same name; only the old verify files remain. */
async function verifyFromScratch(move: Move, flags: NonNullable<MoveOptions['flags']>): Promise<void> {
  for (const end of ['', '-wal', '-shm']) rmSync(`${move.ledgerPath}${end}`, { force: true });
  await move.run('copy', { flags });
}

async function emptied(move: Move): Promise<void> {
  for (let n = 0; n < COUNT; n += 1) await move.target.item(`o${n}`, `t${n % 5}`).delete();
}

async function recreated(move: Move): Promise<void> {
  await move.target.delete();
  await move.client.database('shop').containers.create({ id: 'by-tenant', partitionKey: '/tenantId' });
}

const HOW = [
  { what: 'of another container', clear: recreated, flags: {} },
  { what: 'of another spec', clear: emptied, flags: { deletes: ['marker:/isDeleted'] } },
] as const;

async function copied(): Promise<Move> {
  const move = await Move.open();
  await putAll(
    move,
    Array.from({ length: COUNT }, (_, n) => order(n)),
  );
  await move.run('copy');
  return move;
}

test.each(HOW)('verify: unfinished comparison $what -> not resumed', async ({ clear, flags }) => {
  await using move = await copied();
  const stop = new AbortController();
  const stopped = verifyMove(move, {
    signal: stop.signal,
    timing: { pageSize: 10 },
    onProgress: () => stop.abort(new Error('canceled')),
  });
  await expect(stopped).rejects.toThrow('canceled');
  await clear(move);
  await verifyFromScratch(move, flags);
  const said: string[] = [];
  expect(await verifyMove(move, { flags, say: (text) => said.push(text) })).toMatchObject({
    equal: true,
    source: { count: COUNT },
    target: { count: COUNT },
  });
  expect(said).toEqual([]);
});

test.each(HOW)('verify: a proof $what -> ignored, all documents are compared', async ({ clear, flags }) => {
  await using move = await copied();
  expect(await verifyMove(move)).toMatchObject({ equal: true });
  await clear(move);
  await verifyFromScratch(move, flags);
  expect(await verifyMove(move, { flags, level: 'changes' })).toMatchObject({
    equal: true,
    source: { count: COUNT },
    target: { count: COUNT },
  });
});

const HOUR_MS = 3600_000;

test.each([
  { when: 'half an hour ago', agoMs: HOUR_MS / 2, times: 1 },
  { when: 'two hours ago', agoMs: 2 * HOUR_MS, times: 0 },
  { when: 'by a clock that was weeks ahead', agoMs: -14 * 24 * HOUR_MS, times: 0 },
])('verify: candidates listed $when -> resumed, or listed again', async ({ agoMs, times }) => {
  await using move = await copied();
  await move.put({ ...order(1), again: 1 });
  const began = clockAt((): number => Date.now() - agoMs);
  expect(await verifyMove(move, { deadlineMs: 0, clock: began })).toMatchObject({ equal: null, inFlight: 1 });
  await move.run('catch-up');
  const said: string[] = [];
  expect(await verifyMove(move, { say: (text) => said.push(text) })).toMatchObject({ equal: true });
  expect(said).toHaveLength(times);
});

test('verify: listed just now after a long pass -> resumed', async () => {
  await using move = await copied();
  await move.put({ ...order(1), again: 1 });
  let agoMs = 30 * HOUR_MS;
  const parts = {
    deadlineMs: 0,
    clock: clockAt((): number => Date.now() - agoMs),
    onProgress: () => void (agoMs = 0),
  };
  expect(await verifyMove(move, parts)).toMatchObject({ equal: null, inFlight: 1 });
  await move.run('catch-up');
  const said: string[] = [];
  expect(await verifyMove(move, { say: (text) => said.push(text) })).toMatchObject({ equal: true });
  expect(said).toHaveLength(1);
});
