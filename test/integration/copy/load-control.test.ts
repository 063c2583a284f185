/**
 * Load control (docs/internals/load-control.md): budgets are kept, the source's users come first, a run can resume after
 * a time budget, and a run that waits reports the reason. run-stopped.test.ts tests the other ends of a run.
 */
import { describe, expect, test } from 'vitest';
import { BudgetError, DeadLetterError } from '../../../src/lib/errors.ts';
import type { RunSnapshot } from '../../../src/engine/run.ts';
import { stopwatch } from '../../../src/lib/clock.ts';
import type { FaultRule } from '../../helpers/emulator/admin.ts';
import { Move, type MoveOptions, type Order } from '../../helpers/migration/move.ts';
import type { TapRequest } from '../../helpers/migration/tap.ts';
import { begin, expectSame, order, orders, Tapped, write } from '../../helpers/migration/tapped.ts';
import { cosmig, envOf, typed, withSpec } from '../../helpers/migration/typed.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import { until } from '../../helpers/wait.ts';
import { clockAt, fastClock, setClock } from '../../helpers/clock.ts';

/** What `cosmig status --json` knows of a tail: that it runs, and how far it lags once it has caught up. */
interface Status {
  readonly running: object | null;
  readonly seen: { readonly lagSeconds: number | null } | null;
}

/** Intents that no commit has closed. */
const unsettled = (move: Move): number => move.ledger(({ units }) => units.unsettled().length);

const isSourceRead = ({ what, container }: TapRequest): boolean =>
  container === 'orders' && (what === 'read-feed' || what === 'batch');

describe('a budget', () => {
  const METERED: MoveOptions = {
    settings: { ru: 'metered' },
    source: { throughput: 4000 },
    target: { throughput: 4000 },
  };
  // Whatever was saved up and the last batch come on top; test/unit/cosmos is exact. A busy machine may use much less, but not
  // as little as with 3 or 8 RU/s instead of so many percent.
  const [LEAST, MOST] = [0.05, 1.5];

  test.each([
    ['--target-ru', ['300'], 'target', 300],
    ['--target-ru', ['8%'], 'target', 320],
    ['--source-ru', ['100'], 'source', 100],
    ['--source-ru', ['3%'], 'source', 120],
  ] as const)('%s %s -> used and not exceeded', async (flag, value, side, ruPerSecond) => {
    await using tapped = await Tapped.open(METERED);
    const { move } = tapped;
    const name = flag === '--target-ru' ? 'targetRu' : 'sourceRu';
    await write(move, orders(side === 'target' ? 150 : 250));
    const copied = await move.run('copy', { flags: { [name]: value } });
    const perSecond = copied.ru[side] / (copied.durationMs / 1000);
    expect(copied.durationMs).toBeGreaterThan(1500);
    expect(perSecond).toBeGreaterThan(ruPerSecond * LEAST);
    expect(perSecond).toBeLessThan(ruPerSecond * MOST);
    expect(copied.throttled).toBe(0);
    await expectSame(move, copied);
  });
});

