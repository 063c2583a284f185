/** A process that only watches a ledger: what it notifies of a run that hangs, stalls, fails or is replaced. */
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Happening } from '../../../../src/notify/events/happening.ts';
import { JournalReader } from '../../../../src/notify/events/journal-reader.ts';
import { LedgerWatch } from '../../../../src/notify/events/ledger-watch.ts';
import { RunWatch } from '../../../../src/notify/events/run-watch.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import type { RunReport } from '../../../../src/state/runs.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';
import { openLedger } from '../../state/making.ts';

let folder: string;
let path: string;
let clock: VirtualClock;
let happened: Happening[];
let watch: LedgerWatch;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-ledger-watch-'));
  path = join(folder, 'ledger.db');
  [clock, happened] = [new VirtualClock(), []];
  watch = watching();
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function watching(): LedgerWatch {
  const notify = (happening: Happening): void => void happened.push(happening);
  return new LedgerWatch({ ledger: path, proofAgeMs: 86_400_000, clock, notify });
}

function begin(ledger: Ledger, command = 'tail'): number {
  return ledger.runs.begin({ command, pid: process.pid, nowMs: clock.now() });
}

/** The run reports, unless it hangs. */
function report(ledger: Ledger, seen: Partial<RunReport> = {}): void {
  const nothing = { lagSeconds: null, waitsFor: null, expected: null };
  ledger.runs.report({ atMs: clock.now(), ...nothing, ...NO_LOAD, ...seen });
}

/** So many seconds pass. Each begins with what `work` does. */
function pass(seconds: number, work: () => void = () => {}): void {
  for (let second = 0; second < seconds; second += 1) {
    work();
    clock.advance(1000);
    watch.look();
  }
}

const events = (): unknown[] =>
  happened.map(({ event, stalled, end }) => [event, stalled?.seconds ?? end?.outcome]);

test('ledger watch: a tail with nothing to do -> silence; it hangs -> notified, until it reports again', () => {
  using ledger = openLedger(path);
  begin(ledger);
  pass(80, () => report(ledger, { lagSeconds: 1 }));
  expect(happened).toEqual([]);
  pass(75);
  expect(happened).toMatchObject([
    {
      event: 'stalled',
      text: 'nothing has moved for 60 s: the run reports nothing and may hang',
      stalled: { seconds: 60, waitsFor: 'the run reports nothing and may hang' },
    },
  ]);
  pass(5, () => report(ledger, { lagSeconds: 1 }));
  expect(happened.at(-1)).toMatchObject({ event: 'moving' });
  expect(happened).toHaveLength(2);
});

test('ledger watch: a stall -> notified with the key of the run itself', () => {
  const found: Happening[] = [];
  openLedger(path).close();
  const run = new RunWatch(new JournalReader(path), { clock, notify: (happening) => found.push(happening) });
  using ledger = openLedger(path);
  begin(ledger, 'copy');
  watch.look();
  const stand = (): void => report(ledger, { waitsFor: 'throttled by the target' });
  pass(130, () => {
    stand();
    run.look();
  });
  expect(events()).toEqual([
    ['stalled', 60],
    ['stalled', 120],
  ]);
  expect(happened[0]?.text).toBe('nothing has moved for 60 s: throttled by the target');
  expect(found.map(({ key }) => key)).toEqual(happened.map(({ key }) => key));
  pass(2, () => report(ledger, { inFlight: 3 }));
  expect(events().at(-1)).toEqual(['moving', expect.any(Number)]);
});

test('ledger watch: a stalled run is killed -> its crash, and not that it moves again', () => {
  const ledger = openLedger(path);
  begin(ledger, 'copy');
  pass(65, () => report(ledger));
  ledger.close();
  pass(80);
  expect(events()).toEqual([
    ['stalled', 60],
    ['end', 'crashed'],
  ]);
});

test('ledger watch: a run is killed, and another one begins before the next look -> both ends, once each', () => {
  using ledger = openLedger(path);
  begin(ledger);
  pass(3, () => report(ledger));
  // Another process has taken the ledger within a second.
  const next = begin(ledger, 'tail --until-caught-up');
  pass(1, () => report(ledger));
  expect(events()).toEqual([['end', 'crashed']]);
  ledger.runs.end(next, { outcome: 'service', nowMs: clock.now() });
  pass(10);
  expect(events()).toEqual([
    ['end', 'crashed'],
    ['end', 'service'],
  ]);
  expect(happened[1]?.text).toBe('cosmig tail has ended: service');
  expect(happened[0]?.key).not.toBe(happened[1]?.key);
});

test('ledger watch: what was before it -> not notified, but a crash that is still the last word is', () => {
  const ledger = openLedger(path);
  ledger.runs.end(begin(ledger), { outcome: 'service', nowMs: clock.now() });
  ledger.journal.append({ event: 'writers resumed' }, clock.now());
  pass(5);
  expect(happened).toEqual([]);
  begin(ledger);
  ledger.close();
  pass(5);
  watch = watching();
  pass(5);
  expect(events()).toEqual([
    ['end', 'crashed'],
    ['end', 'crashed'],
  ]);
  expect(happened[0]?.key).toBe(happened[1]?.key);
});

