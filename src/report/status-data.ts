/** What a ledger says, in the words of `status --json`; the text for people is made of the same object. */
import { migrationName } from '../spec/migration-name.ts';
import type { Overview } from '../state/overview.ts';
import { cutoverOf, type CutoverStatus } from './cutover-history.ts';
import { adviseNext } from './status-advice.ts';

export interface Status {
  readonly command: 'status';
  /** As `shop/orders -> shop/orders-by-tenant`. */
  readonly migration: string;
  readonly ledger: string;
  readonly phase: string;
  readonly source: string;
  readonly target: string;
  readonly endpoints: { readonly source: string; readonly target: string };
  readonly partitionKey: readonly string[];
  /** When the ledger was made; times are ISO 8601. */
  readonly began: string;
  readonly ranges: readonly RangeStatus[];
  readonly documents: {
    readonly read: number;
    readonly written: number;
    readonly deleted: number;
    readonly moved: number;
    readonly deadLettered: number;
  };
  readonly ru: { readonly source: number; readonly target: number };
  readonly throttled: number;
  readonly deadLetters: {
    readonly open: number;
    /** Of the open ones. */
    readonly reasons: Readonly<Record<string, number>>;
    readonly closed: number;
    readonly discarded: number;
  };
  /** Null until it is decided. */
  readonly deletes: string | null;
  readonly lastRun: RunStatus | null;
  /** Its parts are null for the moment in which a run has the lock and has not said who it is. */
  readonly running: { readonly pid: number | null; readonly since: string | null } | null;
  /** How the run that is on goes, or how the last one went when it was seen last; null when it has not said. */
  readonly seen: {
    readonly at: string;
    /** Null: a range is being copied, or nobody knows. */
    readonly lagSeconds: number | null;
    readonly waitsFor: string | null;
    /** How many documents the source had. */
    readonly expected: number | null;
  } | null;
  /** When a whole comparison has last found both sides equal. */
  readonly proof: { readonly at: string } | null;
  /** A comparison is at work now. */
  readonly verifying: boolean;
  /** The last one that has passed its gate. */
  readonly cutover: CutoverStatus | null;
  /** What to do now. */
  readonly next: string;
}

export interface RangeStatus {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly phase: string;
  readonly documents: number;
  /** Retention was exceeded here, and what was deleted meanwhile is still in the target. */
  readonly sweepPending: boolean;
}

export interface RunStatus {
  readonly command: string;
  readonly pid: number;
  readonly began: string;
  /** Null: it is the one that runs, or it was killed. */
  readonly ended: string | null;
  readonly outcome: string | null;
}

/** A comparison of another spec has proven nothing about this one. */
interface Proven {
  readonly atMs: number;
  readonly fingerprint: string;
}

export function statusOf(
  ledger: string,
  overview: Overview,
  { lastProof, isVerifying }: { readonly lastProof: Proven | null; readonly isVerifying: boolean },
): Status {
  const { migration, leases, counters } = overview;
  const { source, target, sourceEndpoint, targetEndpoint } = migration.pinned;
  const total = (name: string): number => counters[name] ?? 0;
  const deadLetters = lettersOf(overview);
  const proof = lastProof?.fingerprint === migration.fingerprint ? { at: isoOf(lastProof.atMs) } : null;
  const status: Omit<Status, 'next'> = {
    command: 'status',
    migration: migrationName(migration.pinned),
    ledger,
    phase: migration.phase,
    source,
    target,
    endpoints: { source: sourceEndpoint, target: targetEndpoint },
    partitionKey: textsIn(migration.pinned.partitionKey),
    began: isoOf(migration.createdAtMs),
    ranges: leases.map(({ rangeId, min, max, phase, documents, sweepPending }) => {
      return { id: rangeId, min, max, phase, documents, sweepPending };
    }),
    documents: {
      read: total('documentsRead'),
      written: total('documentsWritten'),
      deleted: total('documentsDeleted'),
      moved: total('documentsMoved'),
      deadLettered: deadLetters.open,
    },
    ru: { source: total('ruSource'), target: total('ruTarget') },
    throttled: total('throttled'),
    deadLetters,
    deletes: migration.deletes,
    lastRun: lastRunOf(overview),
    running: runningOf(overview),
    seen: seenOf(overview),
    proof,
    // A cutover compares by itself.
    verifying: isVerifying && !(overview.isRunning && overview.lastRun?.command === 'cutover'),
    cutover: cutoverOf(overview),
  };
  return { ...status, next: adviseNext(status) };
}

/** A list of texts that was pinned as JSON. */
function textsIn(json: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.map(String) : [json];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Damaged; whoever looks gets to see what there is.
    return [json];
  }
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
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
  const { atMs, ...report } = lastRun.report;
  return { at: isoOf(atMs), ...report };
}

function lastRunOf({ lastRun }: Overview): RunStatus | null {
  if (lastRun === null) return null;
  const { command, pid, startedAtMs, endedAtMs, outcome } = lastRun;
  const ended = endedAtMs === null ? null : isoOf(endedAtMs);
  return { command, pid, began: isoOf(startedAtMs), ended, outcome };
}

function runningOf({ isRunning, lastRun }: Overview): Status['running'] {
  if (!isRunning) return null;
  if (lastRun === null || lastRun.endedAtMs !== null) return { pid: null, since: null };
  return { pid: lastRun.pid, since: isoOf(lastRun.startedAtMs) };
}
