/**
 * The ends of a run that is stopped: by the first and the second Ctrl-C, or by a permanent error. What was in flight is
 * finished or settled, and the same command continues (docs/internals/apply-rule.md). Kills at named points and at
 * random are in test/faults.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Move } from '../../helpers/migration/move.ts';
import { CosmigRun } from '../../helpers/run-cosmig.ts';
import {
  before,
  begin,
  expectSame,
  isBatchOf,
  isLaterPage,
  order,
  orders,
  Tapped,
  write,
} from '../../helpers/migration/tapped.ts';
import { withSpec, cosmig, envOf } from '../../helpers/migration/typed.ts';
import { until, within } from '../../helpers/wait.ts';

/** Intents that no commit has closed. */
const unsettled = (move: Move): number => move.ledger(({ units }) => units.unsettled().length);

const isWrite = isBatchOf('by-tenant');

describe('a run is stopped', () => {
  /** Holds every write to the target until `release` is called. */
  function hold({ tap }: Tapped): { readonly held: () => number; readonly release: () => void } {
    let held = 0;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    tap.meddle = async (request, forward) => {
      if (isWrite(request)) {
        held += 1;
        await released;
      }
      return forward();
    };
    return { held: () => held, release };
  }
  const PATIENT = { requestTimeoutMs: 45_000 };
  /** A run that waits for its requests in flight takes longer. */
  const SOON_MS = 30_000;

  test('once -> work in flight is finished and committed, and the next run has nothing to settle', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(120));
    await begin(move);
    const { held, release } = hold(tapped);
    const drain = new AbortController();
    let intended = 0;
    const copying = move.run('copy', {
      drain: drain.signal,
      timing: PATIENT,
      onPoint: (point) => {
        if (point === 'intended') intended += 1;
      },
    });
    await until(() => held() > 0 && intended >= 8, { what: 'pages in flight' });
    drain.abort(new Error('Ctrl-C'));
    release();
    await expect(within(copying, SOON_MS, 'a drain')).rejects.toThrow('Ctrl-C');
    expect(unsettled(move)).toBe(0);
    expect((await move.documents(move.target)).length).toBeGreaterThanOrEqual(40);
    const points: string[] = [];
    const copied = await move.run('copy', { onPoint: (point) => points.push(point) });
    expect(points).not.toContain('settled');
    expect(copied.complete).toBe(true);
    await expectSame(move, copied);
  });

  test('twice -> it ends at once, and the next run settles late writes', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(120));
    await begin(move);
    const { held, release } = hold(tapped);
    const [drain, abort] = [new AbortController(), new AbortController()];
    let intended = 0;
    const copying = move.run('copy', {
      drain: drain.signal,
      abort: abort.signal,
      timing: PATIENT,
      onPoint: (point) => {
        if (point === 'intended') intended += 1;
      },
    });
    await until(() => held() > 0 && intended >= 8, { what: 'pages in flight' });
    drain.abort(new Error('Ctrl-C'));
    abort.abort(new Error('twice'));
    await expect(within(copying, SOON_MS, 'an abort')).rejects.toThrow();
    expect(unsettled(move)).toBeGreaterThanOrEqual(8);
    // These writes were sent, but the run that waited for their replies has ended.
    release();
    // The application has moved one document to another key meanwhile: its late write must not remain in the target.
    await write(move, [order(0, { tenantId: 'elsewhere' })]);
    const points: string[] = [];
    const copied = await move.run('copy', { onPoint: (point) => points.push(point) });
    expect(points).toContain('settled');
    expect(copied.complete).toBe(true);
    await expectSame(move, await move.run('catch-up'));
  });

  test('by Ctrl-C -> exit code 130, and the same command continues', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(120));
    await begin(move);
    const argv = withSpec(['copy', '--json']);
    const run = new CosmigRun(argv, { env: envOf(move), clock: systemClock });
    tap.meddle = before(isLaterPage, { 4: () => run.press('SIGINT') });
    const { code, stdout } = await within(run.ended, SOON_MS, 'a drain');
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ complete: false, error: { code: 'canceled' } });
    expect(unsettled(move)).toBe(0);
    expect((await cosmig(move, 'copy', '--json')).code).toBe(0);
    await expectSame(move);
  });

  test('by a permanent error with the most pages in flight -> it ends too', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(120));
    await begin(move);
    const { held, release } = hold(tapped);
    let intended = 0;
    const copying = move.run('copy', {
      timing: PATIENT,
      onPoint: (point) => {
        if (point === 'intended') intended += 1;
      },
    });
    await until(() => held() > 0 && intended >= 8, { what: 'pages in flight' });
    await move.admin.faults([{ match: { op: 'batch', coll: 'by-tenant' }, effect: { status: 405 } }]);
    release();
    await expect(within(copying, SOON_MS, 'a failure')).rejects.toMatchObject({ exitCode: 6 });
    await move.admin.clearFaults();
    await expectSame(move, await move.run('copy'));
  });
});
