/** What status shows of ledgers in every condition, the streams whole; and that it changes nothing. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PhaseEntry } from '../../src/state/journal.ts';
import type { Ledger } from '../../src/state/ledger.ts';
import type { NewLease } from '../../src/state/leases.ts';
import type { Phase } from '../../src/state/migration.ts';
import { REASONS, type Reason } from '../../src/state/dead-letters.ts';
import { VerifyStore, verifyPath } from '../../src/verify/store.ts';
import { NO_DIFFERENCES } from '../../src/verify/verdict.ts';
import { VirtualClock } from '../helpers/clock.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';
import {
  crashCopy,
  hashOf,
  newLease,
  NOW_MS,
  openLedger,
  SPEC,
  temporaryFolder,
} from '../unit/state/making.ts';
import { NO_LOAD } from '../helpers/run-load.ts';

const MINUTE_MS = 60_000;
/** When the operator looks. */
const LOOK_MS = NOW_MS + 90 * MINUTE_MS;

/** What the advice says here: the ledger is given by a flag. */
const FLAGS = ' (with the same flags)';

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

function ask(path: string, ...argv: readonly string[]): Promise<Ran> {
  return runCosmig(['status', '--ledger', path, ...argv], { clock: new VirtualClock(LOOK_MS) });
}

function letterOf(name: string, reason: Reason) {
  return {
    identity: hashOf(name),
    reason,
    code: '409',
    why: 'another has its slot',
    id: JSON.stringify(name),
    sourceKey: '["A"]',
    targetKey: '["P"]',
    slot: null,
    waits: { for: 'nothing' },
    atMs: NOW_MS,
  } as const;
}

/** A migration in the middle of its copy: three ranges, one through, some letters. */
function fill(ledger: Ledger): void {
  const { migration, runs, leases, units, letters } = ledger;
  runs.begin({ command: 'copy', pid: 4711, nowMs: NOW_MS });
  migration.pinContainers({ sourceRid: 'abc=', targetRid: 'def=', sourceTtl: null });
  migration.decideDeleteMode('reconcile');
  migration.enter({ phase: 'copying' }, NOW_MS);
  const [, first] = leases.begin([
    newLease({ rangeId: '0', max: '3F', phase: 'tail' }),
    newLease({ rangeId: '1', min: '3F', max: '7F' }),
    newLease({ rangeId: '2', min: '7F', max: 'FF' }),
  ]);
  const move = { lease: first?.number ?? 0, feed: 'LV', position: '"9"', documents: 1204 } as const;
  const letter = (name: string, reason: Reason) =>
    ({ change: 'open', letter: letterOf(name, reason) }) as const;
  const unit = units.nextUnit();
  units.intend([{ unit, lease: move.lease, feed: 'LV' }]);
  units.commit(
    [
      {
        unit,
        move,
        outcomes: [],
        letters: [
          letter('a', 'collision'),
          letter('b', 'too-large'),
          letter('c', 'collision'),
          letter('d', 'bad-id'),
        ],
      },
    ],
    {
      counters: {
        documentsRead: 1_234_567,
        documentsWritten: 1_204_001,
        documentsMoved: 12,
        ruSource: 4_000,
        ruTarget: 9_500,
        throttled: 3,
      },
    },
  );
  letters.discard(4, NOW_MS);
}

/** Names and hashes of all files around a ledger; what -shm holds is locks and an index of the log, and no memory. */
function filesAround(path: string): Record<string, string> {
  const folder = dirname(path);
  const names = readdirSync(folder).toSorted();
  return Object.fromEntries(
    names.map((name) => [
      name,
      name.endsWith('-shm')
        ? 'an index'
        : createHash('sha256')
            .update(readFileSync(join(folder, name)))
            .digest('hex'),
    ]),
  );
}

/** Lines that go on below their names, as one. */
function unwrapped(stdout: string): string {
  return stdout.replaceAll(/\n {21}(?=\S)/g, ' ');
}

const DOCUMENTS = { read: 1_234_567, written: 1_204_001, deleted: 0, moved: 12, deadLettered: 3 };

