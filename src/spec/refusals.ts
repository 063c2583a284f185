/** Refusals that several layers report in the same words, and the words for a TTL. */
import { AfterCommitError, type CosmigError, NotReadyError } from '../lib/errors.ts';
import { leadsBack } from './turns/settings-of-turn.ts';

export function copyNotFinished(details: { readonly why: string; readonly hint: string }): NotReadyError {
  return new NotReadyError('the copy is not finished', details);
}

export function nothingCopied(why: string): NotReadyError {
  return new NotReadyError('nothing has been copied yet', { why, hint: 'run cosmig copy first' });
}

/** Returns the refusal for a later turn (settings-of-turn.ts) in which nothing was replicated yet. */
export function turnNotBegun(number: number, hint: string): NotReadyError {
  const [what, last] = leadsBack(number)
    ? ['the way back has not been used yet', 'cutover']
    : ['nothing was replicated since the rollback', 'rollback'];
  return new NotReadyError(what, { why: `cosmig tail has not run since the ${last}`, hint });
}

/**
 * Returns the refusal of what has to wait for the steps after a commit. `command`: the one that has committed. `hasHook`:
 * whether it has to run the command of --on-commit; null: not known.
 */
export function stepsLeft(
  command: 'cutover' | 'rollback',
  { hasHook }: { readonly hasHook: boolean | null },
): NotReadyError {
  const [why, how] =
    hasHook === false
      ? ['it was interrupted after its commit', '']
      : ['its command of --on-commit has not succeeded yet', ' with its --on-commit'];
  return new NotReadyError(`cosmig ${command} has committed, and its remaining steps are not done`, {
    why,
    hint: `run cosmig ${command} again${how}, then this command`,
  });
}

/**
 * Returns the refusal for a missing container. `what` is its name in the message, such as "source container
 * shop/orders".
 */
export function containerMissing(
  what: string,
  details: { readonly why: string; readonly hint: string },
): NotReadyError {
  return new NotReadyError(`there is no ${what}`, details);
}

/** Wraps the error of a step after the commit in an error that says that the target is in use nevertheless. */
export function failedAfterCommit(error: CosmigError): AfterCommitError {
  if (error instanceof AfterCommitError) return error;
  return new AfterCommitError(`the target is in use, but ${error.message}`, {
    why: error.why,
    hint: `${error.hint}; then run the same cosmig cutover again, which resumes after the commit`,
    cause: error,
  });
}

/**
 * Returns the refusal for a source container whose default TTL was changed after the migration began. null means that
 * TTL is off.
 */
export function sourceTtlChanged({
  was,
  is,
}: {
  readonly was: number | null;
  readonly is: number | null;
}): NotReadyError {
  return new NotReadyError("the source container's TTL was changed after the migration began", {
    why: `its default was ${ttlText(was)} and is ${ttlText(is)}`,
    hint: 'put the old value back, or begin a new migration with --ledger FILE (a new file) and an empty target',
  });
}

/** Returns the refusal for a container that has the right name but was created again after the migration began. */
export function containerRecreated(
  what: string,
  { was, is }: { readonly was: string; readonly is: string },
): NotReadyError {
  return new NotReadyError(`the ${what} was deleted and created again`, {
    why: `its _rid was ${was} when the migration began and is ${is} now, so what the ledger knows about it no longer holds`,
    hint: 'begin a new migration with --ledger FILE (a new file) and an empty target',
    details: { was, is },
  });
}

/** Returns the default TTL of a container in words. */
export function ttlText(ttl: number | null): string {
  if (ttl === null) return 'off';
  return ttl === -1 ? 'on without a default' : `${ttl} s`;
}
