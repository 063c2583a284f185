/** The state of a migration as `status --json` reports it; the text for people is rendered from the same object. */
import { migrationName } from '../spec/migration-name.ts';
import type { Overview } from '../state/overview.ts';
import { cutoverOf, type CutoverStatus } from './cutover-history.ts';
import { isoTime } from './format.ts';
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
  /** When the ledger was created; all times are ISO 8601. */
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
  /** Its members are null while a run holds the lock but has not recorded itself yet. */
  readonly running: { readonly pid: number | null; readonly since: string | null } | null;
  /** What the current run, or the last one, recorded most recently; null when it recorded nothing. */
  readonly seen: {
    readonly at: string;
    /** Null: a range is being copied, or the lag is unknown. */
    readonly lagSeconds: number | null;
    readonly waitsFor: string | null;
    /** How many documents the source had when the run began. */
    readonly expected: number | null;
  } | null;
  /** When a whole comparison last found both sides equal; null: never, or a later one found differences. */
  readonly proof: { readonly at: string } | null;
  /** A comparison is running now. */
  readonly verifying: boolean;
  /** The last cutover that passed its gate. */
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
  /** The feed of this range has lost deletes: deleted documents may still be in the target. */
  readonly sweepPending: boolean;
}

export interface RunStatus {
  readonly command: string;
  readonly pid: number;
  readonly began: string;
  /** Null: it is still running, or it was killed. */
  readonly ended: string | null;
  readonly outcome: string | null;
}

/** A proof counts only for the spec it was made with. */
interface Proven {
  readonly atMs: number;
  readonly fingerprint: string;
}

export function buildStatus(
  ledger: string,
  overview: Overview,
  { lastProof, isVerifying }: { readonly lastProof: Proven | null; readonly isVerifying: boolean },
): Status {
  const { migration, leases, counters } = overview;
  const { source, target, sourceEndpoint, targetEndpoint } = migration.pinned;
  const total = (name: string): number => counters[name] ?? 0;
  const deadLetters = lettersOf(overview);
  const proof = lastProof?.fingerprint === migration.fingerprint ? { at: isoTime(lastProof.atMs) } : null;
  const status: Omit<Status, 'next'> = {
    command: 'status',
    migration: migrationName(migration.pinned),
    ledger,
    phase: migration.phase,
    source,
    target,
    endpoints: { source: sourceEndpoint, target: targetEndpoint },
    partitionKey: textsIn(migration.pinned.partitionKey),
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
    },
    ru: { source: total('ruSource'), target: total('ruTarget') },
    throttled: total('throttled'),
    deadLetters,
    deletes: migration.deletes,
    lastRun: lastRunOf(overview),
    running: runningOf(overview),
    seen: seenOf(overview),
    proof,
    // A cutover compares both sides itself, and is shown as the cutover.
    verifying: isVerifying && !(overview.isRunning && overview.lastRun?.command === 'cutover'),
    cutover: cutoverOf(overview),
  };
  return { ...status, next: adviseNext(status) };
}

/** A list of texts that the ledger holds as JSON. */
function textsIn(json: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.map(String) : [json];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The ledger is damaged; status shows what is there.
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
  const { atMs, ...report } = lastRun.report;
  return { at: isoTime(atMs), ...report };
}

function lastRunOf({ lastRun }: Overview): RunStatus | null {
  if (lastRun === null) return null;
  const { command, pid, startedAtMs, endedAtMs, outcome } = lastRun;
  const ended = endedAtMs === null ? null : isoTime(endedAtMs);
  return { command, pid, began: isoTime(startedAtMs), ended, outcome };
}

function runningOf({ isRunning, lastRun }: Overview): Status['running'] {
  if (!isRunning) return null;
  if (lastRun === null || lastRun.endedAtMs !== null) return { pid: null, since: null };
  return { pid: lastRun.pid, since: isoTime(lastRun.startedAtMs) };
}
