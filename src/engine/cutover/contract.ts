/** What a cutover is given by its caller and what it returns; verify and the hooks reach the engine through it. */
import type { CosmigError } from '../../lib/errors.ts';
import type { Straggler } from './source-ends.ts';
import type { Suspect } from '../letters/repair.ts';

/** The outcome of comparing both sides. */
export interface ComparisonResult {
  /** Null: not proven either way. */
  readonly equal: boolean | null;
  readonly why: string;
  /** Documents to repair before the next comparison; deletes that no feed reports are among them. */
  readonly suspects: readonly Suspect[];
  /** `suspects` are all the differences there are, and each is in the target but no longer in the source. */
  readonly areExtra?: boolean;
  /** All documents were compared, whatever scope was asked for. */
  readonly isWhole?: boolean;
}

/**
 * What to compare: documents changed since the last clean verify (and everything, if the counts differ); all documents; or
 * only those in which the last comparison found a difference.
 */
export type CompareScope = 'changes' | 'all' | 'what differed';

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
  /** When writers were stopped, by the run's clock; null while they may write. */
  readonly stoppedAtMs: number | null;
}

export interface AfterCommitOptions {
  /** The hook that switches the application to the target. */
  readonly onCommit: (signal: AbortSignal) => Promise<void>;
  /** Names of the target's settings to set to the source's values. */
  readonly likeSource?: readonly string[];
  /** Changes the named settings, and reports every other setting that differs. */
  readonly applySettings?: (
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly SettingOutcome[]>;
  readonly say: (text: string) => void;
  /** The source must receive no write for this long. */
  readonly quietMs: number;
  /** How long to watch the source for late writes after the commit. */
  readonly watchMs: number;
  readonly onStep?: (step: Step) => void;
}

export interface CutoverOptions extends AfterCommitOptions {
  /** The hook that stops the application's writers; does nothing if the operator has stopped them. */
  readonly stopWriters: (signal: AbortSignal) => Promise<void>;
  /** The hook that lets writers resume after a back-out; null: the operator has to do it. */
  readonly onAbort: ((why: string) => Promise<void>) | null;
  /** When a comparison of all documents was last clean; null: never. */
  readonly lastCleanMs: () => number | null;
  readonly prove: (signal: AbortSignal, scope: CompareScope) => Promise<ComparisonResult>;
  /** Longest time from stopping the writers to the commit; after that the cutover backs out. */
  readonly deadlineMs: number;
}

/** A setting that differed between target and source. */
export interface SettingOutcome {
  readonly setting: string;
  /** Values as text for people. */
  readonly source: string;
  readonly target: string;
  /** asked: set to the source's value on request. reported: differs, not requested. refused: the change failed. */
  readonly outcome: 'asked' | 'reported' | 'refused';
  readonly why?: string;
}

export interface CutoverResult {
  readonly committedAtMs: number;
  /** How long writers were stopped. */
  readonly stoppedMs: number;
  readonly settings: readonly SettingOutcome[];
  /** Why the settings could not be checked; null: they were. */
  readonly trouble: CosmigError | null;
  readonly lateWrites: readonly Straggler[];
}
