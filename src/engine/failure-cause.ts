/**
 * What a run says that waited in vain for something: a container that is another by now, or gone, is told as that, and
 * not as the last thing that the service said.
 */
import { troubleOf } from '../cosmos/transport/trouble.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Ledger } from '../state/ledger.ts';
import { readBoth } from '../preflight/inspect.ts';

type Parts = Parameters<typeof readBoth>[0] & { readonly ledger: Ledger };

/** The error that says it best. */
export async function whyLost(error: unknown, { ledger, ...parts }: Parts): Promise<unknown> {
  // A container that was made anew has not come as far as our session: 404/1002 (fact SVC-38).
  if (troubleOf(error)?.status !== 404) return error;
  try {
    const { source, target } = await readBoth(parts);
    if (target === null) return error;
    const { rid: sourceRid, defaultTtl: sourceTtl } = source;
    ledger.migration.pinContainers({ sourceRid, targetRid: target.rid, sourceTtl });
  } catch (cause) {
    // Whatever else there is to say, the run has ended by what it ended by.
    if (cause instanceof NotReadyError) return cause;
  }
  return error;
}
