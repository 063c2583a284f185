/**
 * Answers requests with many operations: a transactional batch (one key, all or nothing) or a bulk request (one range,
 * each operation succeeds or fails by itself).
 *
 * Invariant: a request of either kind is one transaction with one LSN, and its reply has one result for each operation.
 */
import { isTrue, rangeHeaders, type GatewayReply, type GatewayRequest } from '../http/request.ts';
import { REFUSED_RU, roundRu } from '../partitions/charges.ts';
import { keyText, parseKey } from '../account/container-definition.ts';
import { isObject, own } from '../json/json-value.ts';
import { refusalFromFault, type FaultOp } from '../http/faults.ts';
import { elementsOf, membersOf, skipSpace } from '../json/json-text.ts';
import type { ContainerModel } from '../account/model.ts';
import {
  execute,
  locate,
  type OperationKind,
  type DocumentOperation,
  type OperationOutcome,
} from '../documents/operations.ts';
import { rangeById, refuseWhileSplitting, type RangeModel } from '../partitions/ranges.ts';
import { parsePatch } from '../documents/patch.ts';
import { badRequest, Refusal, tooLarge } from '../http/refusal.ts';
import { WriteTransaction } from '../documents/write-transaction.ts';
import { requireKey } from './items.ts';

const OPERATIONS_MAX = 100;
const REQUEST_BYTES_MAX = 2 * 1024 * 1024;

const KINDS: ReadonlyMap<unknown, OperationKind> = new Map([
  ['Create', 'create'],
  ['Upsert', 'upsert'],
  ['Replace', 'replace'],
  ['Delete', 'delete'],
  ['Patch', 'patch'],
  ['Read', 'read'],
]);

/** One operation of the request: its parsed JSON, and the text of its document. */
interface Item {
  readonly parsed: unknown;
  readonly text: string | undefined;
}

interface Result {
  readonly status: number;
  readonly substatus: number;
  readonly chargeRu: number;
  readonly json: string;
}

/** Thrown to roll back a transactional batch. It carries the results for the reply. */
class BatchUndone extends Error {
  readonly results: readonly Result[];
  constructor(results: readonly Result[]) {
    super('the batch was undone');
    this.results = results;
  }
}

function readItems(request: GatewayRequest): Item[] {
  if (Buffer.byteLength(request.body) > REQUEST_BYTES_MAX) {
    throw tooLarge(REQUEST_BYTES_MAX);
  }
  const parsed = request.anyJsonBody();
  if (!Array.isArray(parsed)) throw badRequest('A batch must be a JSON array of operations.');
  if (parsed.length === 0) throw badRequest('Batch request has no operations.');
  const most = request.account.deviates('batches-of-50') ? OPERATIONS_MAX / 2 : OPERATIONS_MAX;
  if (parsed.length > most) {
    throw badRequest(`A batch has 1 to ${most} operations, not ${parsed.length}.`);
  }
  const { body } = request;
  const start = skipSpace(body, 0);
  return [...elementsOf(body, start)].map((element, index): Item => {
    let text: string | undefined;
    if (body[element.start] === '{') {
      for (const member of membersOf(body, element.start)) {
        if (member.name === 'resourceBody') text = body.slice(member.valueStart, member.end);
      }
    }
    return { parsed: parsed[index], text };
  });
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function operationOf(
  container: ContainerModel,
  item: Item,
  batchKey: DocumentOperation['key'] | undefined,
): DocumentOperation {
  const { parsed, text } = item;
  if (!isObject(parsed)) throw badRequest('An operation of a batch must be a JSON object.');
  const type = own(parsed, 'operationType');
  const kind = KINDS.get(type);
  if (kind === undefined) {
    const given = typeof type === 'string' ? type.slice(0, 100) : `of type ${typeof type}`;
    throw badRequest(`The operation type ${given} is unknown: use ${[...KINDS.keys()].join(', ')}.`);
  }
  const stated = own(parsed, 'partitionKey');
  if (stated !== undefined && typeof stated !== 'string') {
    throw badRequest('The partition key of an operation must be a string that contains a JSON array.');
  }
  if (stated === undefined && batchKey === undefined)
    throw badRequest('The operation names no partition key.');
  const key = stated === undefined ? batchKey : parseKey(container.definition, stated);
  if (key === undefined || (batchKey !== undefined && keyText(key) !== keyText(batchKey))) {
    throw badRequest('All operations of a transactional batch must have the key of the batch.');
  }
  return {
    kind,
    key,
    id: optionalText(own(parsed, 'id')),
    text: kind === 'patch' ? undefined : text,
    parsed: kind === 'patch' ? undefined : own(parsed, 'resourceBody'),
    patch: kind === 'patch' ? parsePatch(text ?? '') : undefined,
    ifMatch: optionalText(own(parsed, 'ifMatch')),
    ifNoneMatch: optionalText(own(parsed, 'ifNoneMatch')),
  };
}

function succeeded(request: GatewayRequest, outcome: OperationOutcome, kind: OperationKind): Result {
  const etag = outcome.etag === undefined ? '' : `,"eTag":${JSON.stringify(outcome.etag)}`;
  const shows = outcome.text !== undefined && (kind === 'read' || !request.wantsNoContent);
  const body = shows ? `,"resourceBody":${outcome.text}` : '';
  const { status, chargeRu } = outcome;
  return {
    status,
    substatus: 0,
    chargeRu,
    json: `{"statusCode":${status},"requestCharge":${chargeRu}${etag}${body}}`,
  };
}

function refused(refusal: Refusal): Result {
  const { status, substatus, retryAfterMs, message } = refusal;
  const chargeRu = refusal.chargeRu ?? REFUSED_RU;
  const json = JSON.stringify({
    statusCode: status,
    subStatusCode: substatus === 0 ? undefined : substatus,
    requestCharge: chargeRu,
    retryAfterMilliseconds: retryAfterMs,
    message,
  });
  return { status, substatus, chargeRu, json };
}

const DEPENDENT: Result = {
  status: 424,
  substatus: 0,
  chargeRu: 0,
  json: '{"statusCode":424,"requestCharge":0}',
};

/** Throws a refusal if a fault rule fires for this operation of a bulk request. */
function strikeOne(request: GatewayRequest, container: ContainerModel, range: RangeModel, op: FaultOp): void {
  if (!request.account.faults.active) return;
  const target = { op, db: container.database.id, coll: container.id, rangeId: String(range.id) };
  const refusal = refusalFromFault(request.account.faults.strikeOperation(target));
  if (refusal !== undefined) throw refusal;
}

function attempt(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return refused(error);
    throw error;
  }
}

