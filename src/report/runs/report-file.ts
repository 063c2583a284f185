/**
 * The file of `--report`. Invariants: a path that cannot be written is refused before hours of work, and what a command
 * has found is not lost because its report cannot be written.
 */
import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerError, UsageError, type CosmigError } from '../../lib/errors.ts';
import { describeFsError } from '../../lib/fs-error.ts';

/** Throws if the file cannot be written. Called before the work of the command begins. */
export function refuseReport(path: string): void {
  try {
    // Opening a file to append does not change it. Without O_NONBLOCK, opening a named pipe would wait for a reader.
    // Windows has no such named pipes; O_NONBLOCK is undefined there and has no effect.
    const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants;
    if (existsSync(path)) closeSync(openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK));
    else accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new UsageError(`the report cannot be written to ${path}`, {
      why: describeFsError(error),
      hint: 'give --report a file in an existing folder that you may write to',
      cause: error,
    });
  }
}

/** Runs `write`; returns the error if the report could not be written. */
export function errorOfWriting(path: string, hint: string, write: () => void): CosmigError | undefined {
  try {
    write();
    return undefined;
  } catch (cause) {
    const why = describeFsError(cause);
    return new LedgerError(`the report cannot be written to ${path}`, { why, hint, cause });
  }
}

/**
 * Returns the error with which a command ends: the one about what it has found, if there is one. A report that could not
 * be written is then only noted, because scripts decide by what was found.
 */
export function errorOfRun(
  found: CosmigError | undefined,
  unwritten: CosmigError | undefined,
  note: (text: string) => void,
): CosmigError | undefined {
  if (found !== undefined && unwritten !== undefined) note(`${unwritten.message}: ${unwritten.why}`);
  return found ?? unwritten;
}
