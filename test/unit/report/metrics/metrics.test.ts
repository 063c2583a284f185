/** The metrics of a migration in both formats, made from ledgers in every state. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT_CODES } from '../../../../src/cli/exit-codes.ts';
import { Durations } from '../../../../src/cosmos/load/durations.ts';
import { exposition } from '../../../../src/report/metrics/exposition.ts';
import { metricsOf, OUTCOMES } from '../../../../src/report/metrics/metrics.ts';
import { readFacts, type Facts } from '../../../../src/report/watch/facts.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';
import { beginLease, openLedger, temporaryFolder, NOW_MS } from '../../state/making.ts';
import { copying, factsOf } from '../watch/making.ts';

const DAY_MS = 24 * 3600 * 1000;
const NAME = 'migration="shop/orders -> shop/orders-by-tenant"';

const openMetrics = (facts: Facts): string => metricsOf(facts, { format: 'openmetrics', version: '1.2.3' });
/** The value of a sample, or of several; undefined: it is left out. */
const valueOf = (facts: Facts, name: string, labels = ''): string | undefined =>
  openMetrics(facts)
    .split('\n')
    .find((line) => line.startsWith(`cosmig_${name}{`) && line.includes(labels))
    ?.split('} ')[1];

/** Replicating with the feed of deletes, three days after the beginning. The lag was measured a day before that. */
function tailing(ledger: Ledger, phase: 'tail' | 'recopy' = 'tail'): void {
  beginLease(ledger, { phase });
  ledger.migration.decideDeleteMode('avad');
  ledger.migration.enter({ phase: 'tailing', why: 'copied' }, NOW_MS);
  const run = ledger.runs.begin({ command: 'tail', pid: 1, nowMs: NOW_MS });
  const atMs = NOW_MS + 2 * DAY_MS;
  const totals = { read: 1, written: 5, deleted: 2, moved: 3, sourceRu: 1, targetRu: 1, throttled: 0 };
  ledger.history.add({ atMs, command: 'tail', ...totals, openLetters: 0, lagSeconds: 4 });
  ledger.runs.report({ atMs, ...NO_LOAD, lagSeconds: 4, waitsFor: null, expected: 1 });
  ledger.runs.end(run, { outcome: 'done', nowMs: atMs });
}

