/**
 * The table of routes: from method and path to a handler, and to the operation under which the request is counted.
 *
 * Invariant: at a level of the path where a name stands, a word of the protocol counts as a name. So a database may be
 * called `colls`.
 */
import { isQuery, isTrue, type GatewayRequest, type GatewayReply, type Headers } from './request.ts';
import type { OperationKind } from '../documents/operations.ts';
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

/**
 * The routes by method and path. For most POSTs the headers decide the verb: QUERY for a query of a list, CREATE for a
 * new resource (`verbOf`).
 */
const ROUTES: Table = {
  'GET /': { op: 'account', handle: account.read },
  'GET /dbs': { op: 'database', handle: databases.list },
  'QUERY /dbs': { op: 'database', handle: databases.list },
  'CREATE /dbs': { op: 'database', handle: databases.create },
  'GET /dbs/*': { op: 'database', handle: databases.read },
  'DELETE /dbs/*': { op: 'database', handle: databases.remove },
  'GET /dbs/*/colls': { op: 'container', handle: containers.list },
  'QUERY /dbs/*/colls': { op: 'container', handle: containers.list },
  'CREATE /dbs/*/colls': { op: 'container', handle: containers.create },
  'GET /dbs/*/colls/*': { op: 'container', handle: containers.read },
  'PUT /dbs/*/colls/*': { op: 'container', handle: containers.replace },
  'DELETE /dbs/*/colls/*': { op: 'container', handle: containers.remove },
  'GET /dbs/*/colls/*/pkranges': { op: 'pkranges', handle: containers.ranges },
  'GET /dbs/*/colls/*/conflicts': { op: 'container', handle: containers.conflicts },
  'QUERY /dbs/*/colls/*/conflicts': { op: 'container', handle: containers.conflicts },
  'POST /dbs/*/colls/*/operations/partitionkeydelete': { op: 'delete', handle: items.removeKey },
  'GET /dbs/*/colls/*/docs': { op: 'read-feed', handle: feed.read },
  'QUERY /dbs/*/colls/*/docs': { op: 'query', handle: query.run },
  'PLAN /dbs/*/colls/*/docs': { op: 'query', handle: query.plan },
  'CREATE /dbs/*/colls/*/docs': { op: 'create', handle: operation('create') },
  'UPSERT /dbs/*/colls/*/docs': { op: 'upsert', handle: operation('upsert') },
  'BULK /dbs/*/colls/*/docs': { op: 'batch', handle: batch.bulk },
  'ATOMIC /dbs/*/colls/*/docs': { op: 'batch', handle: batch.transactional },
  'GET /dbs/*/colls/*/docs/*': { op: 'read', handle: operation('read') },
  'PUT /dbs/*/colls/*/docs/*': { op: 'replace', handle: operation('replace') },
  'PATCH /dbs/*/colls/*/docs/*': { op: 'patch', handle: operation('patch') },
  'DELETE /dbs/*/colls/*/docs/*': { op: 'delete', handle: operation('delete') },
  'GET /offers': { op: 'offer', handle: offers.list },
  'QUERY /offers': { op: 'offer', handle: offers.list },
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

function operation(kind: OperationKind): Route['handle'] {
  return (request) => items.perform(request, kind);
}

function scriptRoutes(kind: string): Table {
  return {
    [`GET /dbs/*/colls/*/${kind}`]: { op: 'script', handle: scripts.list },
    [`QUERY /dbs/*/colls/*/${kind}`]: { op: 'script', handle: scripts.list },
    [`CREATE /dbs/*/colls/*/${kind}`]: { op: 'script', handle: scripts.create },
    [`GET /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.read },
    [`PUT /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.replace },
    [`DELETE /dbs/*/colls/*/${kind}/*`]: { op: 'script', handle: scripts.remove },
  };
}

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The fixed words of the protocol at each level of a path. A step that is not one of them is a name. */
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

/**
 * Returns what a POST on a list does. On lists of anything but documents, a POST without the headers of a query is a
 * create.
 */
function verbOf(pattern: string, headers: Headers): string {
  const says = (name: string): boolean => pattern === '/dbs/*/colls/*/docs' && isTrue(headers, name);
  if (says('x-ms-cosmos-is-batch-request')) return says('x-ms-cosmos-batch-atomic') ? 'ATOMIC' : 'BULK';
  if (says('x-ms-documentdb-is-upsert')) return 'UPSERT';
  if (says('x-ms-cosmos-is-query-plan-request')) return 'PLAN';
  return isQuery(headers) ? 'QUERY' : 'CREATE';
}

/**
 * Returns the route of a request. Throws a Refusal 404 for an unknown path, 405 for an unknown method on a known path.
 */
export function findRoute(method: string, segments: readonly string[], headers: Headers): Route {
  const pattern = patternOf(segments);
  const asGiven = METHODS.includes(method) ? ROUTES[`${method} ${pattern}`] : undefined;
  const route = asGiven ?? (method === 'POST' ? ROUTES[`${verbOf(pattern, headers)} ${pattern}`] : undefined);
  if (route !== undefined) return route;
  refuseUnsupported(segments);
  const isKnown = [...METHODS, 'QUERY', 'CREATE'].some((verb) => ROUTES[`${verb} ${pattern}`] !== undefined);
  if (isKnown) throw new Refusal(405, `The method ${method} is not allowed for /${segments.join('/')}.`);
  throw new Refusal(404, `There is nothing at /${segments.join('/')}.`);
}

/** Kinds of resources that the service has and the emulator does not, by the level of the path at which they occur. */
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
  /** The type as the client signs it: '', 'dbs', 'colls', 'docs', 'pkranges', 'offers', ... */
  readonly resourceType: string;
  /**
   * The path as the client signs it: names are decoded and keep their case, and no slash is at either end. Of an offer,
   * it is the id in lower case.
   */
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
