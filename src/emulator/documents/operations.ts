/**
 * Executes one operation on one document: create, upsert, replace, delete, patch or read.
 *
 * Invariant: an operation takes effect as a whole, or throws a Refusal and writes nothing. A bulk request can
 * therefore continue after a failed operation.
 */
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { LocalAccount } from '../account/account.ts';
import {
  CONFLICT_RU,
  writeCharge,
  POINT_MISS_RU,
  readCharge,
  REFUSED_RU,
  replaceCharge,
} from '../partitions/charges.ts';
import { keyText } from '../account/container-definition.ts';
import { valueAtPath } from '../json/json-value.ts';
import type { DocumentRow } from '../storage/document-store.ts';
import { checkId, completeKey, keyAs, receive, type IncomingDocument } from './incoming-document.ts';
import type { ContainerModel } from '../account/model.ts';
import { rangeOf, type RangeModel } from '../partitions/ranges.ts';
import { patchDocument, type PatchRequest } from './patch.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { visibleLsn } from '../partitions/sessions.ts';
import { changedTerms } from './index-terms.ts';
import type { WriteTransaction } from './write-transaction.ts';

export type OperationKind = 'create' | 'upsert' | 'replace' | 'delete' | 'patch' | 'read';

export interface DocumentOperation {
  readonly kind: OperationKind;
  readonly key: readonly KeyComponent[];
  /** The id that the request names. A create or upsert has its id only in the document. */
  readonly id?: string | undefined;
  readonly text?: string | undefined;
  readonly parsed?: unknown;
  readonly patch?: PatchRequest | undefined;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly sessionToken?: string | undefined;
}

export interface OperationOutcome {
  readonly status: number;
  readonly range: RangeModel;
  readonly chargeRu: number;
  readonly etag?: string;
  /** The document after the operation, as JSON text. */
  readonly text?: string;
  /** The LSN of the newest transaction that a read saw. On a lagging replica it may be lower than the range's. */
  readonly seenLsn?: number;
}

interface Location {
  readonly epk: string;
  readonly range: RangeModel;
}

/** Returns the effective key of some key values, and the range that contains this effective key. */
export function locate(container: ContainerModel, key: readonly KeyComponent[]): Location {
  completeKey(container, key);
  const epk = effectiveKey(container.definition.kind, key);
  return { epk, range: rangeOf(container.ranges, epk) };
}

export function execute(transaction: WriteTransaction, given: DocumentOperation): OperationOutcome {
  const operation = { ...given, key: keyAs(transaction.account, given.key) };
  switch (operation.kind) {
    case 'create':
    case 'upsert':
      return put(transaction, operation);
    case 'replace':
      return replace(transaction, operation);
    case 'patch':
      return patch(transaction, operation);
    case 'delete':
      return remove(transaction, operation);
    case 'read':
      return read(transaction.account, transaction.container, operation);
  }
}

/** Reads a document. A read needs no transaction. */
export function read(
  account: LocalAccount,
  container: ContainerModel,
  operation: DocumentOperation,
): OperationOutcome {
  const { epk, range } = locate(container, operation.key);
  const id = checkId(operation.id);
  const upTo = visibleLsn(account, range, operation.sessionToken);
  let row = account.documents.find(container.number, epk, id);
  // With version 1 hashes, long keys may have the same effective key. So the row may be a document of another key.
  if (row !== undefined && row.key !== keyText(operation.key)) throw missing(id);
  if (upTo < range.lsn && (row === undefined || row.lsn > upTo)) {
    row = account.documents.findSuperseded({ container: container.number, epk, id, lsn: upTo });
  }
  const expired = row !== undefined && row.expires_at !== null && row.expires_at <= account.nowTs();
  if (row === undefined || expired) throw missing(id);
  const seen = { range, chargeRu: readCharge(row.bytes), etag: row.etag, seenLsn: upTo };
  if (operation.ifNoneMatch !== undefined && etagMatches(operation.ifNoneMatch, row.etag)) {
    return { status: 304, ...seen };
  }
  return { status: 200, ...seen, text: `${row.text}}` };
}

function idTaken(chargeRu: number): Refusal {
  return new Refusal(409, 'Entity with the specified id already exists in the system.', { chargeRu });
}

function missing(id: string): Refusal {
  return new Refusal(404, `Entity with the specified id does not exist: ${id}`, {
    chargeRu: POINT_MISS_RU,
  });
}

