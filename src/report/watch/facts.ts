/**
 * What the page of a migration shows, read from its files. The run writes them every second, so the page needs nothing
 * from the run, and survives its end and its crash. Invariants: no lock is taken and no byte is changed; a file that
 * cannot be read is a fact to show, not the end of the page.
 */
import { existsSync } from 'node:fs';
import { CosmigError } from '../../lib/errors.ts';
import { planOfLedger, type PlanRecord } from '../../plan/reading/plan-record.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import type { Letter } from '../../state/dead-letters.ts';
import type { JournalEntry } from '../../state/journal.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';
import { readOverviewAnd, type Overview } from '../../state/reading/overview.ts';
import { isSwitch, type Run, type RunReport } from '../../state/runs.ts';
import { lastVerdict } from '../../verify/last-verdict.ts';
import { lastProgress, type RecordedProgress } from '../../verify/progress-record.ts';
import { lastSpread, type PartitionCount } from '../../verify/spread.ts';
import { VerifyStore, verifyPath } from '../../verify/store.ts';
import { formatAge } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import { provenIn } from '../status/read-status.ts';
import type { Turns } from '../status/way-back.ts';
import { buildStatus, textsIn, type Status } from '../status/status-data.ts';

/** The state of a migration at one moment. */
export interface MigrationFacts {
  readonly is: 'known';
  readonly atMs: number;
  readonly status: Status;
  /** What the run last reported; null: no run has reported anything. */
  readonly report: RunReport | null;
  /** What the comparison reports that is running; null: none is running, or it has reported nothing yet. */
  readonly comparing: RecordedProgress | null;
  /** Documents that were replaced in place, of those that were written. */
  readonly replaced: number;
  /** The documents of the partitions of the target, as the last comparison has counted them; empty: none has. */
  readonly counted: readonly PartitionCount[];
  readonly history: readonly HistoryEntry[];
  /** The newest events, the oldest first. */
  readonly events: readonly JournalEntry[];
  /** The newest runs that were stopped, have failed or died, the newest first. */
  readonly brokenRuns: readonly Run[];
  /** The newest open dead letters. */
  readonly letters: readonly Letter[];
  /** The key of the target as the operator gave it. */
  readonly key: { readonly paths: readonly string[]; readonly derive: readonly string[] };
  readonly plan: PlanFacts;
  /** Whether this turn moves data back, so that the engine's source is the target of the migration. */
  readonly leadsBack: boolean;
  /** Whether the data moves forth again after a rollback, so that the figures are those since then. */
  readonly isAgain: boolean;
  /** When `cosmig finish` ended the way back; null: it has not. */
  readonly finishedAtMs: number | null;
  /** Whether the page is kept as a file, so that only moments stay true, and no age does. */
  readonly isSaved?: boolean;
}

/** Returns when something happened: `7 s ago`, on a page that is kept the moment itself. */
export function whenText({ atMs, isSaved }: Pick<Facts, 'atMs' | 'isSaved'>, thenMs: number): string {
  return isSaved === true ? `at ${formatTime(thenMs)}` : `${formatAge(atMs - thenMs)} ago`;
}

/** Whether a run works and has recorded itself: what was reported last is of this run. */
export function isReporting({ status: { running } }: MigrationFacts): boolean {
  return running !== null && running.since !== null;
}

/** What was planned; null: nothing, or another container. */
export type PlanFacts = PlanRecord | { readonly is: 'unreadable'; readonly why: string } | null;

/** Why there is nothing to show. */
export interface NothingToShow {
  readonly is: 'absent' | 'unreadable';
  readonly atMs: number;
  readonly ledger: string;
  readonly why: string;
  readonly plan: PlanFacts;
  readonly isSaved?: boolean;
}

export type Facts = MigrationFacts | NothingToShow;

export const EVENTS_SHOWN = 12;
const LETTERS_SHOWN = 6;

/** `turns`: the turns of the migration, for what a page says of the way back. */
export function readFacts(ledgerPath: string, atMs: number, turns: Turns | null = null): Facts {
  if (!existsSync(ledgerPath))
    return {
      is: 'absent',
      atMs,
      ledger: ledgerPath,
      why: 'cosmig copy will create it',
      plan: readPlan(ledgerPath),
    };
  try {
    return readKnown(ledgerPath, atMs, turns);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    const why = `${error.message}: ${error.why}`;
    return { is: 'unreadable', atMs, ledger: ledgerPath, why, plan: null };
  }
}

function readPlan(ledgerPath: string): PlanFacts {
  try {
    return planOfLedger(ledgerPath);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    return { is: 'unreadable', why: `${error.message}: ${error.why}` };
  }
}

/** Returns the plan if it is of the source of this migration. */
function planFor(ledgerPath: string, { migration }: Overview): PlanFacts {
  const found = readPlan(ledgerPath);
  if (found?.is !== 'made') return found;
  const { containers, pinned } = migration;
  const isSame = containers === null || containers.sourceRid === found.sourceRid;
  return isSame && found.summary.source === pinned.source ? found : null;
}

/** What the comparison that runs now reports. A cutover holds the file from its beginning, and compares later. */
function progressNow(
  verified: string,
  { isRunning, lastRun }: Overview,
  provenMs: number,
): RecordedProgress | null {
  const progress = lastProgress(verified);
  // It is of a comparison that has ended, while the file is still held.
  if (progress === null || progress.atMs <= provenMs) return null;
  if (!isRunning || !isSwitch(lastRun?.command)) return progress;
  const step = lastRun?.report?.steps.at(-1);
  return step?.name === 'comparing' && progress.atMs >= step.atMs ? progress : null;
}

function readKnown(ledgerPath: string, atMs: number, turns: Turns | null): MigrationFacts {
  const {
    overview,
    more: { notDone, ...more },
  } = readOverviewAnd(ledgerPath, (ledger) => ({
    history: ledger.history.all(),
    events: ledger.journal.newest(EVENTS_SHOWN),
    letters: ledger.letters.newest(LETTERS_SHOWN),
    notDone: ledger.runs.notDone(EVENTS_SHOWN + 1),
  }));
  const verified = verifyPath(ledgerPath);
  const lastProof = provenIn(verified);
  const isVerifying = VerifyStore.isInUse(verified);
  const spread = lastSpread(verified);
  const status = buildStatus(ledgerPath, overview, {
    lastProof,
    lastVerdict: lastVerdict(verified),
    isVerifying,
    turns,
    history: more.history,
    nowMs: atMs,
  });
  return {
    is: 'known',
    atMs,
    status,
    report: overview.lastRun?.report ?? null,
    replaced: overview.counters['documentsReplaced'] ?? 0,
    counted: spread?.fingerprint === overview.migration.fingerprint ? spread.counts.target : [],
    comparing: isVerifying ? progressNow(verified, overview, lastProof?.atMs ?? 0) : null,
    key: {
      paths: textsIn(overview.migration.pinned.partitionKey),
      derive: textsIn(overview.migration.pinned.derive),
    },
    plan: planFor(ledgerPath, overview),
    leadsBack: turns !== null && leadsBack(turns.shown.number),
    isAgain: turns !== null && turns.shown.number > 0 && !leadsBack(turns.shown.number),
    finishedAtMs: turns?.newest.from?.endedAtMs ?? null,
    brokenRuns: notDone.filter(({ number }) => !overview.isRunning || number !== overview.lastRun?.number),
    ...more,
  };
}
