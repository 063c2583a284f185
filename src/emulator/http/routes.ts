/**
 * The table of routes: from method and path to a handler, and to the operation under which the request is counted.
 *
 * Invariant: where a path holds a name, a word of the protocol is a name too. A database may be called `colls`.
 */
import { isQuery, type GatewayRequest, type GatewayReply } from './request.ts';
import type { FaultOp } from './faults.ts';
import * as account from '../handlers/account.ts';
import * as admin from '../handlers/admin.ts';
import * as batch from '../handlers/batch.ts';
import * as containers from '../handlers/containers.ts';
import * as databases from '../handlers/databases.ts';
import * as feed from '../handlers/feed.ts';
import * as items from '../handlers/items.ts';
import * as offers from '../handlers/offers.ts';
import * as query from '../handlers/query.ts';
import * as scripts from '../handlers/scripts.ts';
import { badRequest, Refusal } from './refusal.ts';

export interface Route {
  readonly op: FaultOp | 'admin';
  readonly handle: (request: GatewayRequest) => GatewayReply;
}

type Table = Readonly<Record<string, Route>>;

const PLAIN: Table = {
  'GET /': { op: 'account', handle: account.read },
  'GET /dbs': { op: 'database', handle: databases.list },
  'GET /dbs/*': { op: 'database', handle: databases.read },
  'DELETE /dbs/*': { op: 'database', handle: databases.remove },
  'GET /dbs/*/colls': { op: 'container', handle: containers.list },
  'GET /dbs/*/colls/*': { op: 'container', handle: containers.read },
  'PUT /dbs/*/colls/*': { op: 'container', handle: containers.replace },
  'DELETE /dbs/*/colls/*': { op: 'container', handle: containers.remove },
  'GET /dbs/*/colls/*/pkranges': { op: 'pkranges', handle: containers.ranges },
  'GET /dbs/*/colls/*/conflicts': { op: 'container', handle: containers.conflicts },
  'POST /dbs/*/colls/*/operations/partitionkeydelete': { op: 'delete', handle: items.removeKey },
  'GET /dbs/*/colls/*/docs': { op: 'read-feed', handle: feed.read },
  'GET /dbs/*/colls/*/docs/*': { op: 'read', handle: items.read },
  'PUT /dbs/*/colls/*/docs/*': { op: 'replace', handle: items.replace },
  'PATCH /dbs/*/colls/*/docs/*': { op: 'patch', handle: items.patch },
  'DELETE /dbs/*/colls/*/docs/*': { op: 'delete', handle: items.remove },
  'GET /offers': { op: 'offer', handle: offers.list },
  'GET /offers/*': { op: 'offer', handle: offers.read },
  'PUT /offers/*': { op: 'offer', handle: offers.replace },
  'GET /_emulator/state': { op: 'admin', handle: admin.state },
  'POST /_emulator/containers/*/*/split': { op: 'admin', handle: admin.split },
  'POST /_emulator/containers/*/*/merge': { op: 'admin', handle: admin.merge },
  'POST /_emulator/containers/*/*/purge-expired': { op: 'admin', handle: admin.purge },
  'PUT /_emulator/account': { op: 'admin', handle: admin.configure },
  'PUT /_emulator/clock': { op: 'admin', handle: admin.shiftClock },
  'PUT /_emulator/faults': { op: 'admin', handle: admin.setFaults },
  'DELETE /_emulator/faults': { op: 'admin', handle: admin.clearFaults },
  ...scriptRoutes('sprocs'),
  ...scriptRoutes('triggers'),
  ...scriptRoutes('udfs'),
  'POST /dbs/*/colls/*/sprocs/*': { op: 'script', handle: scripts.run },
};

/** The routes of a POST on a list that has no header which makes it a query, an upsert or a batch. */
const CREATES: Table = {
  '/dbs': { op: 'database', handle: databases.create },
  '/dbs/*/colls': { op: 'container', handle: containers.create },
  '/dbs/*/colls/*/sprocs': { op: 'script', handle: scripts.create },
  '/dbs/*/colls/*/triggers': { op: 'script', handle: scripts.create },
  '/dbs/*/colls/*/udfs': { op: 'script', handle: scripts.create },
  '/dbs/*/colls/*/docs': { op: 'create', handle: items.create },
};

const QUERIES: Table = {
  '/dbs': { op: 'database', handle: databases.list },
  '/dbs/*/colls': { op: 'container', handle: containers.list },
  '/dbs/*/colls/*/sprocs': { op: 'script', handle: scripts.list },
  '/dbs/*/colls/*/triggers': { op: 'script', handle: scripts.list },
  '/dbs/*/colls/*/udfs': { op: 'script', handle: scripts.list },
  '/dbs/*/colls/*/conflicts': { op: 'container', handle: containers.conflicts },
  '/dbs/*/colls/*/docs': { op: 'query', handle: query.run },
  '/offers': { op: 'offer', handle: offers.list },
};

