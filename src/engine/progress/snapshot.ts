/** The progress of a run: one frozen snapshot, from which the live line, the result and `--json` are made. */
import type { InFlightNow } from '../../cosmos/load/flights.ts';
import type { AdoptionCounts } from '../map/adoption-counts.ts';
import type { LeasePhase } from '../../state/leases.ts';
import type { SideReport, StepReport } from '../../state/runs.ts';

export interface RunSnapshot {
  /** Name of the migration. */
  readonly migration: string;
  readonly goal: Goal;
  readonly phase: string;
  /** Whether the run has reached its goal. */
  readonly complete: boolean;
  /** How many documents this run has read, written, and so on. */
  readonly documents: {
    readonly read: number;
    readonly written: number;
    readonly deleted: number;
    readonly moved: number;
    /** Dead letters that are open now, including those of earlier runs. */
    readonly deadLettered: number;
    /** Versions read with an integer beyond 2^53; absent: none. */
    readonly longIntegers?: number;
  };
  readonly ru: { readonly source: number; readonly target: number };
  /** How many operations and reads the service answered with 429. */
  readonly throttled: number;
  readonly durationMs: number;
  /** Lag of the range that is farthest behind; null while a range is being copied. */
  readonly lagSeconds: number | null;
  readonly ranges: ReadonlyArray<Readonly<Pick<RangeProgress, 'id' | 'min' | 'max' | 'phase' | 'documents'>>>;
  /** What the run is waiting for, in a few words; null while documents are moving. */
  readonly waitsFor: string | null;
  /** Whether a full comparison is needed, to find deletes that no feed has reported. */
  readonly sweepPending: boolean;
  /** What was in a target that is adopted, when this run counted it. */
  readonly adoption?: AdoptionCounts;
  readonly outlook: Outlook;
  readonly load: RunLoad;
}

/** Figures from which the displays compute how much is left. */
export interface Outlook {
  /** The number of documents in the source when this run began; null if the service does not report it. */
  readonly documents: number | null;
  /** Documents read by earlier runs. */
  readonly readBefore: number;
  /** Finished documents of pages that are not committed yet. `RunSnapshot.documents` does not include these. */
  readonly uncommitted: number;
  /** The RU/s that the run may use of the target; null if they are not known. */
  readonly targetRu: number | null;
}

/** What a run is doing on both sides. */
export interface RunLoad {
  /** How many documents were read and have no outcome yet. */
  readonly inFlight: number;
  /** The pages of these documents, until they are committed. */
  readonly pages: InFlightNow;
  readonly source: SideReport;
  readonly target: SideReport;
  /** The steps of a cutover that have begun. */
  readonly steps: readonly StepReport[];
}

/** The progress of one range of the source. The range's lease updates it while the run lasts. */
export interface RangeProgress {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  phase: LeasePhase;
  documents: number;
  /** The time of the newest committed change, in seconds, by the service's clock. */
  lastTs: number | null;
  /** When the range's feed last had no more changes and all earlier changes were committed. */
  caughtUpMs: number | null;
  /** When the feed request in flight was sent; null while no request is in flight. */
  askedMs: number | null;
}

/**
 * What a run has to reach. `copy` ends at the anchors. `catch-up` ends where the feeds ended when the run began. `tail`
 * ends when the operator stops it.
 */
export type Goal = 'copy' | 'tail' | 'catch-up';