describe('status during a run', () => {
  test('a copy is running -> one screen with its state and what to do', async () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    await expect(ask(path)).resolves.toEqual({
      code: 0,
      stdout: [
        'migration            shop/orders -> shop/orders-by-tenant',
        `ledger               ${path}`,
        'partition key        /tenantId',
        'phase                copying',
        'running              copy since 2026-01-01 00:00:00Z (1 h), process 4711',
        'documents            1,234,567 read, 1,204,001 written, 12 moved to a new key,',
        '                     0 deleted',
        'charge               4,000 RU source, 9,500 RU target, 3 throttled',
        'dead letters         3 open (2 collision, 1 too-large), 1 discarded',
        'deletes              reconcile: documents deleted in the source stay in the',
        '                     target until both sides are compared',
        'proof                none; a cosmig verify that finds both sides equal makes one',
        'ranges               3 (2 copy, 1 tail)',
        '  0                  tail               0  [, 3F)',
        '  1                  copy           1,204  [3F, 7F)',
        '  2                  copy               0  [7F, FF)',
        'next                 wait for the run to finish; cosmig dead-letters list shows',
        '                     what could not be moved (with the same flags)',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  test('--json -> one object', async () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    const { code, stdout } = await ask(path, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      command: 'status',
      migration: 'shop/orders -> shop/orders-by-tenant',
      ledger: path,
      phase: 'copying',
      source: 'shop/orders',
      target: 'shop/orders-by-tenant',
      endpoints: { source: 'https://one.example/', target: 'https://one.example/' },
      partitionKey: ['/tenantId'],
      began: '2026-01-01T00:00:00.000Z',
      ranges: [
        { id: '0', min: '', max: '3F', phase: 'tail', documents: 0, sweepPending: false },
        { id: '1', min: '3F', max: '7F', phase: 'copy', documents: 1204, sweepPending: false },
        { id: '2', min: '7F', max: 'FF', phase: 'copy', documents: 0, sweepPending: false },
      ],
      documents: DOCUMENTS,
      ru: { source: 4000, target: 9500 },
      throttled: 3,
      deadLetters: { open: 3, reasons: { collision: 2, 'too-large': 1 }, closed: 0, discarded: 1 },
      deletes: 'reconcile',
      lastRun: {
        command: 'copy',
        pid: 4711,
        began: '2026-01-01T00:00:00.000Z',
        ended: null,
        outcome: null,
        why: null,
      },
      running: { pid: 4711, since: '2026-01-01T00:00:00.000Z' },
      seen: null,
      proof: null,
      lastComparison: null,
      lastCommit: null,
      verifying: false,
      wayBack: null,
      cutover: null,
      next: 'wait for the run to finish; cosmig dead-letters list shows what could not be moved',
    });
  });

  test('the run has not recorded itself yet -> shown as running', async () => {
    const path = somePath();
    openLedger(path).close();
    using _mover = openLedger(path);
    const { stdout } = await ask(path);
    expect(stdout).toMatch(/^running +yes, it has just started$/m);
    const { stdout: json } = await ask(path, '--json');
    expect(JSON.parse(json)).toMatchObject({ running: { pid: null, since: null }, lastRun: null });
  });

  test('status -> changes no file of the run', async () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    const before = filesAround(path);
    await ask(path);
    await ask(path, '--json');
    expect(filesAround(path)).toEqual(before);
    ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
    expect((await ask(path)).stdout).toMatch(/^phase +tailing$/m);
  });
});

describe('status after a run', () => {
  test('a run ended -> how it ended, and what to do next', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    fill(ledger);
    ledger.runs.end(1, { outcome: 'canceled', nowMs: NOW_MS + MINUTE_MS });
    ledger.close();
    const before = filesAround(path);
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(/^running +no$/m);
    expect(stdout).toMatch(/^last run +copy ended 2026-01-01 00:01:00Z \(1 h ago\): it was stopped$/m);
    expect(stdout).toMatch(
      /^next +cosmig copy continues with 2 ranges; cosmig dead-letters list shows what could not be moved \(with the same flags\)$/m,
    );
    expect(filesAround(path)).toEqual(before);
  });

  test('a run failed -> why', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    fill(ledger);
    const why = 'a document is not in the target';
    ledger.runs.end(1, { outcome: 'not-ready', why, nowMs: NOW_MS + MINUTE_MS });
    ledger.close();
    expect(unwrapped((await ask(path)).stdout)).toMatch(
      /^last run +copy ended .* ago\): it could not continue \(a document is not in the target\)$/m,
    );
    expect(JSON.parse((await ask(path, '--json')).stdout)).toMatchObject({ lastRun: { why } });
  });

  test('a run was killed -> shown as a crash; only the index of the log changes', async () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    const crashed = crashCopy(path);
    const before = filesAround(crashed);
    const { code, stdout } = await ask(crashed);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^running +no$/m);
    expect(unwrapped(stdout)).toMatch(/^last run +copy, started .*, was killed or crashed; /m);
    expect(stdout).toContain('1,234,567 read');
    const { 'ledger.db-shm': _index, ...after } = filesAround(crashed);
    expect(after).toEqual(before);
  });

  test.each<[string, NewLease[], Phase, string]>([
    ['nothing has begun', [], 'new', 'start with cosmig copy'],
    ['a range is read again', [newLease({ phase: 'recopy' })], 'tailing', 'cosmig tail reads 1 range again'],
    [
      'it tails',
      [newLease({ phase: 'tail' })],
      'tailing',
      'cosmig tail replicates what has changed since; run cosmig verify meanwhile to compare both sides',
    ],
    [
      'a cutover died',
      [newLease({ phase: 'tail' })],
      'drained',
      'a cutover was interrupted: run cosmig cutover again, or let writers resume and continue with cosmig tail',
    ],
    [
      'it is over',
      [newLease({ phase: 'tail' })],
      'committed',
      'nothing: the target is in use; keep the source for as long as you may need it',
    ],
  ])('%s -> what to do next', async (_what, begun, phase, next) => {
    const path = somePath();
    const ledger = openLedger(path);
    if (begun.length > 0) ledger.leases.begin(begun);
    ledger.migration.enter(entryOf(phase), 1);
    ledger.close();
    const { stdout } = await ask(path);
    expect(unwrapped(stdout).trimEnd().split('\n').at(-1)).toBe(
      `next                 ${next}${next.includes('cosmig ') ? FLAGS : ''}`,
    );
  });

  test('a feed has lost deletes -> shown by range', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    ledger.migration.decideDeleteMode('avad');
    ledger.leases.begin([
      newLease({ max: '7F', sweepPending: true }),
      newLease({ rangeId: '1', min: '7F', phase: 'tail' }),
    ]);
    ledger.close();
    expect(unwrapped((await ask(path)).stdout)).toMatch(
      /^deletes +avad: the feed of 1 range has lost deletes or renames; the documents stay in the target until both sides are compared$/m,
    );
    expect(JSON.parse((await ask(path, '--json')).stdout)).toMatchObject({
      ranges: [{ sweepPending: true }, { sweepPending: false }],
    });
  });

  test('many ranges -> one screen, unfinished ones first; --json has all', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    const bound = (index: number): string => index.toString(16).toUpperCase().padStart(32, '0');
    ledger.leases.begin(
      Array.from({ length: 200 }, (_, index) =>
        newLease({
          rangeId: String(index),
          min: index === 0 ? '' : bound(index),
          max: index === 199 ? 'FF' : bound(index + 1),
          phase: index % 20 === 7 ? 'copy' : 'tail',
        }),
      ),
    );
    ledger.close();
    const { stdout } = await ask(path);
    expect(stdout.split('\n').length).toBeLessThan(30);
    expect(stdout).toMatch(/^ranges +200 \(190 tail, 10 copy\)$/m);
    expect(stdout.match(/^ {2}\d+ +copy +0 {2}\[0000/gm)).toHaveLength(8);
    expect(stdout).toMatch(/^ {2}192 more +0 {2}one by one with --json$/m);
    expect(columnsOf(stdout, path)).toBeLessThanOrEqual(80);
    expect((JSON.parse((await ask(path, '--json')).stdout) as { ranges: unknown[] }).ranges).toHaveLength(
      200,
    );
  });

  test('every reason of a dead letter -> fits the screen', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    for (const [n, reason] of REASONS.entries()) {
      ledger.letters.change({ change: 'open', letter: letterOf(`l${n}`, reason) });
    }
    ledger.close();
    const { stdout } = await ask(path);
    for (const reason of REASONS) expect(unwrapped(stdout)).toContain(`1 ${reason}`);
    expect(columnsOf(stdout, path)).toBeLessThanOrEqual(80);
  });
});

