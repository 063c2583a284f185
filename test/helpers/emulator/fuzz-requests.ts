/**
 * Garbage that looks enough like Cosmos traffic to get past the first check of whatever reads it: every
 * route, every header the emulator reads, bodies of every shape, each piece right, nearly right or absurd.
 */
import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { bodyFor } from './fuzz-bodies.ts';

/** Database and containers that the test has made; `kept` holds documents that no request may change. */
export const PLACES = { database: 'shop', kept: 'kept', play: 'play' } as const;
/** Key values and ids of kept documents begin like this, and no generated request can name them. */
export const KEPT_MARK = 'kept~';

export interface GarbageRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  readonly auth: Auth;
}

export type Auth = 'good' | 'none' | 'wrong key' | 'old date' | 'other verb' | 'junk' | 'sas' | 'aad';

const JUNK = [
  '', ' ', '0', '-1', '1', '1.5', '1e400', 'NaN', 'null', 'true', 'True', 'undefined', '[object Object]', '*', '""', '"', "'",
  '{}', '[]', '[{}]', '[[]]', '{"a":', '[1e400]', '[-0]', '["\\ud800"]', '{"__proto__":1}', 'constructor', '__proto__',
  'toString', 'hasOwnProperty', '\u00ff\u00fe', '9'.repeat(400), 'x'.repeat(3000), '%00', '%', '../..', 'a,b,,c', ';;;', '==',
] as const; // prettier-ignore

const junk = fc.oneof(
  fc.constantFrom(...JUNK),
  fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((text) => text.replace(/[^\t\x20-\x7e]/g, '?')),
);

function oneOfOr(...values: string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: junk });
}

const flag = oneOfOr('true', 'True', 'false');

/** The headers the handlers read, each with values that mean something to them. */
const HEADERS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'x-ms-documentdb-partitionkey': oneOfOr(
    '["a"]', '["b"]', '[1]', '[0]', '[-0]', '[null]', '[true]', '[{}]', '[]', '[[1]]', '[{"a":1}]', '["a","b"]', '["a","b","c","d"]',
    '["\\ud800"]', `["${'k'.repeat(2100)}"]`, `${'['.repeat(3000)}${']'.repeat(3000)}`,
  ), // prettier-ignore
  'x-ms-documentdb-partitionkeyrangeid': oneOfOr('0', '1', '2', '5', '99', '00'),
  'x-ms-start-epk': oneOfOr('', '00', '10', '3F', 'FF', 'ff', 'ZZ', '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'),
  'x-ms-end-epk': oneOfOr('', '00', '10', '3F', 'FF', 'ff', '05C1DFFFFFFFFC'),
  'x-ms-read-key-type': oneOfOr('EffectivePartitionKeyRange'),
  'if-match': oneOfOr('*', '"1"', '00000001-0000-0000-0000-0000695b1234'),
  'if-none-match': oneOfOr('*', '"1"', '1', '"0"', '"1;full"', '"999999999999999"', 'W/"1"'),
  'if-modified-since': oneOfOr('Thu, 01 Jan 2026 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', 'now'),
  'x-ms-continuation': oneOfOr('1', 'eyJhIjoxfQ==', '{"position":1}', '{"position":-1,"skip":1e9}', '[1,2]'),
  'x-ms-max-item-count': oneOfOr('-1', '0', '1', '2', '100', '1e9', '0x10', '-2'),
  'x-ms-consistency-level': oneOfOr('Session', 'Strong', 'Eventual'),
  'x-ms-session-token': oneOfOr('0:-1#1', '0:-1#999999', '0:', '0:-1#NaN', '0:-1#1e400', '0:-1#-5,1:-1#3', ':,:,#'),
  'a-im': oneOfOr('Incremental Feed', 'Incremental Feed', 'Full-Fidelity Feed'),
  'x-ms-cosmos-changefeed-wire-format-version': oneOfOr('2021-09-15'),
  'x-ms-cosmos-is-batch-request': flag,
  'x-ms-cosmos-batch-atomic': flag,
  'x-ms-cosmos-batch-continue-on-error': flag,
  'x-ms-documentdb-is-upsert': flag,
  'x-ms-documentdb-isquery': flag,
  'x-ms-cosmos-is-query-plan-request': flag,
  'x-ms-documentdb-populatequotainfo': flag,
  'x-ms-documentdb-populatepartitionstatistics': flag,
  'x-ms-offer-throughput': oneOfOr('400', '500', '12000', '399', '1000100'),
  'x-ms-cosmos-offer-autopilot-settings': oneOfOr('{"maxThroughput":1000}', '{"maxThroughput":"1000"}', '{"maxThroughput":1e400}'),
  'x-ms-cosmos-priority-level': oneOfOr('Low', 'High'),
  'x-ms-cosmos-throughput-bucket': oneOfOr('1'),
  prefer: oneOfOr('return=minimal'),
  'content-type': oneOfOr('application/json', 'application/query+json', 'text/html'),
}; // prettier-ignore

