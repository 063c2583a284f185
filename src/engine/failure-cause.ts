/**
 * The cause of a failed run. When a container was deleted or recreated, the run reports that, and not the last error that
 * the service returned.
 */
import { troubleOf } from '../cosmos/transport/trouble.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Ledger } from '../state/ledger.ts';
import { readBoth } from '../preflight/inspect.ts';

type Parts = Parameters<typeof readBoth>[0] & { readonly ledger: Ledger };

/** Returns the error to report. */
export async function whyLost(error: unknown, { ledger, ...parts }: Parts): Promise<unknown> {
  // A recreated container has not reached the LSN of our session, and answers 404/1002 (fact SVC-38).
  if (troubleOf(error)?.status !== 404) return error;
  try {
    const { source, target } = await readBoth(parts);
    if (target === null) return error;
    const { rid: sourceRid, defaultTtl: sourceTtl } = source;
    ledger.migration.pinContainers({ sourceRid, targetRid: target.rid, sourceTtl });
  } catch (cause) {
    // Any other error only hides the one that ended the run.
    if (cause instanceof NotReadyError) return cause;
  }
  return error;
}
