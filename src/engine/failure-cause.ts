/**
 * Finds the cause of a failed run. If a container was deleted or recreated, the run reports this instead of the last
 * error that the service returned.
 */
import { troubleOf } from '../cosmos/transport/trouble.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Ledger } from '../state/ledger.ts';
import { readBoth } from '../preflight/inspect.ts';

type Parts = Parameters<typeof readBoth>[0] & { readonly ledger: Ledger };

/** Returns the error to report for a run that has failed with `error`. */
export async function whyLost(error: unknown, { ledger, ...parts }: Parts): Promise<unknown> {
  // A recreated container has not reached the LSN of our session, so the service answers 404/1002 (fact SVC-38).
  if (troubleOf(error)?.status !== 404) return error;
  try {
    const { source, target } = await readBoth(parts);
    if (target === null) return error;
    const { rid: sourceRid, defaultTtl: sourceTtl } = source;
    ledger.migration.pinContainers({ sourceRid, targetRid: target.rid, sourceTtl });
  } catch (cause) {
    // Any other error would hide the one that ended the run.
    if (cause instanceof NotReadyError) return cause;
  }
  return error;
}
