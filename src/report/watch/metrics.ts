/**
 * The figures of a migration in the text format of OpenMetrics. Invariants: names and units follow the rules of
 * Prometheus, and are never changed once they are published; no label holds an id or a key value.
 */
import type { SideReport } from '../../state/runs.ts';
import type { Facts, MigrationFacts } from './facts.ts';
import { STAGES, stageOf } from './words.ts';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number | null];

interface Metric {
  /** Without the prefix `cosmig_`, and without the suffix `_total` of a counter. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'info' | 'stateset';
  readonly unit?: 'seconds';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export function metricsOf(facts: Facts, version: string): string {
  const metrics: Metric[] = [
    {
      name: 'build',
      type: 'info',
      help: 'The version of cosmig that serves these figures.',
      samples: [[{ version }, 1]],
    },
    {
      name: 'ledger_readable',
      type: 'gauge',
      help: 'Whether the ledger is there and can be read.',
      samples: [[{}, facts.is === 'known' ? 1 : 0]],
    },
    ...(facts.is === 'known' ? migrationMetrics(facts) : []),
  ];
  return `${metrics.map(textOf).join('')}# EOF\n`;
}

function migrationMetrics(facts: MigrationFacts): Metric[] {
  const { status, report, comparing, history, atMs } = facts;
  const { documents, deadLetters, proof, running, cutover } = status;
  const name = { migration: status.migration };
  const stage = stageOf(facts);
  const one = (value: number | null): readonly Sample[] => [[name, value]];
  const bySide = (of: (side: SideReport) => number | null): readonly Sample[] =>
    (['source', 'target'] as const).map((side) => [
      { ...name, side },
      report === null ? null : of(report[side]),
    ]);
  const isRunning = running !== null;
  const moves = { write: documents.written, move: documents.moved, delete: documents.deleted };
  const lastProgress = history.findLast((entry, index) => {
    const before = history[index - 1];
    return before === undefined || before.read !== entry.read || before.written !== entry.written;
  });
  return [
    {
      name: 'stage',
      type: 'stateset',
      help: 'The stage of the migration.',
      samples: STAGES.map((each) => [{ ...name, cosmig_stage: each.toLowerCase() }, each === stage ? 1 : 0]),
    },
    gauge('running', 'Whether a run holds the ledger.', one(isRunning ? 1 : 0)),
    counter('documents_read', 'Documents read from the source by all runs.', one(documents.read)),
    gauge(
      'documents_expected',
      'Documents of the source when the last run began.',
      one(report?.expected ?? null),
    ),
    counter(
      'changes_applied',
      'Documents written, moved to another key, and deleted in the target by all runs.',
      Object.entries(moves).map(([operation, value]) => [{ ...name, operation }, value]),
    ),
    gauge(
      'documents_in_flight',
      'Documents that were read and have no outcome yet.',
      one(isRunning ? (report?.inFlight ?? null) : 0),
    ),
    counter('request_units', 'Request units used by all runs.', [
      [{ ...name, side: 'source' }, status.ru.source],
      [{ ...name, side: 'target' }, status.ru.target],
    ]),
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
      'last_report_timestamp',
      'When a run last reported its progress.',
      one(report === null ? null : report.atMs / 1000),
    ),
    seconds(
      'last_progress_timestamp',
      'When a run last read or wrote a document.',
      one(lastProgress === undefined ? null : lastProgress.atMs / 1000),
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
    gauge('verifying', 'Whether a comparison is running.', one(status.verifying ? 1 : 0)),
    gauge(
      'verify_candidates',
      'Documents that may differ, and are looked at again.',
      one(comparing === null ? null : comparing.open),
    ),
    seconds(
      'last_proof_timestamp',
      'When both sides were last found equal.',
      one(proof === null ? null : Date.parse(proof.at) / 1000),
    ),
    seconds(
      'writers_stopped',
      'For how long a cutover has kept the writers of the application stopped.',
      one(cutover?.stoppedSince == null ? 0 : Math.max(0, (atMs - Date.parse(cutover.stoppedSince)) / 1000)),
    ),
  ];
}

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

/** A metric without a known value is left out: no sample is not the same as zero. */
function textOf({ name, type, unit, help, samples }: Metric): string {
  const known = samples.filter(([, value]) => value !== null);
  if (known.length === 0) return '';
  const full = `cosmig_${name}`;
  const suffix = type === 'counter' ? '_total' : type === 'info' ? '_info' : '';
  const lines = known.map(([labels, value]) => `${full}${suffix}${labelText(labels)} ${value}\n`);
  const unitLine = unit === undefined ? '' : `# UNIT ${full} ${unit}\n`;
  return `# TYPE ${full} ${type}\n${unitLine}# HELP ${full} ${escaped(help)}\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