const headers = fc
  .uniqueArray(fc.constantFrom(...Object.keys(HEADERS)), { maxLength: 4 })
  .chain((names) =>
    fc
      .tuple(...names.map((name) => HEADERS[name] ?? junk))
      .map((values) => Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))),
  );

const name = fc.constantFrom(
  'shop', 'shop', 'kept', 'play', 'play', 'play', 'a', 'b', '1', 'nowhere', 'a%20b', '%E6%97%A5', '%C3%A9', '%00', '%0A', '%2F', '%',
  '%zz', '%E0%A4', '%ED%A0%80', '.', '..', '*', 'constructor', '__proto__', 'toString', 'n'.repeat(300), 'a?b=c', 'dbs', 'docs', '%25',
); // prettier-ignore

const LEAVES = [
  'docs',
  'pkranges',
  'sprocs',
  'triggers',
  'udfs',
  'conflicts',
  'operations',
  'schemas',
  'users',
];

const template = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('/', '/dbs', '/dbs/', '//dbs', '/offers', '/nothing', '/dbs?a=b#c') },
  { weight: 2, arbitrary: name.map((db) => `/dbs/${db}`) },
  { weight: 3, arbitrary: name.map((db) => `/dbs/${db}/colls`) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('shop', 'nowhere'), name).map(([db, coll]) => `/dbs/${db}/colls/${coll}`),
  },
  { weight: 14, arbitrary: fc.constantFrom('play', 'play', 'kept', 'none').map((coll) => `/dbs/shop/colls/${coll}/docs`) },
  { weight: 8, arbitrary: fc.oneof(fc.constantFrom('a', 'b', 'x'), name).map((id) => `/dbs/shop/colls/play/docs/${id}`) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom(...LEAVES), name).map(([leaf, id]) => `/dbs/shop/colls/play/${leaf}/${id}`),
  },
  { weight: 4, arbitrary: fc.constantFrom(...LEAVES).map((leaf) => `/dbs/shop/colls/play/${leaf}`) },
  { weight: 1, arbitrary: fc.constant('/dbs/shop/colls/play/operations/partitionkeydelete') },
  { weight: 2, arbitrary: fc.constantFrom('1000', '1001', '1002', 'zzzz', '%', 'constructor').map((id) => `/offers/${id}`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'state', 'account', 'clock', 'faults', 'containers/shop/play/split', 'containers/shop/play/merge', 'containers/a/b/merge',
      'containers/shop/play/purge-expired', 'containers', 'nothing', 'containers/%/x/split', 'containers/shop/none/split',
    ).map((route) => `/_emulator/${route}`),
  },
  { weight: 2, arbitrary: fc.array(name, { maxLength: 8 }).map((steps) => `/${steps.join('/')}`) },
); // prettier-ignore

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PURGE'];

/** Mostly a method that the path answers to. */
function methodFor(path: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...fittingMethods(path)) },
    { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
  );
}

function fittingMethods(path: string): readonly string[] {
  if (path.startsWith('/_emulator')) return ['GET', 'POST', 'PUT', 'PUT', 'DELETE'];
  if (/\/docs\/?$/.test(path)) return ['GET', 'POST', 'POST', 'POST'];
  if (path.includes('/docs/')) return ['GET', 'PUT', 'PATCH', 'PATCH', 'DELETE'];
  return /\/(?:dbs|colls|sprocs|triggers|udfs|conflicts|offers|partitionkeydelete)$/.test(path)
    ? ['GET', 'POST', 'POST']
    : ['GET', 'GET', 'PUT', 'DELETE', 'POST'];
}