describe('figures', () => {
  test('a copy -> names with units, counters that end in _total, and the end', () => {
    const text = openMetrics(factsOf(copying));
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        `cosmig_build_info{${NAME},version="1.2.3"} 1`,
        `cosmig_ledger_readable{${NAME}} 1`,
        `cosmig_stage{${NAME},cosmig_stage="copy"} 1`,
        `cosmig_stage{${NAME},cosmig_stage="tail"} 0`,
        `cosmig_documents_expected{${NAME}} 10000`,
        `cosmig_throttled_ranges{${NAME},side="target"} 1`,
        `cosmig_allowed_request_units_per_second{${NAME},side="source"} 400`,
        `cosmig_documents_in_flight{${NAME}} 40`,
        `cosmig_in_flight_bytes{${NAME}} 5000`,
        `cosmig_oldest_in_flight_timestamp_seconds{${NAME}} ${(NOW_MS + 59_000 - 4200) / 1000}`,
        `cosmig_requests_in_flight{${NAME},side="target"} 3`,
        `cosmig_oldest_request_timestamp_seconds{${NAME},side="target"} ${(NOW_MS + 59_000 - 1500) / 1000}`,
        '# UNIT cosmig_last_report_timestamp_seconds seconds',
        `cosmig_last_report_timestamp_seconds{${NAME}} ${(NOW_MS + 59_000) / 1000}`,
      ]),
    );
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    // What is not known has no sample: a lag of 0 would be a claim.
    expect(text).not.toContain('cosmig_feed_lag_seconds');
  });

  test('a move is a write as well -> it counts once', () => {
    const facts = factsOf((ledger) => {
      tailing(ledger);
      ledger.counters.add('documentsWritten', 9);
      ledger.counters.add('documentsReplaced', 4);
      ledger.counters.add('documentsMoved', 3);
      ledger.counters.add('documentsDeleted', 2);
    });
    const changes = ['create', 'update', 'move', 'delete'].map((one) =>
      valueOf(facts, 'changes_applied_total', one),
    );
    expect(changes).toEqual(['2', '4', '3', '2']);
  });

  test('between two runs -> up to when everything is replicated, and until when the feed remembers deletes', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    tailing(ledger);
    ledger.close();
    const facts = readFacts(path, NOW_MS + 3 * DAY_MS);
    const untilMs = NOW_MS + 2 * DAY_MS - 4000;
    expect(valueOf(facts, 'replicated_until_timestamp_seconds')).toBe(String(untilMs / 1000));
    expect(valueOf(facts, 'retention_end_timestamp_seconds')).toBe(String((untilMs + 7 * DAY_MS) / 1000));
    expect(valueOf(facts, 'feed_lag_seconds')).toBeUndefined();
  });

  test('a range that is being copied -> its deletes wait since the beginning', () => {
    const facts = factsOf((ledger) => tailing(ledger, 'recopy'), NOW_MS + 3 * DAY_MS);
    expect(valueOf(facts, 'replicated_until_timestamp_seconds')).toBeUndefined();
    expect(valueOf(facts, 'retention_end_timestamp_seconds')).toBe(String((NOW_MS + 7 * DAY_MS) / 1000));
  });

  test.each([
    ['no feed of deletes', (ledger: Ledger) => copying(ledger)],
    [
      'committed',
      (ledger: Ledger) => {
        tailing(ledger);
        ledger.migration.enter({ phase: 'committed', stoppedMs: 1, likeSource: [] } as never, NOW_MS);
      },
    ],
  ])('%s -> no retention', (_what, fill) => {
    expect(valueOf(factsOf(fill), 'retention_end_timestamp_seconds')).toBeUndefined();
  });

  test('how the last run ended -> one of the states', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    const outcome = (): string | undefined => {
      const states = openMetrics(readFacts(path, NOW_MS)).match(
        /(?<=cosmig_last_run_outcome=")[a-z-]+(?="\} 1$)/gm,
      );
      return states?.join();
    };
    expect(outcome()).toBeUndefined();
    const run = ledger.runs.begin({ command: 'copy', pid: 1, nowMs: NOW_MS });
    expect(outcome()).toBe('running');
    ledger.runs.end(run, { outcome: 'service', nowMs: NOW_MS });
    ledger.runs.begin({ command: 'copy', pid: 1, nowMs: NOW_MS });
    ledger.close();
    expect(outcome()).toBe('crashed');
    const again = openLedger(path);
    again.runs.end(2, { outcome: 'service', nowMs: NOW_MS });
    again.close();
    expect(outcome()).toBe('service');
  });

  test('durations of requests -> counts up to each bound, and their sum', () => {
    const facts = factsOf((ledger) => {
      copying(ledger);
      const durations = new Durations();
      for (const ms of [4, 20, 30_000]) durations.add(ms);
      const source = { ...NO_LOAD.source, durations: durations.current };
      ledger.runs.report({
        atMs: NOW_MS,
        ...NO_LOAD,
        source,
        lagSeconds: null,
        waitsFor: null,
        expected: null,
      });
    });
    const of = (name: string, labels = ''): string | undefined =>
      valueOf(facts, `request_duration_seconds_${name}`, labels);
    expect(['0.005', '0.01', '0.025', '10.0', '+Inf'].map((le) => of('bucket', `le="${le}"`))).toEqual([
      '1',
      '1',
      '2',
      '2',
      '3',
    ]);
    expect([of('count'), of('sum')]).toEqual(['3', '30.024']);
    // Reports of an older cosmig have none.
    expect(of('count', 'target')).toBeUndefined();
  });

  test('a cutover that backed out -> writers count as stopped until another run has begun', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    const since = (): string | undefined =>
      valueOf(readFacts(path, NOW_MS), 'writers_stopped_timestamp_seconds');
    ledger.runs.begin({ command: 'cutover', pid: 1, nowMs: NOW_MS });
    ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
    expect(since()).toBeUndefined();
    ledger.migration.enter({ phase: 'ready' }, NOW_MS);
    ledger.migration.enter({ phase: 'fencing' }, NOW_MS);
    expect(since()).toBe(String(NOW_MS / 1000));
    ledger.migration.enter({ phase: 'tailing', why: 'the deadline is over' }, NOW_MS);
    expect(since()).toBe(String(NOW_MS / 1000));
    ledger.runs.begin({ command: 'tail', pid: 1, nowMs: NOW_MS });
    expect(since()).toBeUndefined();
    ledger.close();
  });

  test('every code of an error is a state of the outcome', () => {
    const codes = EXIT_CODES.flatMap(({ code }) => code ?? []);
    expect(OUTCOMES).toEqual(expect.arrayContaining(codes));
  });

  test('no ledger -> neither its figures nor a claim that it cannot be read', () => {
    const text = openMetrics(readFacts('/nowhere/ledger.db', NOW_MS));
    expect(text.replaceAll(/^#.*\n/gm, '')).toBe('cosmig_build_info{version="1.2.3"} 1\n');
  });

  test('a ledger that cannot be a database -> that it cannot be read, under its name', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    writeFileSync(path, 'not a database, but long enough to look at'.repeat(100));
    const about = { format: 'openmetrics', version: '1', migration: 'a/b -> a/c' } as const;
    expect(metricsOf(readFacts(path, NOW_MS), about)).toContain(
      'cosmig_ledger_readable{migration="a/b -> a/c"} 0\n',
    );
  });
});

