/** Reads one document as bytes, by its id and key, for an operator who wants to see it. Writes nothing. */
import { readAll, type DocumentAddress } from '../bulk/point-reads.ts';
import type { Account } from '../account/client.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { ServiceError } from '../../lib/errors.ts';
import { containerMissing } from '../../spec/refusals.ts';
import { Patience } from '../load/retry.ts';
import { openSide, type SideParts } from '../side.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { readContainer } from './inspect.ts';

interface ReadCall extends Pick<SideParts, 'clock' | 'random' | 'onWait'> {
  readonly signal: AbortSignal;
}

/** Returns the document's JSON text as the service sends it; undefined if the document does not exist. */
export async function readDocument(
  account: Account,
  { name, ...address }: DocumentAddress & { readonly name: ContainerName },
  { signal, ...waiting }: ReadCall,
): Promise<Buffer | undefined> {
  const facts = await readContainer(account, name, { signal, patience: new Patience(waiting) });
  if (facts === undefined) {
    throw containerMissing(`container ${name.database}/${name.container}`, {
      why: 'it, or its database, was deleted or is in another account',
      hint: 'check the endpoint and the names',
    });
  }
  const budget = { kind: 'automatic' } as const;
  const side = await openSide('source', { account, facts, budget, ...waiting }, signal);
  const replies = replyScan([]);
  const keep = (row: number): Buffer => Buffer.from(replies.bytes(row, replies.nodes.document));
  const [answer] = await readAll([address], { side, replies, keep, clock: waiting.clock }, signal);
  const value = answer?.value ?? 'gone';
  if (value === 'unreadable') {
    throw new ServiceError('the service does not take the id of the document', {
      why: `it answered 400 to a read of ${address.id.toString()}`,
      hint: 'look for the document with a query in the Azure portal',
    });
  }
  return value === 'gone' ? undefined : value;
}
