/**
 * The figures of a migration for Prometheus. Invariants: names and units follow its rules; no label holds an id or a
 * key value; what happened at some time is the time and not an age, so that it stays true in a file that a crashed run
 * has left behind.
 */
import { isSwitch } from '../../state/runs.ts';
import { DURATION_BOUNDS_MS } from '../../cosmos/load/durations.ts';
import type { InFlightNow } from '../../cosmos/load/flights.ts';
import { replicatedUntilMs, retentionEndMs } from '../../state/reading/replicated.ts';
import type { DurationCounts, RunReport, SideReport } from '../../state/runs.ts';
import type { MetricsFormat } from '../../watch/accept.ts';
import { hasEnded } from '../status/way-back.ts';
import type { Status } from '../status/status-data.ts';
import type { Facts, MigrationFacts } from '../watch/facts.ts';
import { STAGES, stageOf, type Stage } from '../watch/words.ts';
import { exposition, type Labels, type Metric, type Sample } from './exposition.ts';

export interface About {
  readonly version: string;
  /** The name of the migration, for a ledger that cannot be read; absent: unknown. */
  readonly migration?: string | undefined;
  /** The command that writes the figures to a file. */
  readonly command?: CommandState;
}

export interface CommandState {
  readonly command: string;
  readonly beganMs: number;
  /** How it has ended; null: it has not. */
  readonly end: { readonly atMs: number; readonly exitCode: number } | null;
}

/** Returns the figures as text. */
export function metricsOf(facts: Facts, about: About & { readonly format: MetricsFormat }): string {
  return exposition(metricsIn(facts, about), about.format);
}

export function metricsIn(facts: Facts, { version, migration, command }: About): Metric[] {
  const known = facts.is === 'known' ? facts.status.migration : migration;
  const name = known === undefined ? {} : { migration: known };
  return [
    {
      name: 'build',
      type: 'info',
      help: 'The version of cosmig that reports these figures.',
      samples: [[{ ...name, version }, 1]],
    },
    gauge('ledger_readable', 'Whether the ledger can be read; absent while there is none.', [
      [name, facts.is === 'absent' ? null : facts.is === 'known' ? 1 : 0],
    ]),
    ...(command === undefined ? [] : commandMetrics(name, command)),
    ...(known === undefined ? [] : stageMetric(name, stageOf(facts))),
    ...(facts.is === 'known' ? migrationMetrics(facts) : []),
  ];
}

function stageMetric(name: Labels, stage: Stage | null): Metric[] {
  if (stage === null) return [];
  const samples = STAGES.map((each): Sample => [
    { ...name, cosmig_stage: each.toLowerCase().replace(' ', '-') },
    each === stage ? 1 : 0,
  ]);
  return [{ name: 'stage', type: 'stateset', help: 'The stage of the migration.', samples }];
}

function commandMetrics(name: Labels, { command, beganMs, end }: CommandState): Metric[] {
  const one = (value: number | null): readonly Sample[] => [[{ ...name, command }, value]];
  return [
    seconds('command_start_timestamp', 'When the command began that wrote this file.', one(beganMs / 1000)),
    seconds(
      'command_end_timestamp',
      'When it ended; absent while it runs, and after a crash.',
      one(inSeconds(end?.atMs)),
    ),
    gauge('command_exit_code', 'Its exit code; absent while it runs.', one(end?.exitCode ?? null)),
  ];
}

