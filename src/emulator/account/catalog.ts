/**
 * Creates, changes and deletes databases, containers and offers. Handlers read these objects directly.
 *
 * Invariant: an object enters or leaves the account's memory only after its transaction has been committed.
 */
import { initialBounds } from '../../epk/bounds.ts';
import type { LocalAccount } from './account.ts';
import { expiryOf } from '../documents/write-transaction.ts';
import {
  itemTtl,
  parseDefinition,
  refuseUnsupported,
  requireName,
  withDefaults,
} from './container-definition.ts';
import { own, type JsonObject } from '../json/json-value.ts';
import { ContainerModel, databaseModel, type DatabaseModel, type OfferModel } from './model.ts';
import {
  DEFAULT_THROUGHPUT,
  rangesFor,
  rangesToCarry,
  refuseBelowMinimum,
  type ProvisionedThroughput,
} from '../partitions/offers.ts';
import { newRange, rangeToRow } from '../partitions/ranges.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { containerRid, databaseRid } from '../storage/resource-ids.ts';

const SYSTEM: ReadonlySet<string> = new Set([
  '_rid', '_self', '_etag', '_ts', '_docs', '_sprocs', '_triggers', '_udfs', '_conflicts', '_colls', '_users', 'statistics',
]); // prettier-ignore

function withoutSystem(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !SYSTEM.has(name)));
}

export function createDatabase(
  account: LocalAccount,
  body: JsonObject,
  throughput: ProvisionedThroughput | undefined,
): DatabaseModel {
  const id = requireName(body, 'database');
  if (account.databases.has(id)) throw new Refusal(409, `A database with id ${id} exists already.`);
  const number = account.catalog.nextNumber('databases');
  const row = {
    number,
    id,
    rid: databaseRid(number),
    body: JSON.stringify(withoutSystem(body)),
    ...account.newVersion(),
  };
  const database = databaseModel(row);
  const offer = throughput === undefined ? undefined : newOffer(account, database, throughput);
  account.transaction(() => {
    account.catalog.insertDatabase(row);
    if (offer !== undefined) account.saveOffer(offer);
  });
  account.databases.set(id, database);
  if (offer !== undefined) account.offers.set(offer.resource, offer);
  return database;
}

export function deleteDatabase(account: LocalAccount, database: DatabaseModel): void {
  account.transaction(() => {
    for (const container of database.containers.values()) dropContainer(account, container);
    account.catalog.deleteOffer(database.self);
    account.catalog.deleteDatabase(database.number);
  });
  for (const container of database.containers.values()) forgetContainer(account, container);
  account.offers.delete(database.self);
  account.meter.forget(database.self);
  account.databases.delete(database.id);
}

export function createContainer(
  account: LocalAccount,
  database: DatabaseModel,
  body: JsonObject,
  throughput: ProvisionedThroughput | undefined,
): ContainerModel {
  const id = requireName(body, 'container');
  const definition = parseDefinition(body);
  refuseUnsupported(body);
  if (database.containers.has(id))
    throw new Refusal(409, `A container with id ${id} exists already in ${database.id}.`);
  if (account.settings.avad && own(body, 'changeFeedPolicy') !== undefined) {
    throw badRequest('With continuous backup the retention of the change feed cannot be set on a container.');
  }
  const shared = account.offers.get(database.self);
  const paid = throughput ?? (shared === undefined ? DEFAULT_THROUGHPUT : undefined);
  const number = account.catalog.nextNumber('containers');
  const row = {
    number,
    database: database.number,
    id,
    rid: containerRid(database.number, number),
    body: JSON.stringify(withDefaults(withoutSystem(body))),
    ...account.newVersion(),
  };
  const count = rangesFor(paid ?? DEFAULT_THROUGHPUT);
  const bounds = initialBounds(definition.kind, count);
  const ranges = bounds
    .slice(0, -1)
    .map((min, index) => rangeToRow(number, newRange(index, min, bounds[index + 1] ?? 'FF')));
  const container = new ContainerModel({ ...row, next_range: count, next_item: 1 }, database, ranges);
  const offer = paid === undefined ? undefined : newOffer(account, container, paid);
  account.transaction(() => {
    account.catalog.insertContainer(row);
    account.catalog.countContainer({ number, nextRange: count, nextItem: 1 });
    for (const range of ranges) account.catalog.insertRange(range);
    if (offer !== undefined) account.saveOffer(offer);
  });
  database.containers.set(id, container);
  if (offer !== undefined) account.offers.set(offer.resource, offer);
  return container;
}

