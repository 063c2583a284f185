/** Which unfinished comparison may be resumed, and which may not. */
import { truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CanceledError } from '../../../../src/lib/errors.ts';
import { verifyPath } from '../../../../src/verify/store.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { clockAt } from '../../../helpers/clock.ts';

async function copied(count: number): Promise<Move> {
  const move = await Move.open();
  for (let n = 0; n < count; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 17}`, tenantId: `t${n % 5}` });
  await move.run('copy');
  await move.run('catch-up');
  return move;
}

/** An unfinished comparison, aborted at its first page. */
async function stopInTheMiddle(move: Move): Promise<void> {
  const stop = new AbortController();
  const stopped = verifyMove(move, {
    signal: stop.signal,
    timing: { pageSize: 10 },
    onProgress: () => stop.abort(new CanceledError('SIGTERM')),
  });
  await expect(stopped).rejects.toThrow(CanceledError);
}

test('verify: finished verdict, clock set back -> not reused', async () => {
  await using move = await copied(20);
  const nowMs = Date.now();
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true });
  await move.target.item('o3', 't3').delete();
  const verdict = await verifyMove(move, { clock: clockAt(() => nowMs - 3600_000) });
  expect(verdict).toMatchObject({ equal: false, samples: [{ kind: 'missing', id: 'o3' }] });
});

test('verify: another comparison was started meanwhile -> nothing to check again', async () => {
  await using move = await copied(60);
  await move.target.item('o3', 't3').delete();
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: false });
  // Stopped in the middle, while a mover may repair what differed.
  await stopInTheMiddle(move);
  const verdict = await verifyMove(move, { again: true });
  expect(verdict).toMatchObject({ equal: false, samples: [{ kind: 'missing', id: 'o3' }] });
});

test('verify: entries damaged by a power cut -> the next run starts from scratch', async () => {
  await using move = await copied(60);
  await move.target.item('o3', 't3').delete();
  await stopInTheMiddle(move);
  truncateSync(`${verifyPath(move.ledgerPath)}-runs`);
  await expect(verifyMove(move)).rejects.toThrow('the data of an earlier pass is damaged');
  const verdict = await verifyMove(move);
  expect(verdict).toMatchObject({ equal: false, samples: [{ kind: 'missing', id: 'o3' }] });
});

test.each([
  ['a day', 24.1, 1],
  ['a fortnight', 14 * 24, 0],
])('verify: stopped in the middle %s ago -> resumed, or started from scratch', async (_ago, hours, times) => {
  await using move = await copied(60);
  await stopInTheMiddle(move);
  const said: string[] = [];
  const clock = clockAt((): number => Date.now() + hours * 3600_000);
  await expect(verifyMove(move, { clock, say: (text) => said.push(text) })).resolves.toMatchObject({
    equal: true,
  });
  expect(said).toHaveLength(times);
});