function etagMatches(condition: string, etag: string): boolean {
  return condition === '*' || condition === etag || `"${condition}"` === etag;
}

function checkConditions(
  { account }: WriteTransaction,
  { ifMatch, ifNoneMatch }: DocumentOperation,
  row: DocumentRow,
): void {
  if (account.deviates('conditions-ignored')) return;
  if (ifMatch !== undefined && !etagMatches(ifMatch, row.etag)) throw preconditionFailed(row);
  if (ifNoneMatch !== undefined && etagMatches(ifNoneMatch, row.etag)) throw preconditionFailed(row);
}

function preconditionFailed(row: DocumentRow): Refusal {
  const message = 'Operation cannot be performed because one of the specified preconditions is not met.';
  return new Refusal(412, message, { chargeRu: readCharge(row.bytes) });
}

/** Returns the document that an operation writes. */
function receiveFrom(
  { account, container }: WriteTransaction,
  operation: DocumentOperation,
): IncomingDocument {
  const { text, key, parsed } = operation;
  if (text === undefined) throw badRequest('The operation has no document.');
  return receive(account, container, text, key, parsed);
}

/**
 * Returns the document that an operation names. Throws a Refusal if there is none, or if a condition of the operation
 * does not hold for it.
 */
function current(
  transaction: WriteTransaction,
  operation: DocumentOperation,
  { epk, id, key }: { epk: string; id: string; key: string },
): DocumentRow {
  const row = transaction.find(epk, id);
  if (row === undefined || row.key !== key || transaction.hasExpired(row)) throw missing(id);
  checkConditions(transaction, operation, row);
  return row;
}

function put(transaction: WriteTransaction, operation: DocumentOperation): OperationOutcome {
  const { container } = transaction;
  const incoming = receiveFrom(transaction, operation);
  const range = rangeOf(container.ranges, incoming.epk);
  // Most creates find no document. Without unique keys the insert itself detects a taken id, which saves a lookup.
  const insertFirst = operation.kind === 'create' && container.definition.uniqueKeys.length === 0;
  let before = insertFirst ? undefined : transaction.find(incoming.epk, incoming.id);
  if (before === undefined) {
    const row = insert(transaction, range, incoming);
    if (row !== undefined) return written(201, range, row, createRu(transaction, row));
    before = transaction.find(incoming.epk, incoming.id);
  }
  if (before !== undefined && transaction.hasExpired(before)) {
    transaction.remove(range, before, true);
    before = undefined;
    const row = insert(transaction, range, incoming);
    if (row !== undefined) return written(201, range, row, createRu(transaction, row));
  }
  if (before === undefined) throw idTaken(REFUSED_RU);
  if (before.key !== incoming.key) {
    throw new Refusal(409, 'A document of another partition key value with the same hash has this id.', {
      substatus: 3302,
      chargeRu: conflictRu(transaction),
    });
  }
  if (operation.kind === 'create') throw idTaken(conflictRu(transaction));
  checkConditions(transaction, operation, before);
  return overwrite(transaction, range, before, incoming);
}

function replace(transaction: WriteTransaction, operation: DocumentOperation): OperationOutcome {
  const { container } = transaction;
  const id = checkId(operation.id);
  const incoming = receiveFrom(transaction, operation);
  const range = rangeOf(container.ranges, incoming.epk);
  const before = current(transaction, operation, { ...incoming, id });
  if (incoming.id !== id) takeId(transaction, range, incoming);
  return overwrite(transaction, range, before, incoming);
}

/**
 * Refuses a rename to an id that another document of the same key has. If that document has expired, removes it
 * instead.
 */
function takeId(transaction: WriteTransaction, range: RangeModel, { epk, id }: IncomingDocument): void {
  const other = transaction.find(epk, id);
  if (other === undefined) return;
  if (transaction.hasExpired(other)) return transaction.remove(range, other, true);
  throw idTaken(CONFLICT_RU);
}

function patch(transaction: WriteTransaction, operation: DocumentOperation): OperationOutcome {
  const { container } = transaction;
  const id = checkId(operation.id);
  if (operation.patch === undefined) throw badRequest('The patch has no operations.');
  const location = locate(container, operation.key);
  const key = keyText(operation.key);
  const before = current(transaction, operation, { epk: location.epk, id, key });
  const text = patchDocument(`${before.text}}`, operation.patch, container.definition);
  const incoming = receive(transaction.account, container, text, operation.key);
  if (incoming.id !== id) throw badRequest('A patch must not change the id.');
  return overwrite(transaction, location.range, before, incoming, operation.patch.operations.length);
}

