/** One frozen picture of a run, which every display renders: the live line, the result, --json. */
import type { LeasePhase } from '../../state/leases.ts';

export interface Snapshot {
  /** What the migration is called. */
  readonly migration: string;
  readonly goal: Goal;
  readonly phase: string;
  /** What the command was asked for has come about. */
  readonly complete: boolean;
  /** Of this run. */
  readonly documents: {
    readonly read: number;
    readonly written: number;
    readonly deleted: number;
    readonly moved: number;
    /** Letters that are open now, whoever opened them. */
    readonly deadLettered: number;
  };
  readonly ru: { readonly source: number; readonly target: number };
  /** Operations and reads that the service has refused for want of RU. */
  readonly throttled: number;
  readonly durationMs: number;
  /** How far the range that is farthest behind is behind; null while a range is being copied. */
  readonly lagSeconds: number | null;
  readonly ranges: readonly RangeShot[];
  /** What it waits for, in a few words; null when it works. */
  readonly waitsFor: string | null;
  /** Deletes that no feed tells of are not applied yet. */
  readonly sweepPending: boolean;
  /** What the others are measured by. */
  readonly outlook: Outlook;
}

export interface Outlook {
  /** Of the source, when this run began; null where it does not say. */
  readonly documents: number | null;
  /** What earlier runs had read. */
  readonly readBefore: number;
  /** What is done of pages that are not, and counted only with them. */
  readonly underWay: number;
  /** What the target may be asked for in a second; null where nobody knows. */
  readonly targetRu: number | null;
}

export interface RangeShot {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly phase: LeasePhase;
  readonly documents: number;
}

/** `copy` ends at the anchors, `catch-up` where the feeds end when it begins, `tail` when it is told to. */
export type Goal = 'copy' | 'tail' | 'catch-up';
