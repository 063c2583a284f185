/** What a cutover is given, asks for and tells: everything that its steps share. */
import type { CosmigError } from '../../lib/errors.ts';
import type { Straggler } from './source-ends.ts';
import type { Suspect } from '../letters/repair.ts';

/** What a comparison of both sides said. */
export interface Proof {
  readonly equal: boolean | null;
  readonly why: string;
  /** Documents to bring right before it is asked again; deletes that no feed has told of are among them. */
  readonly suspects: readonly Suspect[];
  /** These are all that differ, and every one of them is in the target and not in the source any more. */
  readonly areExtra?: boolean;
  /** All documents were compared, whatever was asked for. */
  readonly isWhole?: boolean;
}

/**
 * What is compared: what has changed since the last clean verify, and everything only where the numbers differ; or all; or
 * what the comparison before has found to differ, and was brought right since.
 */
export type Scope = 'changes' | 'all' | 'what differed';

/** What a cutover is at, for whoever watches. */
export interface Step {
  readonly name:
    | 'catching up'
    | 'stopping writers'
    | 'draining'
    | 'watching the fence'
    | 'proving'
    | 'bringing right'
    | 'letting writers on'
    | 'after the commit'
    | 'watching for late writes';
  /** Since when writers are stopped, by the run's clock; null while they may write. */
  readonly stoppedAtMs: number | null;
}

export interface AfterParts {
  /** Called after the commit. */
  readonly onCommit: (signal: AbortSignal) => Promise<void>;
  /** Settings of the target that are to be made like the source's. */
  readonly likeSource?: readonly string[];
  /** Does so, and tells of the others. */
  readonly putRight?: (names: readonly string[], signal: AbortSignal) => Promise<readonly SettingTold[]>;
  readonly say: (text: string) => void;
  /** How long nobody may have written. */
  readonly quietMs: number;
  /** How long the source is watched afterwards. */
  readonly watchMs: number;
  readonly onStep?: (step: Step) => void;
}

export interface CutoverParts extends AfterParts {
  /** Stops the application's writers; nothing to do if the operator has stopped them. */
  readonly stopWriters: (signal: AbortSignal) => Promise<void>;
  /** Called after every way back to tailing; null where nothing lets the writers on again but the operator. */
  readonly onAbort: ((why: string) => Promise<void>) | null;
  /** When both sides were last found equal, by the whole comparison; null: never. */
  readonly lastCleanMs: () => number | null;
  readonly prove: (signal: AbortSignal, scope: Scope) => Promise<Proof>;
  /** From the stop of the writers to the commit; then it backs out. */
  readonly deadlineMs: number;
  readonly onStep?: (step: Step) => void;
}

/** A setting in which the target is not as the source is. */
export interface SettingTold {
  readonly setting: string;
  /** In words, for people. */
  readonly source: string;
  readonly target: string;
  /** asked: it was made like the source's. told: nobody has asked for it. refused: it was asked for, and could not be. */
  readonly outcome: 'asked' | 'told' | 'refused';
  readonly why?: string;
}

export interface CutoverResult {
  readonly committedAtMs: number;
  /** How long writers were stopped. */
  readonly stoppedMs: number;
  readonly settings: readonly SettingTold[];
  /** Why nobody knows of the settings; null: they were looked at. */
  readonly trouble: CosmigError | null;
  readonly lateWrites: readonly Straggler[];
}

/** A cutover with writers stopped. */
export interface Stopped extends CutoverParts {
  readonly stoppedAtMs: number;
  /** Until the writers are stopped, or that has failed. */
  stopping: Promise<unknown>;
  haveStopped: boolean;
  /** What it is at. */
  at: Step['name'];
  /** Who has written since; null: nobody, as far as was seen. */
  stillWritten: string | null;
  /** Why the last comparison was not enough; null: it was, or there was none. */
  unproven: string | null;
}

export function step(stopped: Stopped, name: Step['name']): void {
  stopped.at = name;
  stopped.onStep?.({ name, stoppedAtMs: stopped.stoppedAtMs });
}
