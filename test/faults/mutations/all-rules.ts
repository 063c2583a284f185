/** Every list of rules, by the group in which `npm run mutations` asks about it. */
import type { Mutation } from '../../model/mutations.ts';
import { ADOPTION_RULES } from './adoption-rules.ts';
import { CUTOVER_RULES } from './cutover-rules.ts';
import { DOCUMENT_RULES } from './document-rules.ts';
import { ENGINE_RULES, REPAIR_RULES } from './engine-rules.ts';
import { KERNEL_RULES } from './kernel-rules.ts';
import { LEDGER_RULES } from './ledger-rules.ts';
import { LETTER_RULES } from './letter-rules.ts';
import { LOAD_RULES } from './load-rules.ts';
import { MODEL_RULES } from './model-rules.ts';
import { NETWORK_RULES } from './network-rules.ts';
import type { Rule } from './rule.ts';
import { SERVICE_RULES } from './service-rules.ts';
import { TURN_RULES } from './turn-rules.ts';
import { VERIFY_RULES } from './verify-rules.ts';

/** Rules that the engine in the world of the model does not meet. */
export const TESTED: readonly Rule[] = [
  ...DOCUMENT_RULES,
  ...KERNEL_RULES,
  ...VERIFY_RULES,
  ...CUTOVER_RULES,
  ...LEDGER_RULES,
  ...SERVICE_RULES,
  ...LOAD_RULES,
  ...NETWORK_RULES,
  ...ADOPTION_RULES,
  ...REPAIR_RULES,
  ...TURN_RULES,
  ...LETTER_RULES,
];

/** The rules of the model, and others of the engine, each with a story that must fail. */
export const DRIVEN: readonly Rule[] = [...MODEL_RULES, ...ENGINE_RULES];

/**
 * Rules of the mover that the fault runs are asked about as well: what they notice within a few seeds depends on the
 * machine.
 */
const FAULT_RUN_RULES: readonly Mutation[] = [
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
export const FAULTY: readonly Rule[] = MODEL_RULES.filter(({ name }) =>
  FAULT_RUN_RULES.some((one) => one === name),
);
