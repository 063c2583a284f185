/**
 * Finds out which operations the service allows, without changing anything. Invariant: every operation on a document
 * that is sent here fails. The service checks permissions first, so the reason of the failure shows whether the
 * operation is allowed.
 */
import {
  sendBatch,
  type BatchRequest,
  type BatchResult,
  type OperationReply,
} from '../cosmos/bulk/batch-request.ts';
import { TroubleError, troubleOf, type Trouble } from '../cosmos/transport/trouble.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { ChangeFeed, isMergedOnce, type FeedMode } from '../cosmos/feed/feed.ts';
import { readRanges, wholeOf } from '../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../cosmos/load/retry.ts';
import { BatchBody } from '../documents/batch-body.ts';
import { replyScan } from '../documents/page-scan.ts';
import { assert, must } from '../lib/assert.ts';
import { NotReadyError, ServiceError } from '../lib/errors.ts';
import { effectiveKey } from '../epk/effective-key.ts';
import type { Random } from '../lib/random.ts';
import type { Connection } from '../spec/connection.ts';

/** An etag that no document has, so a conditional operation with this etag never succeeds. */
export const NO_ETAG = '"00000000-0000-0000-0000-000000000000"';

/**
 * Makes the trouble of a lost reply transient, so that the batch is sent again. A batch counts as a write, so its
 * outcome is in doubt without a reply. But the batches of the preflight may be repeated: they change nothing, or they
 * create or remove the reservation.
 */
export function repeatable(trouble: Trouble): Trouble {
  return trouble.kind === 'ambiguous' ? { ...trouble, kind: 'transient' } : trouble;
}

/** Sends a batch that may be sent again. Throws its trouble if it was not answered. */
export async function sendHarmless(
  requests: ContainerRequests,
  batch: BatchRequest,
  replies = replyScan([]),
): Promise<Extract<BatchResult, { readonly answered: true }>> {
  const result = await sendBatch(requests, batch, replies);
  if (!result.answered) throw new TroubleError(repeatable(result.trouble));
  return result;
}

export interface ProbeParts {
  readonly side: 'source' | 'target';
  readonly requests: ContainerRequests;
  readonly facts: ContainerFacts;
  readonly connection: Connection;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
}

/** The operations that a migration needs in the source, and those that it needs in the target. */
const READS = ['read'] as const;
const WRITES = ['read', 'create', 'replace', 'delete'] as const;
type Verb = (typeof WRITES)[number];

/** Refuses an account key or a login that lacks a permission which a migration needs on this side. */
export async function probe(parts: ProbeParts): Promise<void> {
  const sessionToken = await probeFeed(parts, undefined);
  await probeSession(parts, sessionToken);
  await probeDocuments(parts);
}

/**
 * Reads the change feed once, and returns the session token of the reply. The service refuses the feed to a login that
 * would see masked documents (fact SVC-47).
 */
async function probeFeed(parts: ProbeParts, sessionToken: string | undefined): Promise<string | undefined> {
  const { signal, patience } = parts;
  const read = async (): Promise<string | undefined> => readFeed(parts, 'latest-version', sessionToken);
  return allowed(parts, 'its change feed', () => retrying(read, { signal, patience, splits: 'waited-for' }));
}

/** Reads the change feed with session consistency, which an account with a weaker default refuses (fact SVC-68). */
async function probeSession(parts: ProbeParts, sessionToken: string | undefined): Promise<void> {
  try {
    await probeFeed(parts, sessionToken);
  } catch (error) {
    if (troubleOf(error)?.status !== 400) throw error;
    throw new NotReadyError(`the account of the ${parts.side} refuses reads with session consistency`, {
      why: 'its default consistency is weaker, and with a weaker one cosmig cannot know that it has seen every change',
      hint: 'set the default to Session, with which requests cost the same: az cosmosdb update --name ACCOUNT --resource-group GROUP --default-consistency-level Session',
      cause: error,
    });
  }
}

type FeedProbe = Pick<ProbeParts, 'requests' | 'signal' | 'timeoutMs' | 'patience'>;

/** Reads the feed of the first range at its end, which returns no documents. */
async function readFeed(
  { requests, signal, timeoutMs }: FeedProbe,
  mode: FeedMode,
  sessionToken?: string,
): Promise<string | undefined> {
  const [range] = await readRanges(requests, { signal, timeoutMs });
  const feed = new ChangeFeed(requests, { mode, range: wholeOf(must(range, 'there is a range')) });
  const page = await feed.read('now', { signal, timeoutMs, sessionToken });
  return page.sessionToken;
}

