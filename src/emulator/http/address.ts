/**
 * Finds what a URL path addresses. SDKs write the names of resources (`dbs/shop/colls/orders`), or the `_self` link of
 * a resource, which consists of resource ids (`dbs/WgAAAQ==/colls/WgAAAYAAAAE=`).
 *
 * Invariant: every later step sees names only. A resource id that belongs to no resource is passed on as if it were a
 * name, and so leads to a 404.
 */
import type { LocalAccount } from '../account/account.ts';
import type { ContainerModel } from '../account/model.ts';
import { positionOf } from '../storage/document-store.ts';
import { childNumber, isDatabaseRid } from '../storage/resource-ids.ts';
import { badRequest } from './refusal.ts';
import { signedResource, type SignedResource } from './routes.ts';

interface Address {
  /** The decoded steps of the path, as names. */
  readonly segments: readonly string[];
  /** What the client signs about the path. */
  readonly signed: SignedResource;
}

export function addressOf(account: LocalAccount, url: string): Address {
  const segments = segmentsOf(url);
  const signed = signedResource(segments);
  const [kind, first = ''] = segments;
  if (kind !== 'dbs' || !isDatabaseRid(first) || account.databases.has(first)) return { segments, signed };
  // Of a `_self` link a client signs the last resource id alone, in lower case.
  const rid = signed.resourceId.split('/').at(-1) ?? '';
  return { segments: named(account, segments), signed: { ...signed, resourceId: rid.toLowerCase() } };
}

/** Returns the steps of a `_self` link with names in place of the resource ids. */
function named(account: LocalAccount, segments: readonly string[]): string[] {
  const steps = [...segments];
  const database = [...account.databases.values()].find(({ rid }) => rid === steps[1]);
  if (database === undefined) return steps;
  steps[1] = database.id;
  const container = [...database.containers.values()].find(({ rid }) => rid === steps[3]);
  if (container === undefined) return steps;
  steps[3] = container.id;
  const [, , , , kind = '', rid] = steps;
  if (rid !== undefined) steps[5] = childName(account, container, kind, rid) ?? rid;
  return steps;
}

function childName(
  account: LocalAccount,
  container: ContainerModel,
  kind: string,
  rid: string,
): string | undefined {
  if (kind !== 'docs')
    return account.catalog.scripts(container.number, kind).find((row) => row.rid === rid)?.id;
  const number = childNumber(rid);
  if (number === undefined || container.documentRid(number) !== rid) return undefined;
  return account.documents.at(positionOf(container.number, number))?.id;
}

/** Returns the decoded steps of a URL's path, without the query string. */
function segmentsOf(url: string): string[] {
  // The JavaScript SDK does not escape a question mark in the id of a document, and no request has a query string. So a
  // question mark in the path of a document is a part of the id.
  const isDocument = /^\/dbs\/[^/?]+\/colls\/[^/?]+\/docs\/[^/]/.test(url);
  const path = isDocument ? url : (url.split('?', 1)[0] ?? '/');
  try {
    return path
      .split('/')
      .filter((step) => step !== '')
      .map((step) => decodeURIComponent(step));
  } catch {
    throw badRequest('The path is not a valid URL path.');
  }
}
