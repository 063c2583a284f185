/** One document as bytes, by its id and key: for a person who wants to see it, not for moving. Writes nothing. */
import { BatchBody, type Key } from '../../documents/batch-body.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { effectiveKey } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { sendBatch } from '../bulk/batch-request.ts';
import { TroubleError } from '../transport/trouble.ts';
import type { Account } from '../account/client.ts';
import { ContainerLane, type ContainerName } from '../transport/container-requests.ts';
import { readContainer } from './inspect.ts';
import type { ControlCall } from '../account/control-plane.ts';
import { readRanges } from '../feed/ranges.ts';
import { retrying } from '../load/retry.ts';

export interface Wanted {
  readonly container: ContainerName;
  readonly key: Key;
  /** JSON text, quotes included. */
  readonly id: string;
}

/** The document's JSON text as the service sends it; undefined when there is none. */
export async function readDocument(
  account: Account,
  { container, key, id }: Wanted,
  { signal, patience }: ControlCall,
): Promise<Buffer | undefined> {
  const facts = await readContainer(account, container, { signal, patience });
  if (facts === undefined) throw gone(container);
  const lane = new ContainerLane(account, container);
  const place = effectiveKey(facts.keyKind, key);
  const body = new BatchBody();
  body.read(key, { id: Buffer.from(id) });
  const bytes = body.finish();
  const replies = replyScan([]);
  // Asked by name every time, so that a split that is under way is found out about and waited for.
  return retrying(
    async () => {
      const ranges = await readRanges(lane, { signal });
      const { id: rangeId } = must(
        ranges.findLast(({ min }) => min <= place),
        'ranges tile the key space',
      );
      const result = await sendBatch(
        lane,
        { rangeId, body: bytes, count: 1, reads: () => true, signal },
        replies,
      );
      if (!result.answered) throw new TroubleError(result.trouble);
      const outcome = must(result.outcomes[0], 'one operation has one outcome');
      const { kind, status, substatus, chargeRu } = outcome;
      if (kind === 'missing') return undefined;
      if (kind !== 'done') {
        throw new TroubleError({ kind, status, substatus, chargeRu, what: `the service answered ${status}` });
      }
      const scan = replies.scan(result.bytes);
      return Buffer.from(scan.bytes(0, scan.nodes.document));
    },
    { signal, patience, splits: 'waited-for' },
  );
}

function gone({ database, container }: ContainerName): NotReadyError {
  return new NotReadyError(`there is no container ${database}/${container}`, {
    why: 'it, or its database, was deleted or is in another account',
    hint: 'check the endpoint and the names',
  });
}
