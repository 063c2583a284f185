import { parseDerivation } from '../../src/keys/strategies/parse.ts';
import { valueAt } from '../../src/keys/path.ts';
import { makePlan, type ComputedKey, type KeyPlan, type PlanOptions } from '../../src/keys/plan.ts';
import type { Derived } from '../../src/keys/strategies/strategy.ts';
import { UsageError } from '../../src/lib/errors.ts';

/** The hint of an error that names no filter, in full. A new filter changes it here, and nowhere else in the tests. */
export const FILTER_HINT =
  'the filters are lower, upper, trim, slice:0:3, default:x, date:yyyy-MM, day, week, month, quarter, year, hash:400, pad:3';

/** What a template makes of a document. */
export function derived(template: string, document: unknown): Derived {
  const { strategy } = parseDerivation(`/pk=${template}`);
  return strategy.derive(strategy.paths.map((path) => valueAt(document, path)));
}

/** The same, in short: the value itself, or what is missing or invalid. */
export function derive(template: string, document: unknown): unknown {
  const result = derived(template, document);
  if (result.kind === 'value') return result.value;
  return result.kind === 'missing' ? { missing: result.path } : { invalid: result.path, why: result.why };
}

/** What a filter makes of a value. */
export function filtered(filter: string, value: unknown): unknown {
  const result = derived(`{x|${filter}}`, { x: value });
  if (result.kind === 'value') return result.value;
  return result.kind === 'missing' ? undefined : `invalid: ${result.why}`;
}

/** A plan for a target about whose source nothing is known. */
export function planOf(options: Partial<PlanOptions>): KeyPlan {
  return makePlan({ sourcePaths: [], partitionKey: [], derive: [], missingKey: 'keep', ...options });
}

export function computed(plan: KeyPlan, document: unknown): ComputedKey {
  return plan.compute(plan.inputs.map((path) => valueAt(document, path)));
}

/** The UsageError that is thrown, as its three lines. */
export function complaint(act: () => unknown): readonly [string, string | undefined, string | undefined] {
  try {
    act();
  } catch (error) {
    if (error instanceof UsageError) return [error.message, error.why, error.hint];
    throw error;
  }
  throw new Error('nothing was complained about');
}