describe('the source', () => {
  test('a read -> at Low priority, with the newest session token', async () => {
    await using tapped = await Tapped.open({ settings: { avad: true } });
    const { move, tap } = tapped;
    await write(move, [...orders(20), order(5, { id: 'one', tenantId: 'P' })]);
    await begin(move);
    tap.seen.length = 0;
    await write(move, [order(6, { id: 'one', tenantId: 'P' })]);
    await move.run('copy');
    await write(move, orders(20, { tenantId: 'moved' }));
    await move.run('catch-up');
    const reads = tap.seen.filter(isSourceRead);
    expect(new Set(reads.map(({ what }) => what))).toEqual(new Set(['read-feed', 'batch']));
    for (const { headers } of reads) {
      expect(headers['x-ms-cosmos-priority-level']).toBe('Low');
      expect(headers['x-ms-session-token']).toMatch(/^0:-1#\d+$/);
      expect(headers['x-ms-consistency-level']).toBe('Session');
    }
  });
});

describe('a time budget', () => {
  const MINUTE_MS = 60_000;
  /** A time of the day that begins in two minutes or a little less. */
  function minuteAhead(): { readonly atMs: number; readonly text: string } {
    const atMs = Math.floor((Date.now() + 2 * MINUTE_MS) / MINUTE_MS) * MINUTE_MS;
    const at = new Date(atMs);
    const text = [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
    return { atMs, text };
  }

  const slow: FaultRule[] = [{ match: { op: 'read-feed', coll: 'orders' }, effect: { delayMs: 100 } }];

  test('a time budget ends during a copy -> it stops cleanly, and the next run continues', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(200));
    await begin(move);
    // All its pages take 40 s.
    await move.admin.faults([{ match: { op: 'read-feed', coll: 'orders' }, effect: { delayMs: 1000 } }]);
    let last: RunSnapshot | undefined;
    const copying = move.run('copy', {
      flags: { for: ['1s'] },
      timing: { requestTimeoutMs: 20_000 },
      onSnapshot: (snapshot) => (last = snapshot),
    });
    await expect(copying).rejects.toThrow(BudgetError);
    expect(last?.complete).toBe(false);
    expect(last?.durationMs).toBeLessThan(20_000);
    const { read = 0, written = 0 } = last?.documents ?? {};
    expect(written).toBe(read);
    expect(unsettled(move)).toBe(0);
    await move.admin.clearFaults();
    const copied = await move.run('copy');
    expect(copied.documents.read).toBe(200 - read);
    await expectSame(move, copied);
  });

  test('pages that take long to write -> the time budget is kept', async () => {
    // Pages of some fifteen documents: the eight that are read ahead take seconds of this budget.
    await using tapped = await Tapped.open({
      settings: { ru: 'metered', pageBytes: 6000 },
      source: { throughput: 4000 },
      target: { throughput: 4000 },
    });
    const { move } = tapped;
    await write(move, orders(600));
    await begin(move);
    let last: RunSnapshot | undefined;
    const flags = { for: ['6s'], targetRu: ['300'] };
    const copying = move.run('copy', { flags, onSnapshot: (snapshot) => (last = snapshot) });
    await expect(copying).rejects.toThrow(BudgetError);
    // About 400. A run that reads to the end of its time has read 530 by then, and ends after 10 s.
    expect(last?.documents.read).toBeLessThan(470);
    expect(last?.documents.written).toBeGreaterThan(50);
    expect(last?.durationMs).toBeGreaterThan(2000);
    expect(unsettled(move)).toBe(0);
  });

  test('--until a time of the day -> ends there', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(200));
    await begin(move);
    await move.admin.faults(slow);
    const { atMs, text } = minuteAhead();
    const aheadMs = atMs - 1500 - Date.now();
    const clock = clockAt(() => Date.now() + aheadMs);
    await expect(move.run('copy', { flags: { until: [text] }, clock })).rejects.toThrow(BudgetError);
    expect(unsettled(move)).toBe(0);
  });

  test('a tail that had caught up -> exit code 0', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(20));
    await move.run('copy');
    await write(move, orders(20, { again: true }));
    // However long it takes to catch up: the time has come as soon as it has.
    let skippedMs = 0;
    const tailed = await move.run('tail', {
      flags: { until: [minuteAhead().text] },
      clock: clockAt(() => Date.now() + skippedMs),
      onSnapshot: ({ documents }) => {
        if (documents.written === 20) skippedMs = 3 * MINUTE_MS;
      },
    });
    expect(tailed).toMatchObject({ complete: true, documents: { written: 20 } });
    await expectSame(move, tailed);
  });

  test.each([-3_600_000, 3_600_000])('the clock is set by %d ms -> the duration is kept', async (byMs) => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(20));
    await move.run('copy');
    const passedMs = stopwatch();
    const setMs = Date.now() + 500;
    const clock = setClock(() => (Date.now() < setMs ? 0 : byMs));
    const tailed = await move.run('tail', {
      flags: { for: ['3s'] },
      clock,
      drain: AbortSignal.timeout(60_000),
    });
    expect(tailed.complete).toBe(true);
    expect(passedMs()).toBeGreaterThan(2000);
    // Otherwise the drain signal would have ended it.
    expect(passedMs()).toBeLessThan(59_000);
  });

  test('work left -> exit code 8, no work left -> 0', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(100));
    await begin(move);
    await move.admin.faults(slow);
    const copied = await cosmig(move, 'copy', '--for', '1s', '--json');
    expect(copied.code).toBe(8);
    expect(copied.stderr).toContain('time limit reached; finishing the work in progress');
    expect(JSON.parse(copied.stdout)).toMatchObject({ complete: false, error: { code: 'budget' } });
    await move.admin.clearFaults();
    expect((await cosmig(move, 'copy', '--json')).code).toBe(0);
    let skippedMs = 0;
    const tailing = runCosmig(withSpec(['tail', '--until', minuteAhead().text, '--json']), {
      env: envOf(move),
      clock: clockAt(() => Date.now() + skippedMs),
    });
    const hasCaughtUp = async (): Promise<boolean> => {
      const { running, seen } = JSON.parse((await typed(move, 'status', '--json')).stdout) as Status;
      return running !== null && (seen?.lagSeconds ?? null) !== null;
    };
    await until(hasCaughtUp, { what: 'a tail that has caught up' });
    skippedMs = 3 * MINUTE_MS;
    const tailed = await tailing;
    expect(JSON.parse(tailed.stdout)).toMatchObject({ complete: true });
    expect(tailed.code).toBe(0);
  });
});

