/**
 * What a cutover receives from its caller and what it returns. The engine calls verify and the hooks only through
 * these functions, because it must not import verify.
 */
import type { CosmigError } from '../../lib/errors.ts';
import type { Straggler } from './source-ends.ts';
import type { ComparedUpTo } from './target-ends.ts';
import type { Suspect } from '../letters/repair.ts';
import type { ProofBasis, Repaired } from '../../state/journal.ts';
import type { KeptSource } from '../turn/next-turn.ts';

/** The outcome of comparing both sides. */
export interface ComparisonResult {
  /** Whether both sides are equal; null if the comparison could not decide. */
  readonly equal: boolean | null;
  readonly why: string;
  /** Documents to repair before the next comparison, including deleted ones whose delete no feed reports. */
  readonly suspects: readonly Suspect[];
  /** True if the list `suspects` is complete, and names only documents that the target has and the source no longer has. */
  readonly areExtra?: boolean;
  /** Whether all documents were compared, even if the requested scope was smaller. */
  readonly isWhole?: boolean;
  /** What was compared, if both sides are equal. */
  readonly basis?: ProofBasis | null;
  /** Up to where the target was compared. Absent: not known. */
  readonly targetUpTo?: ComparedUpTo;
}

/**
 * What to compare. `changes`: documents changed since the last clean verify, or all documents if a side has another
 * number of documents than the ledger expects. `all`: all documents. `what differed`: only documents in which the
 * last comparison found a difference. `writes`: documents changed since the last clean comparison, without regard to
 * the numbers of documents.
 */
export type CompareScope = 'changes' | 'all' | 'what differed' | 'writes';

/** What a cutover is doing now, for progress displays. */
export interface Step {
  readonly name:
    | 'catching up'
    | 'stopping writers'
    | 'draining'
    | 'watching the fence'
    | 'comparing'
    | 'repairing'
    | 'resuming writers'
    | 'after the commit'
    | 'watching for late writes';
  /** When the writers were stopped, by the run's clock; null while writers may write. */
  readonly stoppedAtMs: number | null;
}

/** Changes time to live after a commit; absent functions have nothing to do. */
export interface TtlChanges {
  /** Restores the time to live of the target, which was paused while it was not in use. Returns false if it was not. */
  readonly restore?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Pauses the time to live of the source, which is kept. Returns false if it has none. */
  readonly pause?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
}

export interface AfterCommitOptions {
  readonly ttl?: TtlChanges;
  /** The hook that switches the application to the target; null: none was given. */
  readonly onCommit: ((signal: AbortSignal) => Promise<void>) | null;
  /** Names of the target's settings to set to the source's values. */
  readonly likeSource?: readonly string[];
  /** Changes the named settings, and reports every other setting that differs. */
  readonly applySettings?: (
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly SettingOutcome[]>;
  readonly say: (text: string) => void;
  /**
   * Before the commit: how long the source must receive no write. After the commit: how long to wait between two looks at
   * the source for late writes.
   */
  readonly quietMs: number;
  /** How long to watch the source for late writes after the commit. */
  readonly watchMs: number;
  readonly onStep?: (step: Step) => void;
}

export interface CutoverOptions extends AfterCommitOptions {
  /** The hook that stops the application's writers; null: the operator has stopped them. */
  readonly stopWriters: ((signal: AbortSignal) => Promise<void>) | null;
  /** The hook that lets writers resume after a back-out; null if the operator has to do it. */
  readonly onAbort: ((why: string) => Promise<void>) | null;
  /** Returns when a comparison of all documents was last clean; null if none ever was. */
  readonly lastCleanMs: () => number | null;
  /** Throws if there is no clean comparison because the last one has found differences. */
  readonly refuseDifferences?: () => void;
  /** Returns how long the last clean comparison of all documents needed to read both sides; null: not known. */
  readonly compareAllMs?: () => number | null;
  readonly prove: (signal: AbortSignal, scope: CompareScope) => Promise<ComparisonResult>;
  /** The longest time from stopping the writers to the commit. After that the cutover backs out. */
  readonly deadlineMs: number;
  /**
   * Makes a way back: checks before the writers are stopped whether the application could return to the source, and
   * returns how the source is kept. Null or absent: there is no way back.
   */
  readonly keepSource?: ((signal: AbortSignal) => Promise<KeptSource | null>) | null | undefined;
}

/** A setting that differed between target and source. */
export interface SettingOutcome {
  readonly setting: string;
  /** The setting as it is in the source, in words for the operator. */
  readonly source: string;
  readonly target: string;
  /** `asked`: set to the source's value on request. `reported`: differs, not requested. `refused`: the change failed. */
  readonly outcome: 'asked' | 'reported' | 'refused';
  readonly why?: string;
}

export interface CutoverResult {
  readonly committedAtMs: number;
  /** How long writers were stopped. */
  readonly stoppedMs: number;
  /** What had been compared at the commit; null: not known. */
  readonly proof: ProofBasis | null;
  /** What was repaired while writers were stopped. */
  readonly repaired: Repaired;
  readonly settings: readonly SettingOutcome[];
  /** Why the settings could not be checked; null if they were. */
  readonly trouble: CosmigError | null;
  readonly lateWrites: readonly Straggler[];
  /** Whether a hook has switched the application. Otherwise the operator has to. */
  readonly isSwitched: boolean;
}