function migrationMetrics(facts: MigrationFacts): Metric[] {
  const { status, report, comparing, history } = facts;
  const { documents, deadLetters, proof, running, lastRun, cutover } = status;
  const { phase, deletes, ranges } = status;
  const replicated = {
    // A way back that has ended is over like a migration: nothing that is not replicated can be forgotten any longer.
    phase: hasEnded(status) ? 'committed' : phase,
    deletes,
    beganMs: Date.parse(status.began),
    ranges,
    history,
  };
  const name = { migration: status.migration };
  const one = (value: number | null): readonly Sample[] => [[name, value]];
  const bySide = (of: (side: SideReport) => number | null): readonly Sample[] =>
    SIDES.map((side) => [{ ...name, side }, report === null ? null : of(report[side])]);
  const isRunning = running !== null;
  // After a cutover that backed out, the operator lets the writers resume and starts another run.
  const isOver = cutover?.state === 'backed out' && !isSwitch(lastRun?.command);
  const changes = {
    create: documents.written - documents.moved - facts.replaced,
    update: facts.replaced,
    move: documents.moved,
    delete: documents.deleted,
  };
  const lastProgress = history.findLast((entry, index) => {
    const before = history[index - 1];
    return before === undefined || before.read !== entry.read || before.written !== entry.written;
  });
  return [
    gauge('running', 'Whether a run holds the ledger.', one(isRunning ? 1 : 0)),
    counter('documents_read', 'Documents read from the source by all runs.', one(documents.read)),
    gauge(
      'documents_expected',
      'Documents of the source when the last run began.',
      one(report?.expected ?? null),
    ),
    counter(
      'changes_applied',
      'Documents created, replaced in place, moved to another key, and deleted in the target by all runs.',
      Object.entries(changes).map(([operation, value]) => [{ ...name, operation }, value]),
    ),
    gauge(
      'documents_in_flight',
      'Documents that were read and have no outcome yet.',
      one(isRunning ? (report?.inFlight ?? null) : 0),
    ),
    seconds(
      'oldest_in_flight_timestamp',
      'When the oldest of them was read; absent while none is in flight.',
      one(isRunning ? sinceOf(report, report?.pages) : null),
    ),
    gauge(
      'in_flight_bytes',
      'Bytes of the pages that these documents came in.',
      one(isRunning ? (report?.pages?.bytes ?? null) : 0),
    ),
    gauge(
      'requests_in_flight',
      'Requests that were sent and have no reply yet.',
      bySide((side) => (isRunning ? (side.requests?.count ?? null) : 0)),
    ),
    seconds(
      'oldest_request_timestamp',
      'When the oldest of them was sent; absent while none is in flight.',
      bySide((side) => (isRunning ? sinceOf(report, side.requests) : null)),
    ),
    counter('request_units', 'Request units used by all runs.', [
      [{ ...name, side: 'source' }, status.ru.source],
      [{ ...name, side: 'target' }, status.ru.target],
    ]),
    {
      name: 'request_duration_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'How long the requests of the last run took: pages of the feeds, reads, and batches of writes.',
      samples: SIDES.flatMap((side) => histogramOf({ ...name, side }, report?.[side].durations)),
    },
    gauge(
      'allowed_request_units_per_second',
      'Request units a second that the last run may use.',
      bySide((side) => side.allowedRu),
    ),
    gauge(
      'container_request_units_per_second',
      'Request units a second of the container.',
      bySide((side) => side.containerRu),
    ),
    counter(
      'throttled_requests',
      'Operations and reads of all runs that were answered with 429.',
      one(status.throttled),
    ),
    gauge(
      'throttled_ranges',
      'Physical partitions that rest after a 429.',
      bySide((side) => side.ranges.filter(({ isResting }) => isResting).length),
    ),
    gauge(
      'ranges',
      'Physical partitions.',
      bySide((side) => side.ranges.length),
    ),
    seconds(
      'feed_lag',
      'Lag of the range that is farthest behind.',
      one(isRunning ? (report?.lagSeconds ?? null) : null),
    ),
    seconds(
      'replicated_until_timestamp',
      'Up to when the target has every change of the source; absent until every range is copied.',
      one(inSeconds(replicatedUntilMs(replicated))),
    ),
    seconds(
      'retention_end_timestamp',
      'When the feed of the source begins to forget deletes that are not replicated, with a backup of 7 days.',
      one(inSeconds(retentionEndMs(replicated))),
    ),
    {
      name: 'last_run_outcome',
      type: 'stateset',
      help: 'How the last run that moved documents has ended.',
      samples:
        lastRun === null
          ? []
          : OUTCOMES.map((each) => [
              { ...name, cosmig_last_run_outcome: each },
              each === outcomeOf(status) ? 1 : 0,
            ]),
    },
    seconds(
      'last_run_start_timestamp',
      'When the last run began that moved documents.',
      one(secondsOf(lastRun?.began)),
    ),
    seconds(
      'last_run_end_timestamp',
      'When it ended; absent while it runs, and after a crash.',
      one(secondsOf(lastRun?.ended)),
    ),
    seconds('last_report_timestamp', 'When a run last reported its progress.', one(inSeconds(report?.atMs))),
    seconds(
      'last_progress_timestamp',
      'When a run last read or wrote a document.',
      one(inSeconds(lastProgress?.atMs)),
    ),
    gauge(
      'waiting',
      'Whether the run waits for the service.',
      one(isRunning && report?.waitsFor != null ? 1 : 0),
    ),
    gauge(
      'dead_letters',
      'Dead letters by state.',
      (['open', 'closed', 'discarded'] as const).map((state) => [{ ...name, state }, deadLetters[state]]),
    ),
    gauge(
      'comparison_due',
      'Whether deletes may have been missed, which a full comparison finds.',
      one(status.ranges.some(({ sweepPending }) => sweepPending) ? 1 : 0),
    ),
    gauge(
      'way_back_unsafe',
      'Whether it is not safe to switch to the container that is kept: NOT SAFE in cosmig status.',
      one(status.wayBack?.state === 'rollback-unsafe' ? 1 : 0),
    ),
    gauge('verifying', 'Whether a comparison is running.', one(status.verifying ? 1 : 0)),
    gauge('verify_documents_read', 'Documents that a running comparison has read.', [
      [{ ...name, side: 'source' }, comparing?.source ?? null],
      [{ ...name, side: 'target' }, comparing?.target ?? null],
    ]),
    gauge(
      'verify_documents_expected',
      'Documents of the source, which a running comparison reads on each side.',
      one(comparing?.expected ?? null),
    ),
    gauge(
      'verify_candidates',
      'Documents that may differ, and are looked at again.',
      one(comparing?.open ?? null),
    ),
    seconds('last_proof_timestamp', 'When both sides were last found equal.', one(secondsOf(proof?.at))),
    seconds(
      'writers_stopped_timestamp',
      'Since when a cutover has kept the writers of the application stopped.',
      one(secondsOf(isOver ? null : cutover?.stoppedSince)),
    ),
  ];
}

