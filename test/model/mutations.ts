/**
 * Owns the names of the rules. Every rule of the first design, and every rule the model had to add, can be
 * switched off here by name; a mutation says what a mover without that rule would do.
 */

/** Rules of the first design (docs/internals/apply-rule.md and positions.md). */
export const DESIGN_MUTATIONS = [
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
  'order-by-guess',
  'avad-primed-after-copy',
  'avad-before-lv-ended',
  'child-before-parent-done',
  'overrides-ignored',
  'stale-stays-where-unmapped',
  'lagging-adjudication',
  'promotion-forgotten',
  'letters-not-closed',
] as const;

/** Rules that the first design did not have; README.md in this folder has the trace behind each. */
export const FOUND_MUTATIONS = [
  'page-behind-anchor-accepted',
  'removal-without-intent',
  'lv-skipped-after-retention',
  'lv-restarts-where-it-ended',
  'deletes-not-swept-after-retention',
  'intent-not-durable',
  'session-token-not-in-intent',
  'slot-read-behind-write',
  'settled-slot-forgotten',
  'replay-does-not-raise-lsn',
  'letter-waits-from-commit',
  'unique-letter-tried-once',
  'unique-promotion-by-slot',
  'stale-keeps-unique-value',
  'promotion-stops-at-first',
  'commit-writes-old-outcome',
  'takeover-without-intent',
  'point-read-without-intent',
  'override-ordered-by-intent',
  'rename-not-noticed',
  'rename-looked-for-in-the-ledger-alone',
  'rename-suspected-during-the-copy',
  'settled-row-hides-a-rename',
  'oldest-event-skipped',
] as const;

export type Mutation = (typeof DESIGN_MUTATIONS)[number] | (typeof FOUND_MUTATIONS)[number];

export const MUTATIONS: readonly Mutation[] = [...DESIGN_MUTATIONS, ...FOUND_MUTATIONS];