function remove(transaction: WriteTransaction, operation: DocumentOperation): OperationOutcome {
  const id = checkId(operation.id);
  const location = locate(transaction.container, operation.key);
  const key = keyText(operation.key);
  const before = current(transaction, operation, { epk: location.epk, id, key });
  transaction.remove(location.range, before, false);
  return { status: 204, range: location.range, chargeRu: writeCharge(before.bytes, before.terms) };
}

function createRu({ account }: WriteTransaction, { bytes, terms }: DocumentRow): number {
  return writeCharge(bytes, terms) * (account.deviates('dear-creates') ? 5 : 1);
}

function conflictRu({ account }: WriteTransaction): number {
  return account.deviates('dear-conflicts') ? 20 * CONFLICT_RU : CONFLICT_RU;
}

function written(status: number, range: RangeModel, row: DocumentRow, chargeRu: number): OperationOutcome {
  return { status, range, chargeRu, etag: row.etag, text: `${row.text}}` };
}

function insert(
  transaction: WriteTransaction,
  range: RangeModel,
  incoming: IncomingDocument,
): DocumentRow | undefined {
  refuseOverfull(transaction, range, incoming, 0);
  const values = uniqueValues(transaction, incoming);
  refuseTaken(transaction, incoming, values);
  const row = transaction.insert(range, incoming);
  if (row !== undefined) claim(transaction, row, values);
  return row;
}

function overwrite(
  transaction: WriteTransaction,
  range: RangeModel,
  before: DocumentRow,
  incoming: IncomingDocument,
  patchOperations?: number,
): OperationOutcome {
  refuseOverfull(transaction, range, incoming, before.bytes);
  const values = uniqueValues(transaction, incoming);
  refuseTaken(transaction, incoming, values, before.position);
  const terms = changedTerms(
    JSON.parse(`${before.text}}`),
    incoming.parsed,
    transaction.container.definition.indexing,
  );
  const row = transaction.replace(range, before, incoming);
  if (values.length > 0) transaction.account.documents.releaseUnique(row.position);
  claim(transaction, row, values);
  const chargeRu = replaceCharge(before.bytes, row.bytes, terms, patchOperations);
  return written(200, range, row, chargeRu);
}

function refuseOverfull(
  transaction: WriteTransaction,
  range: RangeModel,
  incoming: IncomingDocument,
  freedBytes: number,
): void {
  const { account } = transaction;
  const limit = account.settings.logicalPartitionLimitBytes;
  const added = incoming.bytes - freedBytes;
  // A logical partition lies within one range. While the range is below the limit, so is each partition in it.
  if (added <= 0 || transaction.bytesOf(range) + added <= limit) return;
  if (account.documents.keyBytes(transaction.container.number, incoming.epk) + added <= limit) return;
  throw new Refusal(403, 'Partition key reached maximum size.', { substatus: 1014 });
}

/** Returns one text for each unique key of the container. A missing value counts as null. */
function uniqueValues({ account, container }: WriteTransaction, incoming: IncomingDocument): string[] {
  const { uniqueKeys } = container.definition;
  const absent = account.deviates('missing-is-unique') ? { missingOf: incoming.id } : null;
  if (uniqueKeys.length === 0) return [];
  return uniqueKeys.map((paths) =>
    JSON.stringify(paths.map((path) => valueAtPath(incoming.parsed, path) ?? absent)),
  );
}

/**
 * Refuses a unique value that another document of the logical partition has. If that document has expired, removes it
 * instead.
 */
function refuseTaken(
  transaction: WriteTransaction,
  incoming: IncomingDocument,
  values: readonly string[],
  ownPosition?: number,
): void {
  const { account, container } = transaction;
  for (const [number, value] of values.entries()) {
    const position = account.documents.uniqueHolder(container.number, incoming.epk, number, value);
    if (position === undefined || position === ownPosition) continue;
    const holder = must(account.documents.at(position), 'every unique value belongs to a stored document');
    if (!transaction.hasExpired(holder)) {
      throw new Refusal(409, 'Unique index constraint violation.', { chargeRu: conflictRu(transaction) });
    }
    transaction.remove(rangeOf(container.ranges, holder.epk), holder, true);
  }
}

function claim({ account }: WriteTransaction, row: DocumentRow, values: readonly string[]): void {
  for (const [number, value] of values.entries()) {
    account.documents.claimUnique(row.container, row.epk, number, value, row.position);
  }
}
