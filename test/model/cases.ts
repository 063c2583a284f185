/**
 * Owns where each mutation shows: a scenario that keeps other trouble away, a seed that fails in it, and
 * how many lines the shortest trace found from there has.
 */
import type { Mutation } from './mutations.ts';
import type { Scenario } from './scenario.ts';

export interface Case {
  readonly seed: number;
  readonly lines: number;
  readonly scenario: Partial<Scenario>;
  /** Only a step invariant sees it: at the next quiet moment all is well again. */
  readonly steps?: true;
}

/** Two documents that can collide, in ranges that may differ; network, crashes and lag as they come. */
const CALM: Partial<Scenario> = {
  identities: ['A7', 'C7'],
  foreign: false,
  misfits: false,
  ttl: false,
  resizing: false,
  retention: false,
};

/** Two ids that one document may have, one after the other. */
const RENAMING: Partial<Scenario> = { ...CALM, identities: ['A7', 'A8'], deletes: 'avad', renames: true };

export const CASES: Readonly<Record<Mutation, Case>> = {
  'no-intent': { seed: 89, lines: 3, scenario: CALM },
  'unconditional-upsert': { seed: 4, lines: 2, scenario: CALM },
  'delete-without-owner-check': {
    seed: 1017,
    lines: 13,
    scenario: { foreign: true, misfits: false, ttl: false },
  },
  'commit-before-acknowledgement': { seed: 1, lines: 1, scenario: CALM },
  'old-slot-deleted-first': {
    seed: 17,
    lines: 3,
    scenario: { ...CALM, crashesMax: 0, networkTrouble: false },
    steps: true,
  },
  'two-operations-in-flight': { seed: 15, lines: 2, scenario: CALM },
  'takeover-does-not-revoke': { seed: 162, lines: 4, scenario: CALM },
  'tombstones-dropped': { seed: 362, lines: 4, scenario: { ...CALM, deletes: 'avad' } },
  'end-of-copy-on-304': {
    seed: 95,
    lines: 4,
    scenario: {
      ...CALM,
      identities: ['A7'],
      deletes: 'avad',
      lag: true,
      feedKeepsToken: false,
      crashesMax: 0,
    },
  },
  'position-saved-after-410': { seed: 47, lines: 3, scenario: { ...CALM, resizing: true, deletes: 'avad' } },
  'no-wait-before-settling': {
    seed: 2001,
    lines: 6,
    scenario: { ...CALM, crashesMax: 2, networkTrouble: true },
  },
  'order-by-guess': { seed: 7, lines: 2, scenario: { ...CALM, identities: ['A7'], batches: true } },
  'avad-primed-after-copy': { seed: 27, lines: 3, scenario: CALM },
  'avad-before-lv-ended': { seed: 486, lines: 5, scenario: CALM },
  'overrides-ignored': { seed: 295, lines: 10, scenario: { ...CALM, crashesMax: 1 } },
  'stale-stays-where-unmapped': { seed: 47, lines: 4, scenario: CALM },
  'lagging-adjudication': { seed: 262, lines: 8, scenario: { ...CALM, lag: true } },
  'promotion-forgotten': { seed: 99, lines: 4, scenario: { ...CALM, crashesMax: 0, networkTrouble: false } },
  'letters-not-closed': { seed: 52, lines: 4, scenario: CALM },
  'page-behind-anchor-accepted': {
    seed: 26,
    lines: 5,
    scenario: {
      ...CALM,
      identities: ['A7'],
      deletes: 'avad',
      lag: true,
      feedKeepsToken: false,
      crashesMax: 0,
    },
  },
  'removal-without-intent': {
    seed: 2306,
    lines: 6,
    scenario: { ...CALM, identities: ['A7'], misfits: true, crashesMax: 2, deletes: 'reconcile' },
  },
  'lv-skipped-after-retention': {
    seed: 3,
    lines: 3,
    scenario: { ...CALM, retention: true, deletes: 'avad' },
  },
  'deletes-not-swept-after-retention': {
    seed: 67,
    lines: 4,
    scenario: { ...CALM, retention: true, deletes: 'avad' },
  },
  'intent-not-durable': { seed: 544, lines: 6, scenario: { ...CALM, powerLoss: true, crashesMax: 2 } },
  'session-token-not-in-intent': { seed: 84, lines: 8, scenario: { ...CALM, lag: true, crashesMax: 2 } },
  'slot-read-behind-write': { seed: 252, lines: 6, scenario: CALM },
  'settled-slot-forgotten': { seed: 182, lines: 4, scenario: CALM },
  'replay-does-not-raise-lsn': { seed: 651, lines: 3, scenario: CALM },
  'letter-waits-from-commit': {
    seed: 4686,
    lines: 4,
    scenario: { ...CALM, crashesMax: 0, networkTrouble: false },
  },
  'unique-letter-tried-once': {
    seed: 2878,
    lines: 5,
    scenario: { ...CALM, identities: ['A7', 'A8'], uniqueKeys: true, crashesMax: 0, networkTrouble: false },
  },
  'unique-promotion-by-slot': {
    seed: 47,
    lines: 4,
    scenario: { ...CALM, identities: ['A7', 'A8'], uniqueKeys: true, crashesMax: 0, networkTrouble: false },
  },
  'stale-keeps-unique-value': {
    seed: 736,
    lines: 6,
    scenario: { ...CALM, identities: ['A7', 'A8'], uniqueKeys: true, crashesMax: 0, networkTrouble: false },
  },
  'promotion-stops-at-first': {
    seed: 7820,
    lines: 13,
    scenario: { ...CALM, identities: ['A7', 'B7', 'C7'], crashesMax: 0, networkTrouble: false },
  },
  'commit-writes-old-outcome': { seed: 2847, lines: 6, scenario: CALM },
  'takeover-without-intent': { seed: 550, lines: 4, scenario: { ...CALM, crashesMax: 2 } },
  'override-ordered-by-intent': {
    seed: 839,
    lines: 12,
    scenario: { ...CALM, crashesMax: 2, lag: true, batches: false },
  },
  'rename-not-noticed': { seed: 14, lines: 3, scenario: { ...RENAMING, crashesMax: 0 } },
  'rename-looked-for-in-the-ledger-alone': { seed: 9, lines: 3, scenario: { ...CALM, deletes: 'avad' } },
  'rename-suspected-during-the-copy': { seed: 7, lines: 4, scenario: { ...CALM, deletes: 'avad' } },
  'oldest-event-skipped': {
    seed: 263,
    lines: 11,
    scenario: { ...CALM, deletes: 'avad', coalesces: true, crashesMax: 2 },
  },
  'settled-row-hides-a-rename': { seed: 78, lines: 3, scenario: { ...RENAMING, crashesMax: 2 } },
  'child-before-parent-done': {
    seed: 8715,
    lines: 6,
    scenario: { ...CALM, identities: ['A7'], resizing: true, crashesMax: 2 },
  },
  'lv-restarts-where-it-ended': {
    seed: 14117,
    lines: 6,
    scenario: { ...CALM, retention: true, deletes: 'avad', powerLoss: true, crashesMax: 1 },
  },
  'point-read-without-intent': {
    seed: 148184,
    lines: 9,
    scenario: { ...CALM, deletes: 'marker', crashesMax: 2, batches: true },
  },
};
