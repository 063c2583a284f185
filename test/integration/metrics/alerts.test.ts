/** The alert rules of docs/operations, each on figures with which it fires, and on figures with which it does not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { HAS_PROMETHEUS, promtool } from '../../helpers/prometheus/prometheus.ts';
import { temporaryFolder } from '../../unit/state/making.ts';

const RULES = fileURLToPath(new URL('../../../docs/operations/alerts.yaml', import.meta.url));
const HOUR = 3600;

/** A value in each of 60 minutes. Prometheus counts them from the time 0. */
const always = (value: number): string => `${value}x60`;
/** A timestamp that is always this old; negative: it lies ahead. */
const aged = (seconds: number): string => `${-seconds}+60x60`;

type Figures = Readonly<Record<string, string | null>>;

const HEALTHY: Figures = {
  'up{job="cosmig"}': always(1),
  cosmig_running: always(1),
  cosmig_waiting: always(0),
  cosmig_documents_in_flight: always(0),
  cosmig_oldest_in_flight_timestamp_seconds: null,
  cosmig_feed_lag_seconds: always(1),
  cosmig_last_report_timestamp_seconds: aged(1),
  cosmig_last_progress_timestamp_seconds: aged(1),
  cosmig_replicated_until_timestamp_seconds: aged(1),
  cosmig_retention_end_timestamp_seconds: aged(-7 * 24 * HOUR),
  cosmig_last_proof_timestamp_seconds: aged(HOUR),
  cosmig_way_back_unsafe: always(0),
  cosmig_ledger_readable: always(1),
  cosmig_command_start_timestamp_seconds: aged(60),
  cosmig_command_exit_code: always(0),
  'cosmig_stage{cosmig_stage="copy"}': always(0),
  'cosmig_stage{cosmig_stage="tail"}': always(1),
  'cosmig_stage{cosmig_stage="done"}': always(0),
  'cosmig_dead_letters{state="open"}': always(0),
  'cosmig_dead_letters{state="closed"}': always(5),
  'cosmig_last_run_outcome{cosmig_last_run_outcome="running"}': always(1),
  'cosmig_last_run_outcome{cosmig_last_run_outcome="crashed"}': always(0),
  'cosmig_last_run_outcome{cosmig_last_run_outcome="budget"}': always(0),
};

const STALLED = { cosmig_last_progress_timestamp_seconds: aged(700) };
const DONE = {
  'cosmig_stage{cosmig_stage="tail"}': always(0),
  'cosmig_stage{cosmig_stage="done"}': always(1),
};
const IDLE = { cosmig_running: always(0) };