describe('dead letters', () => {
  /** Two for each place. */
  const colliding = (count: number): Order[] =>
    Array.from({ length: 2 * count }, (_, n) => order(n, { id: `o${n >> 1}`, tenantId: 'P' }));

  test('more than --max-dead-letters -> the copy stops, and continues when more are allowed', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, [...colliding(30), ...orders(60).slice(30)]);
    const copying = move.run('copy', { flags: { maxDeadLetters: ['5'] } });
    await expect(copying).rejects.toThrow(DeadLetterError);
    expect(unsettled(move)).toBe(0);
    const copied = await move.run('copy', { flags: { maxDeadLetters: ['30'] } });
    expect(copied).toMatchObject({ complete: true, documents: { deadLettered: 30 } });
    expect(await move.documents(move.target)).toHaveLength(60);
  });

  test.each([
    ['a collision', { onCollision: ['fail'] }, order(1, { id: 'o2', tenantId: 't2' })],
    ['a missing key', { missingKey: ['fail'] }, order(1, { tenantId: undefined })],
  ] as const)('%s -> the copy stops cleanly, and continues once it is fixed', async (_, flags, bad) => {
    await using tapped = await Tapped.open({ flags });
    const { move } = tapped;
    await write(move, orders(40).slice(2));
    await begin(move);
    await write(move, [bad]);
    // What lies beyond the anchor is the tail's.
    await move.run('copy');
    const failing = move.run('catch-up');
    await expect(failing).rejects.toThrow(DeadLetterError);
    await expect(failing).rejects.toMatchObject({ exitCode: 5 });
    expect(unsettled(move)).toBe(0);
    const failsAgain = await cosmig(
      move,
      'tail',
      '--until-caught-up',
      '--json',
      ...(flags === undefined
        ? []
        : 'onCollision' in flags
          ? ['--on-collision', 'fail']
          : ['--missing-key', 'fail']),
    );
    expect(failsAgain.code).toBe(5);
    await move.put({ ...bad, tenantId: 'repaired' });
    const tailed = await move.run('catch-up');
    expect(tailed.complete).toBe(true);
    await expectSame(move, tailed);
  });
});

describe('a run that waits reports the reason', () => {
  const batch = { op: 'batch', coll: 'by-tenant' } as const;
  const feed = { op: 'read-feed', coll: 'orders' } as const;
  const read = { op: 'batch', coll: 'orders' } as const;
  const cases: ReadonlyArray<[cause: string, rule: FaultRule, words: RegExp]> = [
    [
      'a throttled target',
      { match: batch, effect: { status: 429, retryAfterMs: 200 } },
      /throttled by the target/,
    ],
    ['a target that refuses', { match: batch, effect: { status: 403 } }, /target refuses access/],
    [
      'a target that does not answer',
      { match: batch, effect: { hang: 'before' } },
      /target has temporary trouble/,
    ],
    [
      'a range of the target that is gone',
      { match: batch, effect: { status: 410, substatus: 1007 } },
      /target is splitting/,
    ],
    [
      'a throttled source',
      { match: feed, effect: { status: 429, retryAfterMs: 200 } },
      /throttled by the source/,
    ],
    ['a source that refuses', { match: feed, effect: { status: 403 } }, /source: .*403/],
    [
      'a range of the source that is gone',
      { match: feed, effect: { status: 410, substatus: 1007 } },
      /source: .*410\/1007/,
    ],
    [
      'point reads that are throttled',
      { match: read, effect: { status: 429, retryAfterMs: 200 } },
      /source.*429|throttled by the source/,
    ],
  ];

  test.each(cases)('%s -> the reason names it', async (_cause, rule, words) => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    const colliding = [3, 4].map((n) => order(n, { id: 'one', tenantId: 'P' }));
    await write(move, [...orders(40), ...colliding]);
    await begin(move);
    const reasons = new Set<string>();
    await move.admin.faults([{ after: 1, ...rule }]);
    const copying = move.run('copy', { onSnapshot: ({ waitsFor }) => reasons.add(String(waitsFor)) });
    await until(() => [...reasons].some((text) => words.test(text)), { what: `${words}` });
    await move.admin.clearFaults();
    const copied = await copying;
    expect(copied.documents.deadLettered).toBe(1);
  });

  test('nothing moved for half a minute -> a warning', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(40));
    await begin(move);
    await move.admin.faults([{ match: batch, effect: { status: 429, retryAfterMs: 200 } }]);
    const copying = move.run('copy', { clock: fastClock(20) });
    const barks = (): string[] => move.lines.filter((line) => line.includes('nothing has moved'));
    await until(() => barks().length > 0, { what: 'a watchdog that barks' });
    await move.admin.clearFaults();
    await copying;
    expect(barks().join()).toMatch(/nothing has moved for \d+ s: throttled by the target/);
  });

  test('a page takes most of a minute -> no warning', async () => {
    await using tapped = await Tapped.open({
      settings: { pageBytes: 1_000_000 },
      target: { throughput: 6000 },
    });
    const { move } = tapped;
    await write(move, orders(1000));
    await begin(move);
    // By this clock: some 15 s for each of ten batches, two and later four at once. What follows the page, such as removing
    // the reservation of the target, is not slow.
    await move.admin.faults([
      { match: { op: 'batch', coll: 'by-tenant' }, times: 10, effect: { delayMs: 7500 } },
    ]);
    const timing = { requestTimeoutMs: 40_000 };
    const copied = await move.run('copy', { clock: fastClock(2), timing });
    expect(copied.durationMs).toBeGreaterThan(40_000);
    expect(move.lines.filter((line) => line.includes('nothing has moved'))).toEqual([]);
  });
});