/**
 * Sends one operation of each kind: reads, replaces and deletes a document that does not exist, and creates a document
 * without an id.
 */
async function probeDocuments(parts: ProbeParts): Promise<void> {
  const { side, requests, facts, random, signal, timeoutMs, patience } = parts;
  const verbs: readonly Verb[] = side === 'source' ? READS : WRITES;
  const word = `cosmig-preflight-${random.below(2 ** 31)}-${random.below(2 ** 31)}`;
  const key = facts.keyPaths.map(() => word);
  const body = new BatchBody();
  for (const verb of verbs) add(body, verb, { key, word });
  const bytes = body.finish();
  const epk = effectiveKey(facts.keyKind, key);
  const send = async (): Promise<readonly OperationReply[]> => {
    const ranges = await readRanges(requests, { signal, timeoutMs });
    const range = must(
      ranges.find(({ min, max }) => min <= epk && epk < max),
      'the ranges tile the key space',
    );
    const reads = (row: number): boolean => verbs[row] === 'read';
    const batch = { rangeId: range.id, body: bytes, count: verbs.length, reads, signal, timeoutMs };
    const { outcomes } = await sendHarmless(requests, batch);
    for (const outcome of outcomes) refuseTrouble(outcome);
    return outcomes;
  };
  const outcomes = await allowed(parts, verbs.join(', '), () =>
    retrying(send, { signal, patience, splits: 'waited-for' }),
  );
  const done = outcomes.findIndex(({ kind }) => kind === 'done');
  assert(done < 0, 'an operation that must fail fails');
  const denied = verbs.filter((_verb, row) => outcomes[row]?.kind === 'denied');
  if (denied.length > 0) throw notAllowed(parts, denied.join(', '), undefined);
}

function add(
  body: BatchBody,
  verb: Verb,
  { key, word }: { readonly key: readonly string[]; readonly word: string },
): void {
  switch (verb) {
    case 'read':
      return body.read(key, { id: word });
    case 'delete':
      return body.delete(key, { id: word, ifMatch: NO_ETAG });
    case 'create':
      body.create(key);
      body.out.putText('{}');
      return body.end();
    case 'replace':
      body.replace(key, { id: word, ifMatch: NO_ETAG });
      body.out.putText('{}');
      return body.end();
  }
}

/** Throws if the service did not try an operation, because the reply then says nothing about permissions. */
function refuseTrouble({ kind, status, substatus, chargeRu, retryAfterMs }: OperationReply): void {
  if (kind !== 'throttled' && kind !== 'transient' && kind !== 'ambiguous' && kind !== 'split') return;
  const trouble: Trouble = { kind, status, substatus, what: `the service answered ${status}`, chargeRu };
  throw new TroubleError(repeatable(retryAfterMs === undefined ? trouble : { ...trouble, retryAfterMs }));
}

async function allowed<T>(parts: ProbeParts, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (troubleOf(error)?.kind !== 'denied') throw error;
    throw notAllowed(parts, what, error);
  }
}

function notAllowed({ side, requests, connection }: ProbeParts, what: string, cause: unknown): ServiceError {
  const { database, container } = requests.name;
  const isKey = connection.signsInWith === 'key';
  const items = side === 'source' ? 'items/read' : 'items/*';
  const needs = `readMetadata, containers/readChangeFeed, containers/executeQuery and ${items}`;
  return new ServiceError(`missing permissions on ${side} ${database}/${container}: ${what}`, {
    why: isKey
      ? 'the key is read-only or wrong, or a firewall blocks the request'
      : 'a role is missing, documents would be masked, or a firewall blocks the request',
    hint: isKey
      ? `use a read-write key of the account; cosmig uses batches on the ${side}, which a read-only key may not send`
      : `the identity needs ${needs} on the container, and items/unmask where data is masked`,
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Returns whether the container serves the feed of all versions and deletes, and if not, whether it never can because
 * partitions of the account were merged once. Only reading the feed shows this.
 */
export async function servesAllVersions(probe: FeedProbe): Promise<'yes' | 'no' | 'merged once'> {
  const { signal, patience } = probe;
  const read = async (): Promise<'yes' | 'no' | 'merged once'> => {
    try {
      await readFeed(probe, 'all-versions');
      return 'yes';
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.status === 400) return 'no';
      if (isMergedOnce(trouble)) return 'merged once';
      throw error;
    }
  };
  return retrying(read, { signal, patience, splits: 'waited-for' });
}
