/** The first Ctrl-C, at every moment that has a name: what is in flight is finished, and nothing is left to settle. */
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { CanceledError } from '../../../src/lib/errors.ts';
import type { FaultEffect } from '../../helpers/emulator/admin.ts';
import { byDay } from '../../helpers/generated.ts';
import { begin } from '../../helpers/migration/tapped.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';

const POINTS: readonly CrashPoint[] = [
  'anchored',
  'page-read',
  'intended',
  'outcomes-known',
  'committed',
  'takeover-intended',
  'moved',
  'removed',
  'anchor-reached',
  'index-step',
  'letter-retried',
];

const order = (id: string, customerId: string, tenantId: string, more: object = {}): Order => ({
  id,
  customerId,
  tenantId,
  ...more,
});

/** Twenty ids, each under two keys of the source; every second pair claims one place in the target. */
const first = Array.from({ length: 40 }, (_, n) =>
  order(`o${n % 20}`, n < 20 ? 'a' : 'b', n % 2 === 0 ? 'P' : n < 20 ? 'Q' : 'R', { n }),
);
/** Who held a place leaves it, others come; some are deleted. */
const then = first.map(({ id, customerId }, n) =>
  order(id, String(customerId), n < 20 ? 'S' : 'P', { again: n }),
);

const LASTING: ReadonlyArray<[what: string, effect: FaultEffect]> = [
  ['says nothing', { hang: 'before' }],
  ['is away', { status: 503 }],
  ['throttles everything', { status: 429, substatus: 3200, retryAfterMs: 1000 }],
  ['does not report what it has done', { reset: 'after' }],
];

test.each(byDay(LASTING, { every: 2 }))(
  'stop while the target %s -> the run ends soon, and the next one resumes',
  async (_what, effect) => {
    await using move = await Move.open({ settings: { avad: true, pageBytes: 3000 } });
    await move.put(...first);
    const drain = new AbortController();
    let intended = 0;
    const onPoint = (point: CrashPoint): void => {
      if (point === 'intended' && (intended += 1) === 1) drain.abort(new CanceledError('SIGINT'));
    };
    // All that the preflight sends has come before.
    await begin(move);
    await move.admin.faults([{ match: { op: 'batch', coll: 'by-tenant' }, effect }]);
    await expect(move.run('copy', { drain: drain.signal, onPoint })).rejects.toThrow(CanceledError);
    expect(move.ledger(({ units }) => units.unsettled())).not.toEqual([]);
    await move.admin.clearFaults();
    await move.run('copy');
    expect(move.ledger(({ units }) => units.unsettled())).toEqual([]);
    expect(move.ledger(({ letters }) => letters.openCount())).toBe(10);
  },
);

test.each(byDay(POINTS, { every: 3, from: 1 }))(
  'stop at "%s" -> the run ends cleanly, and the next one resumes',
  async (at) => {
    await using move = await Move.open({ settings: { avad: true, pageBytes: 3000 } });
    await move.put(...first);
    let stopped = 0;
    const runStopping = async (goal: 'copy' | 'catch-up'): Promise<void> => {
      for (let passes = 0; passes < 3; passes += 1) {
        const drain = new AbortController();
        let passed = 0;
        const onPoint = (point: CrashPoint): void => {
          if (point !== at || passed++ < passes) return;
          drain.abort(new CanceledError('SIGINT'));
        };
        try {
          await move.run(goal, { drain: drain.signal, onPoint });
        } catch (error) {
          if (!(error instanceof CanceledError)) throw error;
          stopped += 1;
        }
        expect(move.ledger(({ units }) => units.unsettled())).toEqual([]);
      }
      await move.run(goal);
    };
    await runStopping('copy');
    await move.put(...then);
    for (const id of ['o3', 'o4']) await move.source.item(id, 'a').delete();
    await runStopping('catch-up');
    expect(stopped).toBeGreaterThan(0);
    expect(move.ledger(({ letters }) => letters.openCount())).toBe(0);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  },
);
