/** The progress of a run: one frozen snapshot, from which the live line, the result and `--json` are made. */
import type { LeasePhase } from '../../state/leases.ts';

export interface RunSnapshot {
  /** Name of the migration. */
  readonly migration: string;
  readonly goal: Goal;
  readonly phase: string;
  /** The run has reached its goal. */
  readonly complete: boolean;
  /** Documents of this run. */
  readonly documents: {
    readonly read: number;
    readonly written: number;
    readonly deleted: number;
    readonly moved: number;
    /** Dead letters open now, whichever run opened them. */
    readonly deadLettered: number;
  };
  readonly ru: { readonly source: number; readonly target: number };
  /** Operations and reads that the service answered with 429. */
  readonly throttled: number;
  readonly durationMs: number;
  /** Lag of the range that is farthest behind; null while a range is being copied. */
  readonly lagSeconds: number | null;
  readonly ranges: ReadonlyArray<Readonly<Pick<RangeProgress, 'id' | 'min' | 'max' | 'phase' | 'documents'>>>;
  /** What the run is waiting for, in a few words; null when it works. */
  readonly waitsFor: string | null;
  /** Deletes that no feed reports are yet to be applied. */
  readonly sweepPending: boolean;
  readonly outlook: Outlook;
}

/** What the other figures are measured against. */
export interface Outlook {
  /** Documents in the source when this run began; null: the service does not say. */
  readonly documents: number | null;
  /** Documents read by earlier runs. */
  readonly readBefore: number;
  /** Documents finished in pages that are not committed yet; `documents` does not count them. */
  readonly uncommitted: number;
  /** RU/s that the target may be asked for; null: not known. */
  readonly targetRu: number | null;
}

/** One range of the source; its lease keeps it current while the run lasts. */
export interface RangeProgress {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  phase: LeasePhase;
  documents: number;
  /** Service time of the newest committed change, in seconds. */
  lastTs: number | null;
  /** When its feed last had nothing more, and everything before that was committed. */
  caughtUpMs: number | null;
  /** When the feed request in flight was sent; null while there is none. */
  askedMs: number | null;
}

/** `copy` ends at the anchors, `catch-up` where the feeds ended when the run began, `tail` when it is stopped. */
export type Goal = 'copy' | 'tail' | 'catch-up';