function bulkOne(
  request: GatewayRequest,
  transaction: WriteTransaction,
  range: RangeModel,
  item: Item,
): Result {
  const { account, priority } = request;
  const { container } = transaction;
  const sessionToken = request.headers['x-ms-session-token'];
  const operation = { ...operationOf(container, item, undefined), sessionToken };
  strikeOne(request, container, range, operation.kind);
  if (locate(container, operation.key).range !== range) {
    throw new Refusal(410, `The key of the operation does not lie in range ${range.id}.`, {
      substatus: 1002,
    });
  }
  account.admit(container, range, priority);
  const result = attempt(() => succeeded(request, execute(transaction, operation), operation.kind));
  account.charge(container, range, result.chargeRu, priority);
  return result;
}

export function bulk(request: GatewayRequest): GatewayReply {
  const container = request.container();
  const rangeId = request.headers['x-ms-documentdb-partitionkeyrangeid'];
  if (rangeId === undefined)
    throw badRequest('A bulk request must name its range in x-ms-documentdb-partitionkeyrangeid.');
  const range = rangeById(container.ranges, rangeId, request.account.machineMs());
  const continuesOnError = isTrue(request.headers, 'x-ms-cosmos-batch-continue-on-error');
  request.account.admit(container, range, request.priority);
  const items = readItems(request);
  const results = WriteTransaction.run(request.account, container, (transaction) => {
    const done: Result[] = [];
    let stopped = false;
    let sizeBytes = 0;
    for (const item of items) {
      let result = stopped ? DEPENDENT : attempt(() => bulkOne(request, transaction, range, item));
      sizeBytes += result.json.length;
      // The writes are kept, so their results must be in the reply. A read that makes the reply too large is refused,
      // because the client can repeat it.
      if (sizeBytes > request.account.settings.pageBytes && own(item.parsed, 'operationType') === 'Read') {
        sizeBytes -= result.json.length;
        result = refused(
          new Refusal(413, 'The reply is full: read this document in another request.', {
            substatus: 3402,
            chargeRu: 0,
          }),
        );
      }
      done.push(result);
      if (!continuesOnError && result.status >= 400) stopped = true;
    }
    return done;
  });
  return replyTo(container, range, results);
}

export function transactional(request: GatewayRequest): GatewayReply {
  const { account, priority } = request;
  const container = request.container();
  const key = requireKey(request, container);
  const { range } = locate(container, key);
  refuseWhileSplitting(range, account.machineMs());
  account.admit(container, range, priority);
  const items = readItems(request);
  let results: readonly Result[];
  try {
    results = WriteTransaction.run(account, container, (transaction) =>
      allOrNothing(request, transaction, key, items),
    );
  } catch (error) {
    if (!(error instanceof BatchUndone)) throw error;
    results = error.results;
  }
  account.charge(container, range, sumOf(results), priority);
  return replyTo(container, range, results);
}

function allOrNothing(
  request: GatewayRequest,
  transaction: WriteTransaction,
  key: DocumentOperation['key'],
  items: readonly Item[],
): Result[] {
  const sessionToken = request.headers['x-ms-session-token'];
  const done: Result[] = [];
  for (const item of items) {
    const result = attempt(() => {
      const operation = { ...operationOf(transaction.container, item, key), sessionToken };
      return succeeded(request, execute(transaction, operation), operation.kind);
    });
    done.push(result);
    if (result.status < 400) continue;
    const failedAt = done.length - 1;
    throw new BatchUndone(items.map((_item, index) => (index === failedAt ? result : DEPENDENT)));
  }
  return done;
}

function sumOf(results: readonly Result[]): number {
  return roundRu(results.reduce((sum, result) => sum + result.chargeRu, 0));
}

function replyTo(container: ContainerModel, range: RangeModel, results: readonly Result[]): GatewayReply {
  const body = `[${results.map((result) => result.json).join(',')}]`;
  const headers = {
    'x-ms-item-count': results.length,
    ...rangeHeaders(container, range, range.lsn),
  };
  const status = results.every((result) => result.status < 400) ? 200 : 207;
  return { status, body, headers, chargeRu: sumOf(results) };
}
