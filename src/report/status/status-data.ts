/** The state of a migration as `status --json` reports it. The text for people is rendered from the same object. */
import { describeChanges } from '../../state/source-change.ts';
import { isSwitch } from '../../state/runs.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import type { Overview } from '../../state/reading/overview.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';
import type { LastVerdict } from '../../verify/last-verdict.ts';
import { cutoverOf } from './cutover-history.ts';
import { isoTime } from '../format.ts';
import type { StatusResult } from '../json/ledger-results.ts';
import { comparisonOf } from './last-comparison.ts';
import { adviseNext, afterFinish } from './status-advice.ts';
import { adviseWayBack, hasEnded, wayBackOf, type Turns, type Unsafe } from './way-back.ts';

export type Status = StatusResult;
export type RangeStatus = Status['ranges'][number];
type RunStatus = NonNullable<Status['lastRun']>;

/** The last proof. A proof counts only for the spec with which it was made. */
interface Proven {
  readonly atMs: number;
  readonly fingerprint: string;
  /** When its reading began, if that is known: later writes may be missing in it. */
  readonly comparedFromMs: number;
  /** How long the last comparison of all documents took to read both sides; null: not known. */
  readonly readMs: number | null;
}

interface StatusParts {
  readonly lastProof: Proven | null;
  /** What the last comparison has found; absent: not shown. */
  readonly lastVerdict?: LastVerdict | null;
  readonly isVerifying: boolean;
  /** The turns of the migration; absent: the way back is not shown. */
  readonly turns?: Turns | null;
  /** The recorded moments; only the way back is made from them. */
  readonly history?: readonly HistoryEntry[];
  readonly nowMs?: number;
}

export function buildStatus(
  ledger: string,
  overview: Overview,
  { lastProof, lastVerdict = null, isVerifying, turns = null, history = [], nowMs = 0 }: StatusParts,
): Status {
  const { migration, leases, counters } = overview;
  const { source, target, sourceEndpoint, targetEndpoint } = migration.pinned;
  const total = (name: string): number => counters[name] ?? 0;
  const deadLetters = lettersOf(overview);
  const proven = lastProof?.fingerprint === migration.fingerprint ? lastProof : null;
  const proof = proven === null ? null : { at: isoTime(proven.atMs) };
  const status: Omit<Status, 'next' | 'wayBack'> = {
    command: 'status',
    migration: migrationName(migration.pinned),
    ledger,
    phase: migration.phase,
    source,
    target,
    endpoints: { source: sourceEndpoint, target: targetEndpoint },
    partitionKey: keyOf(overview, turns),
    began: isoTime(migration.createdAtMs),
    ranges: leases.map(({ rangeId, min, max, phase, documents, sweepPending }) => {
      return { id: rangeId, min, max, phase, documents, sweepPending };
    }),
    documents: {
      read: total('documentsRead'),
      written: total('documentsWritten'),
      deleted: total('documentsDeleted'),
      moved: total('documentsMoved'),
      deadLettered: deadLetters.open,
      ...(total('longIntegers') > 0 ? { longIntegers: total('longIntegers') } : {}),
    },
    ru: { source: total('ruSource'), target: total('ruTarget') },
    throttled: total('throttled'),
    deadLetters,
    deletes: migration.deletes,
    lastRun: lastRunOf(overview),
    running: runningOf(overview),
    seen: seenOf(overview),
    proof,
    lastComparison: lastVerdict?.fingerprint === migration.fingerprint ? comparisonOf(lastVerdict) : null,
    lastCommit: turns?.lastCommit ?? null,
    // A cutover compares both sides itself. Such a comparison is shown as part of the cutover, not as a verify.
    verifying: isVerifying && !(overview.isRunning && isSwitch(overview.lastRun?.command)),
    cutover: cutoverOf(overview),
  };
  const unsafe = unsafeIn(overview, proven);
  const known = { proof: proven, history, report: overview.lastRun?.report ?? null };
  const wayBack = turns === null ? null : wayBackOf(status, { ...turns, ...known, unsafe }, nowMs);
  const advice =
    adviseWayBack(wayBack, status, unsafe) ?? adviseNext({ ...status, wayBack }, overview.adoption);
  const next = wayBack?.state === 'ended' ? afterFinish(advice) : advice;
  const isOver = hasEnded({ ...status, wayBack }) && status.running === null;
  // What was behind at the end of the last run is behind for good.
  const seen =
    isOver && status.seen !== null ? { ...status.seen, lagSeconds: null, waitsFor: null } : status.seen;
  return { ...status, seen, wayBack, next };
}

