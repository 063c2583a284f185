import { describe, expect, test } from 'vitest';
import { CanceledError } from '../../../../src/lib/errors.ts';
import { isoTime } from '../../../../src/report/format.ts';
import { verifyJson, verifyText } from '../../../../src/report/verify.ts';
import { MigrationProcess } from '../../../faults/harness/migration/process.ts';
import { byDay } from '../../../helpers/generated.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import type { VerifyOrder } from '../../../helpers/process/verify-child.ts';
import { optionsOf, putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
  }));

const PAGE_SIZE = 20;

async function copied(count: number): Promise<Move> {
  const move = await Move.open();
  await putAll(move, orders(count));
  await move.run('copy');
  await move.run('catch-up');
  return move;
}

async function killed(move: Move, killAfter: VerifyOrder['killAfter']): Promise<void> {
  const order: VerifyOrder = {
    options: optionsOf(move),
    env: { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString },
    pageSize: PAGE_SIZE,
    deadlineMs: 5000,
    killAfter,
  };
  await using child = new MigrationProcess(
    new URL('../../../helpers/process/verify-child.ts', import.meta.url),
    order,
    `${move.ledgerPath}.log`,
  );
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
}

describe('verify: a comparison that is killed', () => {
  test.each(byDay([1, 4, 9, 12], { every: 2 }))(
    'after page %i -> resumes, and counts nothing twice',
    async (steps) => {
      await using move = await copied(200);
      await move.admin.split('shop/orders');
      await killed(move, { stage: 'reading', steps });
      const said: string[] = [];
      let pages = 0;
      const verdict = await verifyMove(move, {
        timing: { pageSize: PAGE_SIZE },
        say: (text) => said.push(text),
        onProgress: ({ stage }) => (pages += stage === 'reading' ? 1 : 0),
      });
      expect(verdict).toMatchObject({ equal: true, source: { count: 200 }, target: { count: 200 } });
      expect(verdict.details).toMatchObject({ lookedAtAgain: 0 });
      expect(said).toEqual([expect.stringMatching(/^resuming the comparison started at /)]);
      // At most the page that was in flight on each side is read again.
      const whole: number[] = [];
      await verifyMove(move, {
        timing: { pageSize: PAGE_SIZE },
        onProgress: ({ stage }) => stage === 'reading' && whole.push(1),
      });
      expect(pages).toBeLessThanOrEqual(whole.length - steps + 2);
    },
  );

  test('after it found differences -> resumes with them', async () => {
    await using move = await copied(60);
    await move.target.item('o3', 't3').delete();
    await killed(move, { stage: 'rechecking', steps: 2 });
    const stages = new Set<string>();
    const verdict = await verifyMove(move, { onProgress: ({ stage }) => stages.add(stage) });
    expect(verdict).toMatchObject({ equal: false, samples: [{ kind: 'missing', id: 'o3' }] });
    expect([...stages]).toEqual(['rechecking']);
  });

  test('--fresh, or after the verdict -> starts over', async () => {
    await using move = await copied(60);
    await killed(move, { stage: 'reading', steps: 2 });
    const said: string[] = [];
    const say = (text: string): number => said.push(text);
    await expect(verifyMove(move, { fresh: true, say })).resolves.toMatchObject({ equal: true });
    await expect(verifyMove(move, { say })).resolves.toMatchObject({ equal: true });
    expect(said).toEqual([]);
  });
});

test('verify: not proven, then the tail arrives -> equal; the numbers are those of the first run, and say so', async () => {
  await using move = await copied(20);
  await putAll(
    move,
    orders(23).map((order) => ({ ...order, id: `${order.id}-new` })),
  );
  const counts = { source: { count: 43 }, target: { count: 20 } };
  await expect(verifyMove(move, { deadlineMs: 0 })).resolves.toMatchObject({
    equal: null,
    ...counts,
    details: { isResumed: false },
  });
  await move.run('catch-up');
  const verdict = await verifyMove(move);
  expect(verdict).toMatchObject({ equal: true, ...counts, details: { isResumed: true, lookedAtAgain: 23 } });
  expect(verifyJson(verdict)).toMatchObject({ countsAt: isoTime(verdict.details.beganAtMs), rechecked: 23 });
  const at = String.raw`read from \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ on`;
  expect(verifyText(verdict)).toMatch(
    new RegExp(`^source +43 documents, ${at}\ntarget +20 documents, ${at}\n`, 'm'),
  );
  const again = await verifyMove(move);
  expect(again).toMatchObject({ equal: true, source: { count: 43 }, target: { count: 43 } });
  expect(verifyText(again)).toMatch(/^source +43 documents\ntarget +43 documents$/m);
});

describe('verify: a comparison that is stopped', () => {
  test('stopped -> keeps what it read, and resumes', async () => {
    await using move = await copied(200);
    const stop = new AbortController();
    const stopped = verifyMove(move, {
      signal: stop.signal,
      timing: { pageSize: PAGE_SIZE, checkpointMs: 60_000 },
      onProgress: () => stop.abort(new CanceledError('SIGINT')),
    });
    await expect(stopped).rejects.toThrow(CanceledError);
    let pages = 0;
    const verdict = await verifyMove(move, {
      timing: { pageSize: PAGE_SIZE },
      onProgress: () => (pages += 1),
    });
    expect(verdict).toMatchObject({ equal: true, source: { count: 200 }, target: { count: 200 } });
    expect(pages).toBeGreaterThan(3);
  });

  test('time limit -> ends, and the next run resumes', async () => {
    await using move = await copied(100);
    await move.admin.faults([{ match: { op: 'read-feed' }, effect: { delayMs: 400 } }]);
    const late = verifyMove(move, { flags: { for: ['1s'] }, timing: { pageSize: 10 } });
    await expect(late).rejects.toMatchObject({ exitCode: 8 });
    await move.admin.calm();
    const said: string[] = [];
    await expect(verifyMove(move, { say: (text) => said.push(text) })).resolves.toMatchObject({
      equal: true,
    });
    expect(said).toHaveLength(1);
  });

  test('a second one at the same time -> refused', async () => {
    await using move = await copied(20);
    await move.admin.faults([{ match: { op: 'read-feed' }, effect: { delayMs: 300 } }]);
    const first = verifyMove(move);
    const second = new Promise((resolve) => setImmediate(resolve)).then(async () => verifyMove(move));
    const ends = await Promise.allSettled([first, second]);
    const refused = ends.filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([{ status: 'rejected', reason: expect.objectContaining({ exitCode: 3 }) }]);
  });
});

describe('verify: ranges that split between two runs', () => {
  test.each(['shop/orders', 'shop/by-tenant'])(
    'of %s -> children continue from the position of their parent',
    async (path) => {
      await using move = await copied(300);
      let steps = 0;
      const splits: Promise<void>[] = [];
      const verdict = await verifyMove(move, {
        timing: { pageSize: PAGE_SIZE },
        onProgress: () => {
          steps += 1;
          if (steps === 4 || steps === 9) splits.push(move.admin.split(path));
        },
      });
      await Promise.all(splits);
      expect(splits).toHaveLength(2);
      expect(verdict).toMatchObject({ equal: true, source: { count: 300 }, target: { count: 300 } });
      expect(verdict.details).toMatchObject({ lookedAtAgain: 0 });
      const { source, target } = verdict.details.ranges;
      expect(Math.max(source.length, target.length)).toBeGreaterThan(1);
    },
  );
});