/** The longest line; a path is as long as it is. */
function columnsOf(stdout: string, path: string): number {
  return Math.max(
    ...stdout
      .replace(path, '')
      .split('\n')
      .map((line) => line.length),
  );
}

function entryOf(phase: Phase): PhaseEntry {
  if (phase === 'tailing') return { phase, why: null };
  return phase === 'committed' ? { phase, stoppedMs: 0, likeSource: [], proof: null } : { phase };
}

/** A cutover as its journal records it. */
describe('status of a cutover', () => {
  const at = (seconds: number): number => LOOK_MS - 60_000 + seconds * 1000;

  function cuttingOver(path: string): Ledger {
    const ledger = openLedger(path);
    ledger.leases.begin([newLease({ phase: 'tail' })]);
    ledger.migration.enter({ phase: 'tailing', why: null }, at(-9000));
    ledger.runs.begin({ command: 'cutover', pid: 815, nowMs: at(0) });
    ledger.migration.enter({ phase: 'ready' }, at(1));
    ledger.migration.enter({ phase: 'fencing' }, at(2));
    return ledger;
  }

  test('in progress -> since when writers are stopped', async () => {
    const path = somePath();
    using ledger = cuttingOver(path);
    ledger.migration.enter({ phase: 'drained' }, at(9));
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(/^running +cutover since 2026-01-01 01:29:00Z \(1 min\), process 815$/m);
    expect(stdout).toMatch(/^cutover +writers stopped 2026-01-01 01:29:02Z \(58 s ago\)$/m);
    expect(stdout).toMatch(/^next +wait for the run to finish$/m);
  });

  test('killed -> writers may still be stopped', async () => {
    const path = somePath();
    cuttingOver(path).close();
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(/^phase +fencing$/m);
    expect(stdout).toMatch(
      /^cutover +crashed before its commit; writers stopped .* \(58 s ago\), and may still be stopped$/m,
    );
    expect(stdout).toMatch(
      /^next +a cutover was interrupted, and writers may still be stopped: run cosmig cutover again, or /m,
    );
    const json: unknown = JSON.parse((await ask(path, '--json')).stdout);
    expect(json).toMatchObject({
      cutover: { state: 'interrupted', stoppedSince: '2026-01-01T01:29:02.000Z', stoppedMs: null },
    });
  });

  test('backed out -> why', async () => {
    const path = somePath();
    const ledger = cuttingOver(path);
    ledger.migration.enter({ phase: 'tailing', why: 'the cutover did not finish in time' }, at(30));
    ledger.journal.append({ event: 'writers resumed' }, at(30));
    ledger.runs.end(1, { outcome: 'not-ready', nowMs: at(30) });
    ledger.close();
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(/^cutover +backed out .* \(30 s ago\): the cutover did not finish in time$/m);
    expect(stdout).toMatch(/^next +cosmig tail replicates/m);
    expect(stdout).toMatch(/^lag +not replicating since 2026-01-01 01:29:30Z \(30 s ago\)$/m);
  });

  test('backed out without letting writers resume -> shown until another run begins', async () => {
    const path = somePath();
    const ledger = cuttingOver(path);
    ledger.runs.end(1, { outcome: 'canceled', nowMs: at(20) });
    ledger.migration.enter({ phase: 'tailing', why: 'the last cutover was interrupted' }, at(30));
    ledger.close();
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(
      /^cutover +backed out .*: the last cutover was interrupted; writers stopped .* \(58 s ago\), and writers have NOT been re-enabled by cosmig$/m,
    );
    expect(stdout).toMatch(
      /^next +make sure that writers can write to the source again; cosmig tail replicates/m,
    );
    const again = openLedger(path);
    again.runs.begin({ command: 'tail', pid: 1, nowMs: at(40) });
    again.runs.end(2, { outcome: 'done', nowMs: at(50) });
    again.close();
    expect(unwrapped((await ask(path)).stdout)).toMatch(/^next +cosmig tail replicates/m);
    const json: unknown = JSON.parse((await ask(path, '--json')).stdout);
    expect(json).toMatchObject({
      cutover: { state: 'backed out', stoppedSince: '2026-01-01T01:29:02.000Z' },
    });
  });

  test('committed -> what is left to do, and late writes by id', async () => {
    const path = somePath();
    const ledger = cuttingOver(path);
    for (const phase of ['drained', 'proven'] as const) ledger.migration.enter({ phase }, at(10));
    ledger.migration.enter({ phase: 'committed', stoppedMs: 8_700, likeSource: [], proof: null }, at(11));
    ledger.close();
    const dead = unwrapped((await ask(path)).stdout);
    expect(dead).toMatch(/^cutover +committed .* \(49 s ago\), after 8\.7 s with writers stopped$/m);
    expect(dead).toMatch(/^next +run cosmig cutover again with its --on-commit: that command has\s+not/m);

    const next = openLedger(path);
    next.journal.append({ event: 'application switched' }, at(12));
    next.close();
    expect((await ask(path)).stdout).toMatch(/^next +run cosmig cutover again: it checks whether/m);

    const last = openLedger(path);
    const written = { range: '0', ids: ['"a"', '"b"'], what: 'written' } as const;
    last.journal.append({ event: 'late write', ...written }, at(13));
    const deleted = { range: '0', ids: [], what: 'deleted' } as const;
    last.journal.append({ event: 'late write', ...deleted }, at(14));
    last.journal.append({ event: 'late write watch ended', isForgotten: false }, at(15));
    last.close();
    const late = unwrapped((await ask(path)).stdout);
    expect(late).toMatch(/^LATE WRITES +not replicated: "a", "b", unknown id$/m);
    expect(late).toMatch(/^next +stop the process that still writes to the source, and fix in the target/m);
  });

  test('requested settings not applied -> shown until they are', async () => {
    const path = somePath();
    const ledger = cuttingOver(path);
    for (const phase of ['drained', 'proven'] as const) ledger.migration.enter({ phase }, at(10));
    ledger.migration.enter(
      { phase: 'committed', stoppedMs: 8_700, likeSource: ['ttl'], proof: null },
      at(11),
    );
    ledger.journal.append({ event: 'application switched' }, at(12));
    ledger.journal.append({ event: 'late write watch ended', isForgotten: false }, at(15));
    ledger.close();
    const next = async (): Promise<string> =>
      /^next +(.*)$/m.exec(unwrapped((await ask(path)).stdout))?.[1] ?? '';
    expect(await next()).toMatch(
      /^run cosmig cutover again: some settings of the target are not as requested/,
    );
    const done = openLedger(path);
    done.journal.append({ event: 'target settings applied', settings: ['ttl'] }, at(20));
    done.close();
    expect(await next()).toMatch(/^nothing: the target is in use/);
  });

  test('very many late writes -> the steps are still shown', async () => {
    const path = somePath();
    const ledger = cuttingOver(path);
    const change = { range: '0', ids: [], what: 'written' } as const;
    const writes = (event: 'fence restarted' | 'late write'): void => {
      for (let n = 0; n < 1500; n += 1) ledger.journal.append({ event, ...change }, at(9));
    };
    writes('fence restarted');
    expect(unwrapped((await ask(path)).stdout)).toMatch(/^cutover +writers stopped .* \(58 s ago\)$/m);
    for (const phase of ['drained', 'proven'] as const) ledger.migration.enter({ phase }, at(10));
    ledger.migration.enter({ phase: 'committed', stoppedMs: 8_700, likeSource: [], proof: null }, at(11));
    writes('late write');
    ledger.close();
    const committed = unwrapped((await ask(path)).stdout);
    expect(committed).toMatch(/^cutover +committed .*, after 8\.7 s with writers stopped$/m);
    expect(committed).toMatch(/^LATE WRITES +not replicated: unknown id$/m);
    expect(committed).toMatch(/^next +run cosmig cutover again with its --on-commit: that/m);
  });
});