describe('formats', () => {
  const METRICS = [
    { name: 'a', type: 'info', help: 'Is "a" \\ b?\nYes.', samples: [[{ v: 'say "hi"\\\n' }, 1]] },
    { name: 'b', type: 'counter', help: 'B.', samples: [[{}, 2]] },
    { name: 'c_seconds', type: 'gauge', unit: 'seconds', help: 'C.', samples: [[{}, 0.5]] },
    {
      name: 'h_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'H.',
      samples: [
        [{ le: '1.0' }, 3, '_bucket'],
        [{}, 4, '_count'],
      ],
    },
    { name: 'd', type: 'stateset', help: 'D.', samples: [[{ cosmig_d: 'x' }, 1]] },
    { name: 'e', type: 'gauge', help: 'E.', samples: [[{}, null]] },
    { name: 'f', type: 'gauge', help: 'F.', samples: [[{}, Infinity]] },
  ] as const;

  test('OpenMetrics: the family has no suffix; TYPE, UNIT and HELP stand above its samples', () => {
    expect(exposition(METRICS, 'openmetrics')).toBe(
      String.raw`# TYPE cosmig_a info
# HELP cosmig_a Is \"a\" \\ b?\nYes.
cosmig_a_info{v="say \"hi\"\\\n"} 1
# TYPE cosmig_b counter
# HELP cosmig_b B.
cosmig_b_total 2
# TYPE cosmig_c_seconds gauge
# UNIT cosmig_c_seconds seconds
# HELP cosmig_c_seconds C.
cosmig_c_seconds 0.5
# TYPE cosmig_h_seconds histogram
# UNIT cosmig_h_seconds seconds
# HELP cosmig_h_seconds H.
cosmig_h_seconds_bucket{le="1.0"} 3
cosmig_h_seconds_count 4
# TYPE cosmig_d stateset
# HELP cosmig_d D.
cosmig_d{cosmig_d="x"} 1
# EOF
`,
    );
  });

  test('the format of Prometheus: types that it has, under the name of the samples', () => {
    expect(exposition(METRICS, 'prometheus')).toBe(
      String.raw`# HELP cosmig_a_info Is "a" \\ b?\nYes.
# TYPE cosmig_a_info gauge
cosmig_a_info{v="say \"hi\"\\\n"} 1
# HELP cosmig_b_total B.
# TYPE cosmig_b_total counter
cosmig_b_total 2
# HELP cosmig_c_seconds C.
# TYPE cosmig_c_seconds gauge
cosmig_c_seconds 0.5
# HELP cosmig_h_seconds H.
# TYPE cosmig_h_seconds histogram
cosmig_h_seconds_bucket{le="1.0"} 3
cosmig_h_seconds_count 4
# HELP cosmig_d D.
# TYPE cosmig_d gauge
cosmig_d{cosmig_d="x"} 1
`,
    );
  });

  test('every sample belongs to the family above it, and no series comes twice', () => {
    for (const fill of [copying, tailing]) {
      const families = openMetrics(factsOf((ledger) => fill(ledger)))
        .split('# TYPE ')
        .slice(1);
      const names = families.map((family) => family.split(' ', 1)[0] ?? '');
      expect(new Set(names).size).toBe(names.length);
      for (const [index, family] of families.entries()) {
        const [first = '', ...lines] = family.split('\n');
        const samples = lines.filter((line) => line !== '' && !line.startsWith('#'));
        const type = first.split(' ')[1];
        const full = `${names[index]}${type === 'counter' ? '_total' : type === 'info' ? '_info' : ''}`;
        expect(samples.filter((sample) => !/^[a-z_]+\{[^}]*\} -?\d+(?:\.\d+)?$/.test(sample))).toEqual([]);
        expect(samples.filter((sample) => sample.split('{', 1)[0] !== full)).toEqual([]);
        expect(new Set(samples.map((sample) => sample.split('} ')[0])).size).toBe(samples.length);
      }
    }
  });

  test('every series names the migration, so that files of several migrations can be read together', () => {
    const samples = openMetrics(factsOf((ledger) => tailing(ledger)))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.filter((sample) => !sample.includes(`{${NAME}`))).toEqual([]);
  });
});
