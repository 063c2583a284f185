/**
 * Answers requests for single documents (POST, GET, PUT, PATCH and DELETE) and the deletion of all documents of a key.
 *
 * Invariant: each write is one transaction. A request that was admitted is charged, whether it succeeds or is refused.
 */
import type { LocalAccount } from '../account/account.ts';
import { rangeHeaders, refusalReply, type GatewayReply, type GatewayRequest } from '../http/request.ts';
import { REFUSED_RU } from '../partitions/charges.ts';
import { keyText, parseKey } from '../account/container-definition.ts';
import type { ContainerModel } from '../account/model.ts';
import {
  execute,
  locate,
  read as readDocument,
  type OperationKind,
  type DocumentOperation,
  type OperationOutcome,
} from '../documents/operations.ts';
import { refuseWhileSplitting, type RangeModel } from '../partitions/ranges.ts';
import { parsePatch } from '../documents/patch.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { READ_SESSION_UNAVAILABLE, sessionToken, visibleLsn } from '../partitions/sessions.ts';
import { WriteTransaction } from '../documents/write-transaction.ts';

export function requireKey(request: GatewayRequest, container: ContainerModel): DocumentOperation['key'] {
  const header = request.headers['x-ms-documentdb-partitionkey'];
  if (header === undefined) throw badRequest('The request names no partition key.');
  return parseKey(container.definition, header);
}

function operationOf(
  request: GatewayRequest,
  container: ContainerModel,
  kind: OperationKind,
): DocumentOperation {
  const hasText = kind === 'create' || kind === 'upsert' || kind === 'replace';
  return {
    kind,
    key: requireKey(request, container),
    id: request.segments[5],
    text: hasText ? request.body : undefined,
    patch: kind === 'patch' ? parsePatch(request.body) : undefined,
    ifMatch: request.headers['if-match'],
    ifNoneMatch: request.headers['if-none-match'],
    sessionToken: request.headers['x-ms-session-token'],
  };
}

/**
 * Refuses a request whose headers ask for something that the emulator does not do, because the client may depend on it.
 */
function refuseUnsupported(request: GatewayRequest): void {
  if (request.headers['x-ms-indexing-directive']?.toLowerCase() === 'exclude') {
    throw new Refusal(501, 'The emulator cannot exclude a document from the index: queries would find it.');
  }
  for (const name of ['x-ms-documentdb-pre-trigger-include', 'x-ms-documentdb-post-trigger-include']) {
    if (request.headers[name] === undefined || request.headers[name] === '') continue;
    throw new Refusal(501, 'Triggers are stored and listed by the emulator, but not executed.');
  }
}

export function perform(request: GatewayRequest, kind: OperationKind): GatewayReply {
  refuseUnsupported(request);
  const { account, priority } = request;
  const container = request.container();
  const operation = operationOf(request, container, kind);
  const { range } = locate(container, operation.key);
  refuseWhileSplitting(range, account.machineMs());
  account.admit(container, range, priority);
  let outcome: OperationOutcome;
  try {
    outcome =
      kind === 'read'
        ? readDocument(account, container, operation)
        : WriteTransaction.run(account, container, (transaction) => execute(transaction, operation));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    account.charge(container, range, error.chargeRu ?? REFUSED_RU, priority);
    return refusedReply(account, range, error, operation);
  }
  account.charge(container, range, outcome.chargeRu, priority);
  return replyTo(request, container, range, outcome);
}

/**
 * The statuses of refusals that carry a session token, because they say something about the document. The SDK keeps
 * this token like that of a successful reply.
 */
const WITH_SESSION_TOKEN: ReadonlySet<number> = new Set([404, 409, 412]);

function refusedReply(
  account: LocalAccount,
  range: RangeModel,
  refusal: Refusal,
  operation: DocumentOperation,
): GatewayReply {
  const reply = refusalReply(refusal);
  if (!WITH_SESSION_TOKEN.has(refusal.status) || refusal.substatus === READ_SESSION_UNAVAILABLE) return reply;
  const lsn = operation.kind === 'read' ? visibleLsn(account, range, operation.sessionToken) : range.lsn;
  return { ...reply, headers: { ...reply.headers, lsn, 'x-ms-session-token': sessionToken(range, lsn) } };
}

function replyTo(
  request: GatewayRequest,
  container: ContainerModel,
  range: RangeModel,
  outcome: OperationOutcome,
): GatewayReply {
  // The token of a read names the newest transaction that the read saw, because it must not promise a later one.
  const lsn = outcome.seenLsn ?? range.lsn;
  const headers = rangeHeaders(container, range, lsn);
  if (outcome.etag !== undefined) headers['etag'] = outcome.etag;
  const isWrite = outcome.status === 201 || request.method !== 'GET';
  const body = isWrite && request.wantsNoContent ? undefined : outcome.text;
  return { status: outcome.status, body, headers, chargeRu: outcome.chargeRu };
}

/** Deletes every document of one key, before the answer. The service deletes them in the background. */
export function removeKey(request: GatewayRequest): GatewayReply {
  const { account, priority } = request;
  const container = request.container();
  const key = requireKey(request, container);
  const { epk, range } = locate(container, key);
  refuseWhileSplitting(range, account.machineMs());
  account.admit(container, range, priority);
  const removed = WriteTransaction.run(account, container, (transaction) => {
    // With version 1 hashes, documents of another key may have the same effective key.
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