describe('status: progress and proof', () => {
  const SAID = {
    atMs: LOOK_MS - 3000,
    lagSeconds: 2.5,
    waitsFor: 'the target is throttled',
    expected: 2_000_000,
    ...NO_LOAD,
  };

  test('recorded progress -> shown during the run and after a kill', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    fill(ledger);
    ledger.runs.report({ ...SAID, lagSeconds: null });
    const copying = unwrapped((await ask(path)).stdout);
    expect(copying).toMatch(/^documents +1,234,567 read of about 2,000,000 \(61%\), /m);
    expect(copying).toMatch(/^waits for +the target is throttled$/m);
    ledger.migration.enter({ phase: 'tailing', why: null }, 1);
    ledger.runs.report(SAID);
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(/^lag +2\.5 s \(3 s ago\)$/m);
    expect(stdout).not.toContain('of some');
    ledger.close();
    const dead = unwrapped((await ask(path)).stdout);
    expect(dead).toMatch(
      /^last run +copy, started .*, last seen 2026-01-01 01:29:57Z \(3 s ago\), was killed or crashed/m,
    );
    expect(dead).toMatch(/^lag +not replicating since 2026-01-01 01:29:57Z \(3 s ago\)$/m);
    expect(dead).not.toContain('waits for');
    expect(JSON.parse((await ask(path, '--json')).stdout)).toMatchObject({
      seen: { at: '2026-01-01T01:29:57.000Z', lagSeconds: 2.5, expected: 2_000_000 },
    });
  });

  test('a proof of another spec -> not shown', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    ledger.leases.begin([newLease({ phase: 'tail' })]);
    ledger.migration.enter({ phase: 'tailing', why: null }, 1);
    const { fingerprint } = ledger.migration.read();
    ledger.close();
    const prove = (print: string, atMs: number): void => {
      using store = VerifyStore.open(verifyPath(path));
      store.begin({
        fingerprint: print,
        sourceRid: 's',
        targetRid: 't',
        targetTtl: null,
        beganAtMs: 1,
        extent: 'all',
        isAfterRepair: false,
      });
      store.end({ atMs, fingerprint: print, details: '{}' });
    };
    prove('another', LOOK_MS - 1000);
    {
      using _store = VerifyStore.open(verifyPath(path));
      expect(unwrapped((await ask(path)).stdout)).toMatch(/^proof +none; a cosmig verify is running$/m);
    }
    const unproven = /^proof +none; a cosmig verify that finds both sides equal makes one$/m;
    expect(unwrapped((await ask(path)).stdout)).toMatch(unproven);
    prove(fingerprint, LOOK_MS - 2 * MINUTE_MS);
    const { stdout } = await ask(path);
    expect(stdout).toMatch(/^proof +both sides were equal 2026-01-01 01:28:00Z \(2 min ago\)$/m);
    expect(unwrapped(stdout)).toMatch(
      /^next +.*; run cosmig cutover when you are ready \(with the same flags\)$/m,
    );
    {
      using store = VerifyStore.open(verifyPath(path));
      store.disprove();
    }
    expect(unwrapped((await ask(path)).stdout)).toMatch(unproven);
  });

  test('differences were found -> what they make void, and what fixes them', async () => {
    const path = somePath();
    const ledger = openLedger(path);
    ledger.leases.begin([newLease({ phase: 'tail' })]);
    ledger.migration.enter({ phase: 'tailing', why: null }, 1);
    const run = ledger.runs.begin({ command: 'verify --repair', pid: 1, nowMs: LOOK_MS - 3 * MINUTE_MS });
    ledger.runs.end(run, { outcome: 'done', why: null, nowMs: LOOK_MS - 2 * MINUTE_MS });
    const { fingerprint } = ledger.migration.read();
    ledger.close();
    {
      using store = VerifyStore.open(verifyPath(path));
      const found = { equal: false, differences: { ...NO_DIFFERENCES, extra: 3 } };
      const proofMs = LOOK_MS - 2 * MINUTE_MS;
      store.verdict.put(found, { atMs: LOOK_MS - MINUTE_MS - 1, fingerprint, proofMs });
      // A second comparison that finds them again.
      store.verdict.put(found, { atMs: LOOK_MS - MINUTE_MS, fingerprint, proofMs: null });
    }
    const stdout = unwrapped((await ask(path)).stdout);
    expect(stdout).toMatch(
      /^proof +none: the comparison of 2026-01-01 01:29:00Z found 3 differences \(3 extra\), which makes the proof of 2026-01-01 01:28:00Z void$/m,
    );
    expect(stdout).toMatch(
      /^last run +cosmig verify ended 2026-01-01 01:29:00Z \(1 min ago\): it found differences$/m,
    );
    const fixes = 'cosmig verify --repair fixes the differences that the last comparison found';
    expect(stdout).toMatch(new RegExp(`^next +${fixes}, and compares again \\(with the same flags\\)$`, 'm'));
    expect(JSON.parse((await ask(path, '--json')).stdout)).toMatchObject({
      proof: null,
      lastComparison: {
        at: '2026-01-01T01:29:00.000Z',
        equal: false,
        differences: { missing: 0, extra: 3, different: 0, wrongSlot: 0 },
        voids: '2026-01-01T01:28:00.000Z',
      },
    });
    const page = join(dirname(path), 'page.html');
    await ask(path, '--report', page);
    const shown = readFileSync(page, 'utf8');
    expect(shown).toContain('There is no proof: the comparison of 2026-01-01 01:29:00Z found 3 differences');
    expect(shown).toContain('<h1>The last comparison found differences</h1>');
    expect(shown).toContain('run cosmig verify --repair');
    const running = openLedger(path);
    // Dead letters do not hide what is more urgent.
    const letter = letterOf('a', 'collision');
    const unit = running.units.nextUnit();
    running.units.commit([{ unit, move: null, letters: [{ change: 'open', letter }] }]);
    running.close();
    const list = '; cosmig dead-letters list shows what could not be moved \\(with the same flags\\)';
    const after = unwrapped((await ask(path)).stdout);
    expect(after).toMatch(new RegExp(`^next +${fixes}, and compares again${list}$`, 'm'));
    using again = openLedger(path);
    again.runs.begin({ command: 'tail', pid: 1, nowMs: LOOK_MS });
    const during = unwrapped((await ask(path)).stdout);
    expect(during).toMatch(new RegExp(`^next +stop cosmig tail with Ctrl-C; then ${fixes}`, 'm'));
  });
});

