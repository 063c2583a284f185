/** Refusals that both engine and verify report, in the same words. */
import { NotReadyError } from '../lib/errors.ts';

export function copyNotFinished(details: { readonly why: string; readonly hint: string }): NotReadyError {
  return new NotReadyError('the copy is not finished', details);
}
