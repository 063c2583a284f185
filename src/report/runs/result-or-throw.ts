/** How a command ends that has found something wrong: its result is printed, then its error. */
import type { Reporter, Result } from '../../cli/command.ts';
import type { CosmigError } from '../../lib/errors.ts';

/** Returns the result, or prints it and throws the error if there is one. */
export function resultOrThrow(result: Result, error: CosmigError | undefined, out: Reporter): Result {
  if (error === undefined) return result;
  out.announce(result);
  throw error;
}