/**
 * Returns the key of the container to which this turn moves data. The settings name the key of the migration's target. On
 * the way back, the key is that of the first source, which only a run has seen: it is empty until one has reported it.
 */
function keyOf({ migration, lastRun }: Overview, turns: Turns | null): readonly string[] {
  if (turns === null || !leadsBack(turns.shown.number)) return textsIn(migration.pinned.partitionKey);
  return lastRun?.report?.target.keyPaths ?? [];
}

/** Returns what makes a return unsafe since the last comparison of all documents. */
function unsafeIn(
  { writtenByOthers, recreated, unusableRanges, leases }: Overview,
  proven: Proven | null,
): Unsafe {
  const comparedFromMs = proven === null ? 0 : proven.comparedFromMs;
  const since = writtenByOthers.filter(({ atMs }) => atMs >= comparedFromMs);
  const byOthers =
    since.length === 0 ? [] : [`another process has written to the target: ${describeChanges(since)}`];
  const forgotten = leases.filter(({ sweepPending }) => sweepPending).map(({ rangeId }) => rangeId);
  const ranges = `${forgotten.length === 1 ? 'range' : 'ranges'} ${forgotten.join(', ')}`;
  const missed = `deletes or renames in ${ranges} of the source were not reported`;
  const lost = recreated === null ? [] : [`the ${recreated} was deleted and created again`];
  const unusable =
    unusableRanges === null
      ? []
      : [`the last run could not use the ranges of the ${unusableRanges.container}: ${unusableRanges.what}`];
  return { lost, ranges: unusable, byOthers, missed: forgotten.length === 0 ? [] : [missed] };
}

/** Returns a list of texts that the ledger holds as JSON. */
export function textsIn(json: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.map(String) : [json];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The ledger is damaged; status shows the text as it is.
    return [json];
  }
}

function lettersOf({ letters }: Overview): Status['deadLetters'] {
  const inState = (state: string): number =>
    letters.reduce((sum, row) => (row.state === state ? sum + row.letters : sum), 0);
  const open = letters.filter(({ state }) => state === 'open');
  return {
    open: inState('open'),
    reasons: Object.fromEntries(open.map(({ reason, letters: number }) => [reason, number])),
    closed: inState('closed'),
    discarded: inState('discarded'),
  };
}

function seenOf({ lastRun }: Overview): Status['seen'] {
  if (lastRun === null || lastRun.report === null) return null;
  const { atMs, lagSeconds, waitsFor, expected } = lastRun.report;
  return { at: isoTime(atMs), lagSeconds, waitsFor, expected };
}

function lastRunOf({ lastRun }: Overview): RunStatus | null {
  if (lastRun === null) return null;
  const { command, pid, startedAtMs, endedAtMs, outcome, why } = lastRun;
  const ended = endedAtMs === null ? null : isoTime(endedAtMs);
  return { command, pid, began: isoTime(startedAtMs), ended, outcome, why };
}

function runningOf({ isRunning, lastRun }: Overview): Status['running'] {
  if (!isRunning) return null;
  if (lastRun === null || lastRun.endedAtMs !== null) return { pid: null, since: null };
  return { pid: lastRun.pid, since: isoTime(lastRun.startedAtMs) };
}