const PLAN: Route = { op: 'query', handle: query.plan };
const UPSERT: Route = { op: 'upsert', handle: items.upsert };
const BULK: Route = { op: 'batch', handle: batch.bulk };
const TRANSACTIONAL: Route = { op: 'batch', handle: batch.transactional };

function scriptRoutes(kind: string): Table {
  return {
    [`GET /dbs/*/colls/*/${kind}`]: { op: 'script', handle: scripts.list },
    [`GET /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.read },
    [`PUT /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.replace },
    [`DELETE /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.remove },
  };
}

/** The words of the protocol at each level of a path. Every other step is a name. */
const WORDS_AT: readonly ReadonlySet<string>[] = [
  'dbs offers _emulator',
  'state containers account clock faults',
  'colls users',
  '',
  'docs pkranges sprocs triggers udfs conflicts operations split merge purge-expired',
  'partitionkeydelete',
].map((words) => new Set(words.split(' ')));

function patternOf(segments: readonly string[]): string {
  const isAdmin = segments[0] === '_emulator';
  const steps = segments.map((segment, level) => {
    const isName = isAdmin
      ? level === 2 || level === 3
      : level % 2 === 1 && segments[level - 1] !== 'operations';
    return !isName && WORDS_AT[level]?.has(segment) === true ? segment : '*';
  });
  return `/${steps.join('/')}`;
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true';
}

type Headers = Readonly<Record<string, string | undefined>>;

function postRoute(pattern: string, headers: Headers): Route | undefined {
  const isDocuments = pattern === '/dbs/*/colls/*/docs';
  if (isDocuments && isTrue(headers['x-ms-cosmos-is-batch-request'])) {
    return isTrue(headers['x-ms-cosmos-batch-atomic']) ? TRANSACTIONAL : BULK;
  }
  if (isDocuments && isTrue(headers['x-ms-documentdb-is-upsert'])) return UPSERT;
  if (isDocuments && isTrue(headers['x-ms-cosmos-is-query-plan-request'])) return PLAN;
  return (isQuery(headers) ? QUERIES : CREATES)[pattern];
}

/**
 * Returns the route of a request. Throws a Refusal 404 for an unknown path, 405 for an unknown method on a known path.
 */
export function findRoute(method: string, segments: readonly string[], headers: Headers): Route {
  const pattern = patternOf(segments);
  const route =
    PLAIN[`${method} ${pattern}`] ?? (method === 'POST' ? postRoute(pattern, headers) : undefined);
  if (route !== undefined) return route;
  refuseUnsupported(segments);
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const isKnown =
    methods.some((other) => PLAIN[`${other} ${pattern}`]) || pattern in CREATES || pattern in QUERIES;
  if (isKnown) throw new Refusal(405, `The method ${method} is not allowed for /${segments.join('/')}.`);
  throw new Refusal(404, `There is nothing at /${segments.join('/')}.`);
}

/** Kinds of resources that the service has and the emulator does not, by the level of the path at which they stand. */
const UNSUPPORTED: readonly Readonly<Record<string, string>>[] = [
  { media: 'Attachments' },
  {},
  {
    users: 'Users and permissions',
    clientencryptionkeys: 'Client encryption keys',
    udts: 'User-defined types',
  },
  {},
  { schemas: 'Schemas' },
  {},
  { attachments: 'Attachments' },
];

function refuseUnsupported(segments: readonly string[]): void {
  for (const [level, kinds] of UNSUPPORTED.entries()) {
    const kind = segments[level] ?? '';
    if (segments[0] !== '_emulator' && Object.hasOwn(kinds, kind))
      throw new Refusal(501, `${kinds[kind]} are not supported by this emulator.`);
  }
  if (segments[0] === 'offers' && segments.length > 2)
    throw badRequest(`/${segments.join('/')} is not the address of an offer: use /offers/ and its id.`);
}

/** What a client signs about a path: the resource type, and the id of the resource or of its parent. */
export interface SignedResource {
  readonly resourceType: string;
  readonly resourceId: string;
}

export function signedResource(segments: readonly string[]): SignedResource {
  // A client signs the id of an offer without the `offers/` before it.
  if (segments[0] === 'offers')
    return { resourceType: 'offers', resourceId: (segments[1] ?? '').toLowerCase() };
  if (segments[4] === 'operations')
    return { resourceType: 'colls', resourceId: segments.slice(0, 4).join('/') };
  const isFeed = segments.length % 2 === 1;
  const resourceType = (isFeed ? segments.at(-1) : segments.at(-2)) ?? '';
  return { resourceType, resourceId: (isFeed ? segments.slice(0, -1) : segments).join('/') };
}
