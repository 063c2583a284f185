/** Checks of our own rules. A broken rule is a bug of cosmig: it ends with an InternalError and exit code 70. */
import { InternalError } from './errors.ts';

/** Throws when `claim` does not hold; `rule` says what should be true. */
export function assert(claim: unknown, rule: string): asserts claim {
  if (!claim) throw new InternalError(rule);
}

/** The value, which cannot be missing because of `rule`. */
export function must<T>(value: T | null | undefined, rule: string): T {
  assert(value !== null && value !== undefined, rule);
  return value;
}

/** Ends a switch over a union; it does not compile when a case is missing. */
export function unreachable(value: never): never {
  throw new InternalError(`missing case: ${String(value)}`);
}