/** When the oldest of what is in flight began, in seconds; null: nothing is in flight. */
function sinceOf(report: RunReport | null, now: InFlightNow | undefined): number | null {
  return report === null || now?.oldestMs == null ? null : (report.atMs - now.oldestMs) / 1000;
}

const SIDES = ['source', 'target'] as const;

/** A histogram counts the durations up to each bound, those of smaller bounds included. */
function histogramOf(labels: Labels, durations: DurationCounts | undefined): Sample[] {
  if (durations === undefined) return [];
  let total = 0;
  const buckets = durations.counts.map((count, index): Sample => {
    const boundMs = DURATION_BOUNDS_MS[index];
    total += count;
    return [{ ...labels, le: boundMs === undefined ? '+Inf' : boundText(boundMs) }, total, '_bucket'];
  });
  return [...buckets, [labels, total, '_count'], [labels, durations.sumMs / 1000, '_sum']];
}

/** A bound is the same text in both formats, so it is the text that OpenMetrics demands: 1 is `1.0`. */
function boundText(boundMs: number): string {
  const text = String(boundMs / 1000);
  return text.includes('.') ? text : `${text}.0`;
}

/** How a run can end: the codes of the errors, and what has no error. */
export const OUTCOMES = [
  'running',
  'done',
  'crashed',
  'not-ready',
  'mismatch',
  'dead-letters',
  'service',
  'ledger',
  'budget',
  'after-commit',
  'canceled',
  'usage',
  'internal',
] as const;

function outcomeOf({ running, lastRun }: Status): string {
  if (running !== null) return 'running';
  return lastRun?.outcome ?? 'crashed';
}

const inSeconds = (ms: number | null | undefined): number | null => (ms == null ? null : ms / 1000);
const secondsOf = (time: string | null | undefined): number | null =>
  time == null ? null : Date.parse(time) / 1000;

const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name,
  type: 'gauge',
  help,
  samples,
});
const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name,
  type: 'counter',
  help,
  samples,
});
const seconds = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name: `${name}_seconds`,
  type: 'gauge',
  unit: 'seconds',
  help,
  samples,
});
