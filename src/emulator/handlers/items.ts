/** Single documents: POST, GET, PUT, PATCH and DELETE, each one operation in one transaction. */
import type { Account } from '../account/account.ts';
import { refusalReply, type Call, type Reply } from '../http/request.ts';
import { REFUSED_RU } from '../partitions/charges.ts';
import { keyText, parseKey } from '../account/container-definition.ts';
import type { ContainerModel } from '../account/model.ts';
import {
  execute,
  placeOf,
  read as readDocument,
  type Kind,
  type Operation,
  type Outcome,
} from '../documents/operations.ts';
import { refuseWhileSplitting, type PhysicalRange } from '../partitions/ranges.ts';
import { parsePatch } from '../documents/patch.ts';
import { Refusal } from '../http/refusal.ts';
import { READ_SESSION_UNAVAILABLE, sessionToken, visibleLsn } from '../partitions/sessions.ts';
import { WriteTransaction } from '../documents/write-transaction.ts';

export function requireKey(call: Call, container: ContainerModel): Operation['key'] {
  const header = call.headers['x-ms-documentdb-partitionkey'];
  if (header === undefined) throw new Refusal(400, 'The request names no partition key.');
  return parseKey(container.definition, header);
}

function operationOf(call: Call, container: ContainerModel, kind: Kind): Operation {
  const hasText = kind === 'create' || kind === 'upsert' || kind === 'replace';
  return {
    kind,
    key: requireKey(call, container),
    id: call.segments[5],
    text: hasText ? call.body : undefined,
    patch: kind === 'patch' ? parsePatch(call.body) : undefined,
    ifMatch: call.headers['if-match'],
    ifNoneMatch: call.headers['if-none-match'],
    sessionToken: call.headers['x-ms-session-token'],
  };
}

/** Whoever asks for a trigger counts on what it does: better nothing happens than half of it. */
function refuseTriggers(call: Call): void {
  for (const name of ['x-ms-documentdb-pre-trigger-include', 'x-ms-documentdb-post-trigger-include']) {
    if (call.headers[name] === undefined || call.headers[name] === '') continue;
    throw new Refusal(501, 'Triggers are stored and listed by the emulator, but not executed.');
  }
}

function perform(call: Call, kind: Kind): Reply {
  refuseTriggers(call);
  const { account, priority } = call;
  const container = call.container();
  const operation = operationOf(call, container, kind);
  const { range } = placeOf(container, operation.key);
  refuseWhileSplitting(range, account.machineMs());
  account.admit(container, range, priority);
  let outcome: Outcome;
  try {
    outcome =
      kind === 'read'
        ? readDocument(account, container, operation)
        : WriteTransaction.run(account, container, (transaction) => execute(account, transaction, operation));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    account.charge(container, range, error.chargeRu ?? REFUSED_RU, priority);
    return refusedReply(account, range, error, operation);
  }
  account.charge(container, range, outcome.chargeRu, priority);
  return replyTo(call, container, range, outcome);
}

/** Refusals that tell of the document tell how new that is: the SDK keeps their session tokens like any other. */
const TELLING: ReadonlySet<number> = new Set([404, 409, 412]);

function refusedReply(account: Account, range: PhysicalRange, refusal: Refusal, operation: Operation): Reply {
  const reply = refusalReply(refusal);
  if (!TELLING.has(refusal.status) || refusal.substatus === READ_SESSION_UNAVAILABLE) return reply;
  const lsn = operation.kind === 'read' ? visibleLsn(account, range, operation.sessionToken) : range.lsn;
  return { ...reply, headers: { ...reply.headers, lsn, 'x-ms-session-token': sessionToken(range, lsn) } };
}

function replyTo(call: Call, container: ContainerModel, range: PhysicalRange, outcome: Outcome): Reply {
  // A read promises no more than it has seen; a client that keeps the token must not be told the future.
  const lsn = outcome.seenLsn ?? range.lsn;
  const headers: Record<string, string | number> = {
    lsn,
    'x-ms-alt-content-path': container.link,
    'x-ms-content-path': container.rid,
    'x-ms-session-token': sessionToken(range, lsn),
  };
  if (outcome.etag !== undefined) headers['etag'] = outcome.etag;
  const isWrite = outcome.status === 201 || call.method !== 'GET';
  const body = isWrite && call.wantsNoContent ? undefined : outcome.text;
  return { status: outcome.status, body, headers, chargeRu: outcome.chargeRu };
}

export const create = (call: Call): Reply => perform(call, 'create');
export const upsert = (call: Call): Reply => perform(call, 'upsert');
export const read = (call: Call): Reply => perform(call, 'read');
export const replace = (call: Call): Reply => perform(call, 'replace');
export const patch = (call: Call): Reply => perform(call, 'patch');
export const remove = (call: Call): Reply => perform(call, 'delete');

/** Deletes every document of one key. The service does it in the background; here it is done when answered. */
export function removeKey(call: Call): Reply {
  const { account, priority } = call;
  const container = call.container();
  const key = requireKey(call, container);
  const { epk, range } = placeOf(container, key);
  refuseWhileSplitting(range, account.machineMs());
  account.admit(container, range, priority);
  const removed = WriteTransaction.run(account, container, (transaction) => {
    // Other keys of version 1 may share the hash.
    const rows = account.documents.ofKey(container.number, epk).filter((row) => row.key === keyText(key));
    for (const row of rows) transaction.remove(range, row, transaction.hasExpired(row));
    return rows.length;
  });
  const chargeRu = REFUSED_RU + removed;
  account.charge(container, range, chargeRu, priority);
  return {
    status: 200,
    body: '',
    headers: { 'x-ms-session-token': sessionToken(range, range.lsn) },
    chargeRu,
  };
}