/** What differs from a healthy run, and what then fires. */
const CASES: ReadonlyArray<readonly [what: string, figures: Figures, fires?: string]> = [
  ['a healthy run', {}],
  ['a run that reports nothing', { cosmig_last_report_timestamp_seconds: aged(300) }, 'CosmigSilent'],
  ['no run, so no report', { cosmig_last_report_timestamp_seconds: aged(300), ...IDLE }],
  ['nothing moves, and it waits', { ...STALLED, cosmig_waiting: always(1) }, 'CosmigStalled'],
  ['nothing moves in flight', { ...STALLED, cosmig_documents_in_flight: always(5) }, 'CosmigStalled'],
  ['one page stands', { cosmig_oldest_in_flight_timestamp_seconds: aged(700) }, 'CosmigPageStuck'],
  ['a page that is slow', { cosmig_oldest_in_flight_timestamp_seconds: aged(60) }],
  ['nothing moves, and it lags', { ...STALLED, cosmig_feed_lag_seconds: always(400) }, 'CosmigStalled'],
  ['a copy that stands', { ...STALLED, 'cosmig_stage{cosmig_stage="copy"}': always(1) }, 'CosmigStalled'],
  ['nothing moves, because nothing is written', STALLED],
  ['a short wait', { cosmig_waiting: always(1) }],
  [
    'no run, and the source goes on',
    { ...IDLE, cosmig_replicated_until_timestamp_seconds: aged(1000) },
    'CosmigLag',
  ],
  ['a lag of ten minutes', { cosmig_replicated_until_timestamp_seconds: aged(600) }],
  [
    'a lag that is not known',
    { cosmig_replicated_until_timestamp_seconds: null, cosmig_feed_lag_seconds: null },
  ],
  ['deletes for a day', { cosmig_retention_end_timestamp_seconds: aged(-24 * HOUR) }, 'CosmigRetentionEnds'],
  [
    'deletes that are forgotten',
    { cosmig_retention_end_timestamp_seconds: aged(HOUR) },
    'CosmigRetentionEnds',
  ],
  ['deletes for three days', { cosmig_retention_end_timestamp_seconds: aged(-72 * HOUR) }],
  ['a dead letter', { 'cosmig_dead_letters{state="open"}': always(1) }, 'CosmigDeadLetters'],
  ['an old proof', { cosmig_last_proof_timestamp_seconds: aged(25 * HOUR) }, 'CosmigProofOld'],
  ['an old proof of what is over', { cosmig_last_proof_timestamp_seconds: aged(25 * HOUR), ...DONE }],
  ['no proof', { cosmig_last_proof_timestamp_seconds: null }],
  ['a way back that is not safe', { cosmig_way_back_unsafe: always(1) }, 'CosmigWayBackUnsafe'],
  ['writers stopped', { cosmig_writers_stopped_timestamp_seconds: aged(200) }, 'CosmigWritersStopped'],
  ['writers stopped a minute ago', { cosmig_writers_stopped_timestamp_seconds: aged(60) }],
  ['an unreadable ledger', { cosmig_ledger_readable: always(0) }, 'CosmigLedgerUnreadable'],
  ['no ledger', { cosmig_ledger_readable: null }],
  [
    'a crash',
    { ...IDLE, 'cosmig_last_run_outcome{cosmig_last_run_outcome="crashed"}': always(1) },
    'CosmigRunFailed',
  ],
  [
    'a time budget that ended',
    { ...IDLE, 'cosmig_last_run_outcome{cosmig_last_run_outcome="budget"}': always(1) },
  ],
  ['a command that fails', { cosmig_command_exit_code: always(6) }, 'CosmigCommandFails'],
  [
    'a command that fails every five minutes',
    { cosmig_command_exit_code: `${'6 6 6 _ '.repeat(15)}6` },
    'CosmigCommandFails',
  ],
  ...[3, 5, 8, 143].map((code) => [`exit code ${code}`, { cosmig_command_exit_code: always(code) }] as const),
  [
    'a schedule that ended',
    { ...IDLE, cosmig_command_start_timestamp_seconds: aged(4000) },
    'CosmigScheduleStopped',
  ],
  ['a tail that runs for days', { cosmig_command_start_timestamp_seconds: aged(4000) }],
  ['nothing left to schedule', { ...IDLE, ...DONE, cosmig_command_start_timestamp_seconds: aged(4000) }],
  ['no answer', { 'up{job="cosmig"}': always(0) }, 'CosmigWatchDown'],
  ['nothing at all', Object.fromEntries(Object.keys(HEALTHY).map((name) => [name, null]))],
];

/** The series of one job, on one machine, for one migration. */
function seriesOf(figures: Figures): Array<{ readonly series: string; readonly values: string }> {
  return Object.entries(figures).flatMap(([name, values]) => {
    if (values === null) return [];
    const [metric = '', own = ''] = name.replace('}', '').split('{');
    const labels = ['instance="a:1"', 'migration="shop/orders -> shop/by-tenant"', own];
    if (!own.includes('job=')) labels.push('job="cosmig"');
    return [{ series: `${metric}{${labels.filter((label) => label !== '').join(',')}}`, values }];
  });
}

describe.skipIf(!HAS_PROMETHEUS)('alert rules (skipped where Debian’s package prometheus is missing)', () => {
  test('promtool check rules -> no complaint', () => {
    expect(promtool(['check', 'rules', '--lint=all', '--lint-fatal', RULES])).toMatchObject({ code: 0 });
  });

  test('promtool test rules -> each fires when it should, alone, and not otherwise', () => {
    const tests = CASES.map(([name, figures, fires]) => ({
      name,
      interval: '1m',
      input_series: seriesOf({ ...HEALTHY, ...figures }),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '50m',
          exp_samples: fires === undefined ? [] : [{ labels: `{alertname="${fires}"}`, value: 1 }],
        },
      ],
    }));
    const path = join(temporaryFolder(), 'alerts.test.json');
    writeFileSync(path, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
    expect(promtool(['test', 'rules', path]).output).toMatch(/SUCCESS/);
  });

  test('each alert has a case in which it fires', () => {
    const names = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const firing = new Set(CASES.flatMap(([, , fires]) => fires ?? []));
    expect([...firing].toSorted()).toEqual(names.toSorted());
  });
});
