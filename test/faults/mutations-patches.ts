/** What a mutation is: a rule of the code, the edit that takes it out, and the test that must notice. */
import type { Mutation } from '../model/mutations.ts';

/** A text that stands in a file exactly once, and what takes its place. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Rule {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The file of the test, and what its name says. */
  readonly test: string;
  readonly by: string;
}

/**
 * Rules of the mover that the fault runs are asked about as well: what they notice within a few seeds depends on the
 * machine.
 */
export const FAULT_RUN_RULES: readonly Mutation[] = [
  'no-intent',
  'unconditional-upsert',
  'delete-without-owner-check',
  'commit-before-acknowledgement',
  'old-slot-deleted-first',
  'two-operations-in-flight',
  'takeover-does-not-revoke',
  'tombstones-dropped',
  'end-of-copy-on-304',
  'position-saved-after-410',
  'no-wait-before-settling',
];
