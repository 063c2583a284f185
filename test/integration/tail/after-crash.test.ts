/** The wait after a crash: no longer than requests of the dead run may take effect, and shown while it lasts. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RunSnapshot } from '../../../src/engine/run.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { clockAt, fastClock } from '../../helpers/clock.ts';
import { Move } from '../../helpers/migration/move.ts';
import { begin, expectSame, orders, write } from '../../helpers/migration/tapped.ts';

const TIMEOUT_MS = 1500;
const timing = { requestTimeoutMs: TIMEOUT_MS };
const DAY_MS = 24 * 3_600_000;

/** A migration whose run has died with a page in flight. */
async function crashed(): Promise<Move> {
  const move = await Move.open();
  await write(move, orders(30));
  await begin(move);
  const dying = move.run('copy', {
    timing,
    onPoint: (point) => {
      if (point === 'outcomes-known') throw new Error('it dies');
    },
  });
  await expect(dying).rejects.toThrow('it dies');
  expect(move.ledger(({ units }) => units.unsettled())).not.toEqual([]);
  return move;
}

interface Started {
  readonly said: readonly string[];
  readonly waits: readonly string[];
}

/** The next run, whose clock shows another time. */
async function start(move: Move, { aheadMs = 0 } = {}): Promise<Started> {
  const [said, waits]: [string[], string[]] = [[], []];
  const onSnapshot = ({ waitsFor }: RunSnapshot): void => void waits.push(waitsFor ?? '');
  const clock = clockAt(() => Date.now() + aheadMs);
  const copied = await move.run('copy', { timing, clock, onSnapshot, say: (text) => said.push(text) });
  await expectSame(move, copied);
  return { said: said.filter((text) => text.includes('was interrupted')), waits };
}

test.each([0, DAY_MS, -DAY_MS])(
  'the next run starts at once, with a clock that is off by %d ms -> it waits, and shows the seconds',
  async (aheadMs) => {
    await using move = await crashed();
    const { said, waits } = await start(move, { aheadMs });
    expect(said).toEqual([
      'the last run was interrupted: waiting 2 s until none of its requests can take effect',
    ]);
    const shown = waits.filter((text) => text.includes('until no request of the interrupted run'));
    expect(shown.length).toBeGreaterThan(0);
    for (const text of shown)
      expect(text).toMatch(/^[0-2] s until no request of the interrupted run can take effect$/);
  },
);

test('the next run waits, by its clock for longer than any progress -> it warns of no stall', async () => {
  await using move = await crashed();
  // Its sleeps are not faster.
  await move.run('copy', { timing, clock: fastClock(40) });
  expect(move.lines.filter((line) => line.includes('nothing has moved'))).toEqual([]);
});

// Only Linux identifies its boot.
test.skipIf(process.platform !== 'linux').each([0, DAY_MS, -DAY_MS])(
  'the next run starts when all is over, with a clock that is off by %d ms -> it does not wait',
  async (aheadMs) => {
    await using move = await crashed();
    await delay(2 * TIMEOUT_MS + 1100);
    expect((await start(move, { aheadMs })).said).toEqual([
      'the last run was interrupted: none of its requests can take effect any longer, so nothing is waited for',
    ]);
  },
);

test('the last run died with nothing in doubt -> the next one says why it begins at once', async () => {
  await using move = await Move.open();
  await write(move, orders(1));
  await move.run('copy');
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  const interrupted = (): readonly string[] => said.filter((text) => text.includes('was interrupted'));
  await move.run('catch-up', { say });
  expect(interrupted()).toEqual([]);
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    ledger.runs.begin({ command: 'tail', pid: 1, nowMs: Date.now() });
  }
  await move.run('catch-up', { say });
  expect(interrupted()).toEqual([
    'the last run was interrupted: none of its writes is in doubt, so nothing is waited for',
  ]);
});

test('the next run starts when all is over, after a reboot -> it waits', async () => {
  await using move = await crashed();
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    ledger.runs.noteRequest({ clock: 'another boot', ms: 1 });
  }
  expect((await start(move)).said).toHaveLength(1);
});

test('a stop while the run waits -> it ends at once, and the next one waits for the rest', async () => {
  await using move = await crashed();
  const drain = new AbortController();
  const stopped = move.run('copy', {
    timing: { requestTimeoutMs: 30_000 },
    drain: drain.signal,
    say: (text) => {
      if (text.includes('was interrupted')) setTimeout(() => drain.abort(new Error('Ctrl-C')), 100);
    },
  });
  await expect(stopped).rejects.toThrow('Ctrl-C');
  expect(move.ledger(({ units }) => units.unsettled())).not.toEqual([]);
  await start(move);
});

test('documents get another key, or are deleted, while the run waits -> counted as moved and deleted, in the ledger too', async () => {
  await using move = await crashed();
  await write(move, orders(1, { tenantId: 'elsewhere' }));
  await move.source.item('o3', 'c3').delete();
  const copied = await move.run('copy', { timing });
  expect(copied.documents).toMatchObject({ moved: 1, deleted: 1 });
  const totals = move.ledger(({ counters }) => counters.all());
  expect(totals).toMatchObject({ documentsMoved: 1, documentsDeleted: 1 });
  await expectSame(move, await move.run('catch-up'));
});
