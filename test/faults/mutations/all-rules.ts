/** Every list of rules, by the group in which `npm run mutations` asks about it. */
import { DOCUMENT_RULES } from '../mutations-documents.ts';
import { CUTOVER_RULES } from '../mutations-cutover.ts';
import { FAULT_RUN_RULES, type Rule } from '../mutations-patches.ts';
import { SERVICE_RULES } from '../mutations-service.ts';
import { VERIFY_RULES } from '../mutations-verify.ts';
import { LEDGER_RULES } from '../ledger/mutations.ts';
import { LOAD_RULES } from '../load/mutations.ts';
import { ENGINE_RULES, REPAIR_RULES } from './engine-rules.ts';
import { MODEL_RULES } from './model-rules.ts';
import { NETWORK_RULES } from './network-rules.ts';

/** Rules that the engine in the world of the model does not meet. */
export const TESTED: readonly Rule[] = [
  ...DOCUMENT_RULES,
  ...VERIFY_RULES,
  ...CUTOVER_RULES,
  ...LEDGER_RULES,
  ...SERVICE_RULES,
  ...LOAD_RULES,
  ...NETWORK_RULES,
  ...REPAIR_RULES,
];
/** The rules of the model, and others of the engine, each with a story that must fail. */
export const DRIVEN: readonly Rule[] = [...MODEL_RULES, ...ENGINE_RULES];
/** Those that the fault runs are asked about. */
export const FAULTY: readonly Rule[] = MODEL_RULES.filter(({ name }) =>
  FAULT_RUN_RULES.some((one) => one === name),
);