describe('status: finding the ledger', () => {
  test('both containers -> the ledger is found without an account', async () => {
    const argv = ['status', '--source', 'shop/orders', '--target', 'shop/nowhere-at-all'];
    const { code, stdout, stderr } = await runCosmig(argv);
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toMatch(
      /^cosmig: there is no ledger at .*\.cosmig\/shop\.orders--shop\.nowhere-at-all\.db\n {2}why {2}.*\n {2}now {2}/,
    );
    expect(existsSync('.cosmig/shop.orders--shop.nowhere-at-all.db')).toBe(false);
  });

  test('neither ledger nor containers -> usage error', async () => {
    await expect(runCosmig(['status'])).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr:
        'cosmig: no ledger was given\n  why  it is the file that remembers a migration, and is found by its path, or by the names of both containers\n' +
        '  now  run it in the folder of cosmig.config.yaml; or give --ledger .cosmig/orders.db, COSMIG_LEDGER or ledger in the config file; or give --source and --target\n',
    });
  });
});

describe('status --backup', () => {
  test('during a run -> a copy that can be resumed from', async () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    const to = join(temporaryFolder(), 'backup.db');
    const { code, stderr } = await ask(path, '--backup', to);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `the ledger was copied to ${to}\n` });
    const { stdout } = await ask(to, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ documents: DOCUMENTS, running: null });
    openLedger(to, SPEC).close();
  });

  test('the file exists -> refused, nothing overwritten', async () => {
    const path = somePath();
    openLedger(path).close();
    const { code, stdout, stderr } = await ask(path, '--backup', path);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(`${path} exists already`);
    rmSync(path);
  });
});