export function replaceContainer(account: LocalAccount, container: ContainerModel, body: JsonObject): void {
  if (requireName(body, 'container') !== container.id)
    throw badRequest('The id of a container cannot be changed.');
  const definition = parseDefinition(body);
  refuseUnsupported(body);
  for (const fixed of ['partitionKey', 'uniqueKeyPolicy', 'conflictResolutionPolicy']) {
    const [before, after] = [own(container.body, fixed), own(withDefaults(body), fixed)];
    if (canonical(before) !== canonical(after)) {
      throw badRequest(`The ${fixed} of a container is fixed when it is created.`);
    }
  }
  const next = withDefaults(withoutSystem(body));
  const version = account.newVersion();
  account.transaction(() => {
    account.catalog.updateContainer({ number: container.number, body: JSON.stringify(next), ...version });
    if (definition.defaultTtl !== container.definition.defaultTtl) {
      retime(account, container, definition.defaultTtl);
    }
  });
  Object.assign(container, { body: next, definition, ...version });
}

/**
 * After a change of the default lifetime, recomputes when each stored document expires. Expired documents may reappear.
 */
function retime(account: LocalAccount, container: ContainerModel, defaultTtl: number | null): void {
  for (const { text, position, ts, expires_at } of account.documents.rowsOf(container.number)) {
    const ttl = itemTtl(JSON.parse(`${text}}`) as JsonObject);
    const expiresAt = expiryOf(defaultTtl, ttl, ts);
    if (expiresAt !== expires_at) account.documents.setExpiry({ position, expiresAt });
  }
}

/**
 * Returns a value as text with sorted properties, for comparing definitions: a client may send properties back in
 * another order.
 */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

export function deleteContainer(account: LocalAccount, container: ContainerModel): void {
  account.transaction(() => dropContainer(account, container));
  container.database.containers.delete(container.id);
  forgetContainer(account, container);
}

function forgetContainer(account: LocalAccount, container: ContainerModel): void {
  account.offers.delete(container.self);
  for (const range of container.ranges) account.forgetSpending(container, range);
}

function dropContainer(account: LocalAccount, container: ContainerModel): void {
  account.documents.dropContainer(container.number);
  account.catalog.deleteOffer(container.self);
  account.catalog.deleteContainer(container.number);
}

function newOffer(
  account: LocalAccount,
  resource: { self: string; rid: string },
  throughput: ProvisionedThroughput,
): OfferModel {
  return {
    id: account.newOfferId(),
    resource: resource.self,
    offerResourceId: resource.rid,
    throughput,
    history: { peakRu: throughput.ru, storedKb: 0 },
    ...account.newVersion(),
    pendingUntilMs: undefined,
  };
}

/**
 * Returns what decides the minimum throughput of an offer: its highest throughput and the most storage it has covered.
 */
export function offerHistory(account: LocalAccount, offer: OfferModel): OfferModel['history'] {
  let bytes = 0;
  for (const container of account.containers()) {
    if (container.self === offer.resource || container.database.self === offer.resource)
      bytes += container.bytes;
  }
  return { peakRu: offer.history.peakRu, storedKb: Math.max(offer.history.storedKb, bytes / 1024) };
}

/**
 * Changes a throughput. The part that the current ranges can carry takes effect at once, and the rest when the new
 * ranges have been created.
 */
export function changeThroughput(
  account: LocalAccount,
  offer: OfferModel,
  throughput: ProvisionedThroughput,
): void {
  if (offer.pendingUntilMs !== undefined) {
    throw badRequest('Another change of this throughput is still in progress.', { substatus: 3205 });
  }
  const history = offerHistory(account, offer);
  refuseBelowMinimum(throughput, history);
  const container = [...account.containers()].find((candidate) => candidate.self === offer.resource);
  const needsRanges = container !== undefined && rangesToCarry(throughput) > container.ranges.length;
  const changed = {
    ...offer,
    throughput,
    history: { ...history, peakRu: Math.max(history.peakRu, throughput.ru) },
    ...account.newVersion(),
    pendingUntilMs: needsRanges ? account.machineMs() + account.settings.scaleUpMs : undefined,
  };
  account.transaction(() => account.saveOffer(changed));
  Object.assign(offer, changed);
}