const auth: fc.Arbitrary<Auth> = fc.oneof(
  { weight: 14, arbitrary: fc.constant<Auth>('good') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Auth>('none', 'wrong key', 'old date', 'other verb', 'junk', 'sas', 'aad'),
  },
);

/** What a batch must say to be one comes together often enough only when it is asked for. */
const intent = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Readonly<Record<string, string>>>({}) },
  {
    weight: 7,
    arbitrary: fc.constantFrom<Readonly<Record<string, string>>>(
      { 'x-ms-documentdb-partitionkey': '["a"]' },
      { 'x-ms-documentdb-partitionkey': '["a"]', 'x-ms-documentdb-is-upsert': 'true' },
      { 'x-ms-documentdb-isquery': 'true' },
      { 'a-im': 'Incremental Feed', 'x-ms-documentdb-partitionkeyrangeid': '0' },
      { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-documentdb-partitionkeyrangeid': '0', 'x-ms-cosmos-batch-continue-on-error': 'true' },
      { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true', 'x-ms-documentdb-partitionkey': '["a"]' },
    ),
  },
); // prettier-ignore

/** Requests that would rightly delete or change what the test keeps are not made. */
function isHarmless(request: { method: string; path: string }): boolean {
  const path = request.path.replace(/[?#].*$/, '');
  return !(
    /^\/+dbs\/+shop(?:\/+colls\/+(?:kept|play))?\/*$/.test(path) && /^(?:PUT|DELETE)$/.test(request.method)
  );
}

/** A request in one line: the texts in it can be long beyond reading. */
export function inShort(request: GarbageRequest): string {
  const body = request.body === undefined ? '' : request.body.toString('latin1').slice(0, 200);
  const headers = JSON.stringify(request.headers).slice(0, 600);
  return `${request.method} ${request.path} (${request.auth}) ${headers} ${body}`;
}

export const garbageRequests: fc.Arbitrary<GarbageRequest> = template
  .chain((path) => methodFor(path).map((method) => ({ method, path })))
  .filter(isHarmless)
  .chain(({ method, path }) =>
    fc.record({
      method: fc.constant(method),
      path: fc.constant(path),
      headers: fc.tuple(headers, intent).map(([some, must]) => ({ ...some, ...must })),
      body: bodyFor(method, path),
      auth,
    }),
  )
  .map((request) => ({ ...request, [fc.toStringMethod]: () => inShort(request) }));

/** The headers that sign a request as its path asks, or as badly as `auth` says. */
export function signed(request: GarbageRequest, key: string, now: Date): Record<string, string> {
  if (request.auth === 'none') return {};
  if (request.auth === 'junk') return { authorization: 'type=&ver=%&sig', 'x-ms-date': 'yesterday' };
  const date = (request.auth === 'old date' ? new Date(now.getTime() - 3_600_000) : now).toUTCString();
  const token = (text: string) => ({ authorization: encodeURIComponent(text), 'x-ms-date': date });
  if (request.auth === 'sas') return token('type=sas&ver=1.0&sig=x');
  if (request.auth === 'aad') return token('type=aad&ver=1.0&sig=a.b.c');
  const verb = request.auth === 'other verb' ? 'trace' : request.method.toLowerCase();
  const { type, link } = signedTarget(request.path);
  const signature = createHmac('sha256', request.auth === 'wrong key' ? 'wrong' : Buffer.from(key, 'base64'))
    .update(`${verb}\n${type.toLowerCase()}\n${link}\n${date.toLowerCase()}\n\n`)
    .digest('base64');
  return token(`type=master&ver=1.0&sig=${signature}`);
}

/** Resource type and link (fact SDK-3); of a path that cannot be decoded, anything. */
function signedTarget(path: string): { type: string; link: string } {
  let parts: string[];
  try {
    parts = (path.split('?')[0] ?? '').split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return { type: 'docs', link: 'any' };
  }
  if (parts[0] === 'offers') return { type: 'offers', link: (parts[1] ?? '').toLowerCase() };
  if (parts[4] === 'operations') return { type: 'colls', link: parts.slice(0, 4).join('/') };
  const isFeed = parts.length % 2 === 1;
  return {
    type: (isFeed ? parts.at(-1) : parts.at(-2)) ?? '',
    link: (isFeed ? parts.slice(0, -1) : parts).join('/'),
  };
}
