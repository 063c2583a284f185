/**
 * Short windows and a slow target: a run that is asked to stop and is killed some time later, as containers are. What was
 * written is committed, settling included, so that enough windows always reach the end.
 */
import { beforeEach, afterEach, expect, test } from 'vitest';
import { BudgetError, CanceledError } from '../../../src/lib/errors.ts';
import { rowsIn } from '../../helpers/database-file.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { expectSame, orders, write } from '../../helpers/migration/tapped.ts';
import { RunningTime, until } from '../../helpers/wait.ts';

/** A move of a small document costs some 15 RU: four seconds of these RU/s are about a hundred moves. */
const SLOW = { source: { throughput: 10_000 }, target: { throughput: 400 } };

let move: Move;
beforeEach(async () => {
  move = await Move.open({ settings: { avad: true }, ...SLOW });
});
afterEach(async () => move[Symbol.asyncDispose]());

interface Window {
  readonly ended: unknown;
  /** How long the process ran after the run was asked to stop. */
  readonly endingMs: number;
}

/**
 * One run that is asked to stop after some time, and ends at once when the process has run for some time after that. The
 * time begins when the run is connected and has its ledger: on a busy machine that alone can take as long as a window.
 */
async function runWindow({ stopMs, killMs }: { stopMs: number; killMs: number }): Promise<Window> {
  const [drain, abort] = [new AbortController(), new AbortController()];
  using time = new RunningTime();
  let stoppedMs: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    stoppedMs = time.ms;
    drain.abort(new CanceledError('SIGTERM'));
    time.after(killMs, () => abort.abort(new Error('killed')));
  };
  const begin = (): void => void (timer ??= setTimeout(stop, stopMs));
  const ended: unknown = await move
    .run('catch-up', { drain: drain.signal, abort: abort.signal, onSnapshot: begin })
    .catch((error: unknown) => error);
  clearTimeout(timer);
  return { ended, endingMs: time.ms - (stoppedMs ?? 0) };
}

const committed = (): number => move.ledger(({ counters }) => counters.all()['documentsRead'] ?? 0);
const unsettled = (): number => move.ledger(({ units }) => units.unsettled().length);

async function moveAll(documents: readonly Order[], tenantId: string): Promise<void> {
  await move.admin.account({ ru: 'off' });
  await write(
    move,
    documents.map((one) => ({ ...one, tenantId })),
  );
  await move.admin.account({ ru: 'metered' });
}

test('windows that are killed after their time to stop -> each commits something, and they reach the end', async () => {
  // One window can move about two thirds of them, even when the service goes on for two seconds without this process.
  const documents = orders(260);
  await write(move, documents);
  await move.run('copy');
  await move.run('catch-up');
  await moveAll(documents, 'moved');
  const end = committed() + documents.length;
  let windows = 0;
  for (let before = committed(); before < end; before = committed()) {
    await runWindow({ stopMs: 1500, killMs: 4000 });
    windows += 1;
    // A busy machine may have had too little time for it. Without the rule no window commits anything.
    if (committed() === before) await runWindow({ stopMs: 1500, killMs: 8000 });
    expect(committed()).toBeGreaterThan(before);
    expect(windows).toBeLessThan(20);
  }
  expect(windows).toBeGreaterThan(1);
  await expectSame(move);
});

test('a stop while operations go through at full rate -> not taken for a standstill, and all is committed', async () => {
  const documents = orders(300);
  await write(move, documents);
  await move.run('copy');
  await move.run('catch-up');
  await moveAll(documents, 'moved');
  const { ended, endingMs } = await runWindow({ stopMs: 1000, killMs: 60_000 });
  expect(ended).toMatchObject({ message: expect.stringContaining('SIGTERM') });
  expect(move.lines.filter((line) => line.includes('no progress'))).toEqual([]);
  expect(unsettled()).toBe(0);
  // Five seconds of work are in flight at most; all of it would take ten.
  expect(endingMs).toBeLessThan(8000);
});

test('windows too short to settle everything -> each settles a part, until all is settled', async () => {
  const documents = orders(150);
  await write(move, documents);
  await move.run('copy');
  await move.run('catch-up');
  await move.admin.account({ ru: 'off' });
  await write(
    move,
    documents.map((one) => ({ ...one, tenantId: 'moved' })),
  );
  // A fast target, and a run that dies with everything written and nothing committed.
  await move.admin.faults([
    { match: { op: 'batch', coll: 'by-tenant' }, effect: { delayMs: 300, delayAt: 'after' } },
  ]);
  const abort = new AbortController();
  const dying = move.run('catch-up', { abort: abort.signal });
  const claims = (): number => rowsIn(move.ledgerPath, 'SELECT 1 FROM claims').length;
  await until(() => claims() > 200, { what: 'pages in flight' });
  abort.abort(new Error('SIGKILL'));
  await expect(dying).rejects.toThrow();
  await move.admin.clearFaults();
  // Meanwhile everything has moved again, so that each copy has to be removed.
  await moveAll(documents, 'again');
  let before = claims();
  let windows = 0;
  while (unsettled() > 0) {
    const settleFor = async (time: string): Promise<unknown> =>
      move.run('catch-up', { flags: { for: [time], targetRu: ['200'] } }).catch((error: unknown) => error);
    expect(await settleFor('2s')).toBeInstanceOf(BudgetError);
    // The process may have been stopped for all of this time.
    if (claims() === before) await settleFor('5s');
    expect(claims()).toBeLessThan(before);
    before = claims();
    windows += 1;
    expect(windows).toBeLessThan(20);
  }
  expect(windows).toBeGreaterThan(1);
  await move.admin.account({ ru: 'off' });
  await move.run('catch-up');
  await expectSame(move);
});
