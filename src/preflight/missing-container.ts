/** The refusal of a container that does not exist: with the name that was probably meant, or what was there before. */
import type { Account } from '../cosmos/account/client.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import { listContainers } from '../cosmos/container/inspect.ts';
import { CosmigError, InternalError, type NotReadyError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import type { ContainerName } from '../spec/input/values.ts';
import { containerMissing } from '../spec/refusals.ts';

export interface MissingParts {
  readonly side: 'source' | 'target';
  readonly account: Account;
  readonly address: ContainerName;
  readonly hint: string;
  /** Whether a migration has begun with the container: then it was there, and no other one will do. */
  readonly hasBegun: boolean;
}

export async function missingContainer(
  { side, account, address: { database, container }, hint, hasBegun }: MissingParts,
  call: ControlCall,
): Promise<NotReadyError> {
  const what = `${side} container ${database}/${container}`;
  if (hasBegun) {
    const why =
      'it was there when the migration began; if it was deleted, what the ledger knows of it is void';
    return containerMissing(what, { why, hint });
  }
  const near = nearest(container, await namesIn(account, database, call));
  return containerMissing(what, {
    why: 'the account has no container, or no database, of this name',
    hint: near === undefined ? hint : `did you mean ${database}/${near}? If not, ${hint}`,
  });
}

/** Returns the names of the containers; none if they cannot be listed: they only help to word a refusal. */
async function namesIn(account: Account, database: string, call: ControlCall): Promise<readonly string[]> {
  try {
    return await listContainers(account, database, call);
  } catch (error) {
    if (!(error instanceof CosmigError) || error instanceof InternalError) throw error;
    call.signal.throwIfAborted();
    return [];
  }
}