test('ledger watch: there is no ledger yet -> all that is in it later is new', () => {
  pass(3);
  using ledger = openLedger(path);
  const run = begin(ledger, 'copy');
  ledger.migration.enter({ phase: 'copying' }, clock.now());
  ledger.runs.end(run, { outcome: 'done', nowMs: clock.now() });
  pass(3);
  expect(events()).toEqual([
    ['phase', undefined],
    ['end', 'done'],
  ]);
});

test('ledger watch: the parts of a repair -> no ends, unless it is killed', () => {
  const ledger = openLedger(path);
  watch.look();
  ledger.runs.end(begin(ledger, 'verify --repair'), { outcome: 'canceled', nowMs: clock.now() });
  pass(5);
  expect(happened).toEqual([]);
  begin(ledger, 'verify --repair');
  ledger.close();
  pass(5);
  expect(happened).toMatchObject([{ event: 'end', end: { outcome: 'crashed' } }]);
  expect(happened[0]?.text).toContain('cosmig verify was killed or crashed');
});

test('ledger watch: a cutover waits for its hook, and for late writes after the commit -> not a stall', () => {
  using ledger = openLedger(path);
  begin(ledger, 'cutover');
  const steps = [{ name: 'stopping writers', atMs: clock.now() }];
  pass(80, () => report(ledger, { steps }));
  ledger.migration.enter({ phase: 'committed', stoppedMs: 1, likeSource: [], proof: null }, clock.now());
  happened = [];
  pass(80);
  expect(happened.map(({ cutover }) => cutover?.step)).toEqual(['committed']);
});

test('ledger watch: the ledger is damaged -> notified after a minute, then at doubling distances', () => {
  writeFileSync(path, 'not a ledger, and long enough to be looked at');
  pass(250);
  expect(happened.map(({ event }) => event)).toEqual(['unreadable', 'unreadable', 'unreadable']);
  expect(happened[0]?.text).toMatch(/^the ledger could not be read for 60 s: .*ledger\.db/);
  rmSync(path);
  pass(3);
  openLedger(path).close();
  pass(100);
  expect(happened).toHaveLength(3);
});

test('ledger watch: an older copy takes the place of the ledger -> its past is not new, what follows is', () => {
  const ledger = openLedger(path);
  ledger.runs.end(begin(ledger), { outcome: 'done', nowMs: clock.now() });
  ledger.close();
  copyFileSync(path, `${path}.copy`);
  const later = openLedger(path);
  watch.look();
  for (let run = 0; run < 3; run += 1) {
    const number = begin(later);
    later.journal.append({ event: 'writers resumed' }, clock.now());
    later.runs.end(number, { outcome: 'done', nowMs: clock.now() });
  }
  later.close();
  pass(8);
  happened = [];
  renameSync(`${path}.copy`, path);
  pass(3);
  const restored = openLedger(path);
  begin(restored);
  pass(3);
  restored.close();
  pass(3);
  expect(events()).toEqual([['end', 'crashed']]);
});

test('ledger watch: another migration takes the name of the ledger -> all of it is new', () => {
  const ledger = openLedger(path);
  ledger.runs.end(begin(ledger), { outcome: 'done', nowMs: clock.now() });
  ledger.close();
  watch.look();
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  const other = openLedger(path);
  other.migration.enter({ phase: 'copying' }, clock.now());
  other.runs.end(begin(other, 'copy'), { outcome: 'done', nowMs: clock.now() });
  other.close();
  pass(3);
  expect(events()).toEqual([
    ['phase', undefined],
    ['end', 'done'],
  ]);
});

test('ledger watch: nothing is replicated for days -> notified with 2 days left, at halves, and when it is over', () => {
  const ledger = openLedger(path);
  ledger.migration.decideDeleteMode('avad');
  ledger.close();
  const hours = (many: number): void => {
    for (let hour = 0; hour < many; hour += 1) {
      clock.advance(3_600_000);
      watch.look();
    }
  };
  const began = clock.now();
  hours(119);
  expect(happened).toEqual([]);
  hours(60);
  expect(happened.map(({ event }) => event)).toEqual(Array<string>(7).fill('retention'));
  expect(happened.map(({ retention }) => (retention?.seconds ?? 0) / 3600)).toEqual([48, 24, 12, 6, 3, 1, 0]);
  expect(happened[0]?.text).toBe(
    'in 48 h the source may begin to forget deletes that are not replicated; run cosmig tail',
  );
  expect(happened[6]?.text).toContain('may have forgotten deletes');
  const end = new Date(began + 7 * 86_400_000).toISOString().slice(0, 10);
  expect(happened.map(({ retention }) => retention?.end.slice(0, 10))).toEqual(Array<string>(7).fill(end));
  expect(new Set(happened.map(({ key }) => key)).size).toBe(7);
});
