/**
 * Checks cosmig's own rules. A broken rule is a bug in cosmig: the command ends with an InternalError and exit code 70.
 */
import { InternalError } from './errors.ts';

/** Throws an InternalError if `claim` is false; `rule` says what should be true. */
export function assert(claim: unknown, rule: string): asserts claim {
  if (!claim) throw new InternalError(rule);
}

/** Returns `value`; throws an InternalError if it is missing. `rule` says why it cannot be missing. */
export function must<T>(value: T | null | undefined, rule: string): T {
  assert(value !== null && value !== undefined, rule);
  return value;
}

/** Ends a switch over a union type. The call does not compile if the switch lacks a case. */
export function unreachable(value: never): never {
  throw new InternalError(`missing case: ${String(value)}`);
}
