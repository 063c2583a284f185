import { InternalError } from './errors.ts';

/** Impossible trouble: says which of our own rules broke, and ends as exit code 70. */
export function assert(claim: unknown, rule: string): asserts claim {
  if (!claim) throw new InternalError(rule);
}

/** The value, which the caller knows is there; `rule` says why it must be. */
export function must<T>(value: T | null | undefined, rule: string): T {
  assert(value !== null && value !== undefined, rule);
  return value;
}

/** Closes a switch over a union: the compiler objects when a case is missing. */
export function unreachable(value: never): never {
  throw new InternalError(`a case was forgotten: ${String(value)}`);
}
