/**
 * One look at the files of a migration by a process that only watches it. Invariant: what is new is read in one
 * transaction with the state to which it has led.
 */
import { existsSync } from 'node:fs';
import { CosmigError } from '../../lib/errors.ts';
import { redactText } from '../../lib/log.ts';
import { readOverviewAnd, type Overview } from '../../state/reading/overview.ts';
import { retentionEndMs } from '../../state/reading/replicated.ts';
import type { JournalEntry } from '../../state/journal.ts';
import type { Run } from '../../state/runs.ts';
import { lastProgress, type RecordedProgress } from '../../verify/progress-record.ts';
import type { Proof } from '../../verify/proof-record.ts';
import { VerifyStore, verifyPath } from '../../verify/store.ts';

/** What was read. */
export interface LedgerSeen {
  readonly is: 'seen';
  readonly overview: Overview;
  /** Journal entries after the mark, the oldest first. */
  readonly entries: readonly JournalEntry[];
  /** The number of the last of them, or of the mark. */
  readonly lastEntry: number;
  /** The number of the newest entry of all. */
  readonly newestEntry: number;
  /** Runs from the mark on, the oldest first. */
  readonly runs: readonly Run[];
  readonly openLetters: number;
  /** When the source begins to forget deletes that are not replicated; null: it does not matter. */
  readonly retentionEndMs: number | null;
  /** The last proof for the settings of this migration; null: there is none. */
  readonly proof: Proof | null;
  /** What the comparison reports that is running; null: none is running, or it has reported nothing yet. */
  readonly comparing: RecordedProgress | null;
}

/** Up to where the past was read; null: nothing was read, and the past is not new. */
export interface Mark {
  /** The number of the last journal entry. */
  readonly entry: number;
  /** The number of the oldest run of which the end is not known. */
  readonly run: number;
}

export type Look =
  | LedgerSeen
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly why: string };

/** How many entries and runs are read in one look. */
const READ_MAX = 1000;

export function lookAt(path: string, mark: Mark | null): Look {
  if (!existsSync(path)) return { is: 'absent' };
  try {
    const { overview, more } = readOverviewAnd(path, ({ journal, runs, letters, history }) => {
      const newestEntry = journal.newest(1)[0]?.number ?? 0;
      const after = mark?.entry ?? newestEntry;
      const first = mark?.run ?? runs.last()?.number ?? 1;
      const entries = journal.entries({ after, limit: READ_MAX });
      return {
        entries,
        lastEntry: entries.at(-1)?.number ?? after,
        newestEntry,
        // The newest run is always among them.
        runs: runs.since(first, READ_MAX),
        openLetters: letters.openCount(),
        history: history.all(),
      };
    });
    const { history, ...found } = more;
    const { phase, deletes, createdAtMs: beganMs } = overview.migration;
    const verified = verifyPath(path);
    const proof = VerifyStore.lastProof(verified);
    return {
      is: 'seen',
      overview,
      ...found,
      retentionEndMs: retentionEndMs({ phase, deletes, beganMs, ranges: overview.leases, history }),
      proof: proof?.fingerprint === overview.migration.fingerprint ? proof : null,
      comparing: VerifyStore.isInUse(verified) ? lastProgress(verified) : null,
    };
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    return { is: 'unreadable', why: redactText(`${error.message}: ${error.why}`) };
  }
}
