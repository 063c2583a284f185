/**
 * A service that does nothing, quickly. It speaks the gateway protocol (facts SDK-3 to SDK-10) with canned replies,
 * so that a benchmark measures its client. Every database exists. A container `source-N` holds N documents of 1 KB,
 * keyed by /deviceId, in eight ranges; `source-N-in-R` in R ranges, and `source-N-in-R-of-B`
 * has documents of B bytes. `moved-N` holds the same documents, keyed by /tenantId. `target-R` is keyed by
 * /tenantId, has R ranges, and is always empty: documents written to it are discarded. `null-service.js FILE` serves
 * https, as Azure does, and writes its certificate to FILE; without FILE it serves http.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { selfSignedCertificate } from '../src/emulator/http/certificate.ts';
import { initialBounds } from '../src/epk/bounds.ts';
import { DOCUMENT_BYTES } from './documents.ts';
import { countOperations, Shape } from './null-batches.ts';
import { documentsIn, FIRST_LSN, Pages, RANGES } from './null-pages.ts';

/** The throughput of each container: more than any client can use, so that load control counts RU but never waits. */
const CONTAINER_RU = 10_000_000;
const OPERATION_RU = 6.67;
const DOCUMENT_RU = 1.04;

interface Container {
  readonly name: string;
  readonly rid: string;
  readonly keyPath: string;
  readonly documents: number;
  readonly ranges: number;
  readonly pages: Pages;
}

const containers = new Map<string, Container>();
const pages = new Map<number, Pages>();
const shape = new Shape();
const replies: (Buffer | undefined)[] = [];
/** How many batches were taken: the LSN of a range rises with each write, and with it the session token of a reply. */
let batches = 0;
let endpoint = '';

function containerOf(name: string): Container | undefined {
  const known = containers.get(name);
  if (known !== undefined) return known;
  const [, side, number, ranges = RANGES, size = DOCUMENT_BYTES] =
    /^(source|target|moved)-(\d+)(?:-in-(\d+))?(?:-of-(\d+))?$/.exec(name) ?? [];
  if (side === undefined) return undefined;
  const rid = createHash('md5').update(name).digest().subarray(0, 8);
  rid[4] = (rid[4] ?? 0) | 0x80; // this bit marks the _rid of a container
  const count = Number(number);
  const container =
    side === 'target'
      ? { keyPath: '/tenantId', documents: 0, ranges: count }
      : { keyPath: side === 'source' ? '/deviceId' : '/tenantId', documents: count, ranges: Number(ranges) };
  const made = { ...container, name, rid: rid.toString('base64'), pages: pagesOf(Number(size)) };
  containers.set(name, made);
  return made;
}

function pagesOf(sizeBytes: number): Pages {
  const known = pages.get(sizeBytes) ?? new Pages(sizeBytes);
  pages.set(sizeBytes, known);
  return known;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

function send(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-ms-request-charge': '1',
    ...headers,
  });
  response.end(text);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  send(response, status, { code: String(status), message });
}

function accountBody(): object {
  const here = [{ name: 'Here', databaseAccountEndpoint: endpoint }];
  return {
    id: 'null-service',
    _rid: 'null-service',
    writableLocations: here,
    readableLocations: here,
    enableMultipleWriteLocations: false,
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 3, maxReplicasetSize: 4 },
  };
}

function containerBody({ name, rid, keyPath }: Container): object {
  return {
    id: name,
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    },
    partitionKey: { paths: [keyPath], kind: 'Hash', version: 2 },
    // No document expires, but a comparison with `--ttl remaining` has to look at each.
    defaultTtl: -1,
    conflictResolutionPolicy: {
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
      conflictResolutionProcedure: '',
    },
    geospatialConfig: { type: 'Geography' },
    _rid: rid,
    _ts: 1_705_112_530,
    _self: `dbs/a1B2AA==/colls/${rid}/`,
    _etag: '"00000000-0000-0700-0000-65a1f3d20000"',
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  };
}

function rangesBody({ rid, ranges }: Container): object {
  const bounds = initialBounds('hash-v2', ranges);
  const list = Array.from({ length: ranges }, (_, i) => ({
    id: String(i),
    _rid: rid,
    minInclusive: bounds[i],
    maxExclusive: bounds[i + 1],
    parents: [],
    status: 'online',
    lsn: FIRST_LSN,
  }));
  return { _rid: rid, PartitionKeyRanges: list, _count: list.length };
}

function offersBody(asked: string): object {
  const self = /dbs\/[^/"]+\/colls\/[^/"]+\//.exec(asked)?.[0] ?? '';
  const offer = {
    id: 'offer',
    _rid: 'offer',
    _self: 'offers/offer/',
    resource: self,
    offerVersion: 'V2',
    offerType: 'Invalid',
    content: { offerThroughput: CONTAINER_RU },
  };
  return { _rid: '', Offers: [offer], _count: 1 };
}

/** Sends a page of the feed of one range. A position is the number of documents before it. */
function sendFeed(request: IncomingMessage, response: ServerResponse, container: Container): void {
  if (header(request, 'a-im') === 'Full-Fidelity Feed')
    return refuse(response, 400, 'The all-versions feed is not enabled.');
  const range = Number(header(request, 'x-ms-documentdb-partitionkeyrangeid') ?? 0);
  const part = { range, ranges: container.ranges };
  const held = container.documents === 0 ? 0 : documentsIn(part, container.documents);
  const condition = header(request, 'if-none-match') ?? '"0"';
  const first = condition === '*' ? held : Number(condition.slice(1, -1));
  const asked = Number(header(request, 'x-ms-max-item-count') ?? 100);
  const left = Math.max(0, held - first);
  const { documentsMax } = container.pages;
  const count = Math.min(asked > 0 ? asked : documentsMax, documentsMax, left);
  const headers = {
    etag: `"${first + count}"`,
    'x-ms-session-token': `${range}:-1#${FIRST_LSN + held}`,
    'x-ms-content-path': container.rid,
    'x-ms-item-count': String(count),
    'x-ms-request-charge': count === 0 ? '2' : (count * DOCUMENT_RU).toFixed(2),
  };
  if (count === 0) {
    response.writeHead(304, headers).end();
    return;
  }
  const { bytes, free } = container.pages.lend(part, first, count);
  response.writeHead(200, {
    ...headers,
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes, free);
}

/** Answers a batch: every write has created its document, and no document of a read exists. */
function takeBatch(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const range = header(request, 'x-ms-documentdb-partitionkeyrangeid') ?? '0';
    batches += 1;
    const common = {
      'content-type': 'application/json',
      'x-ms-session-token': `${range}:-1#${FIRST_LSN + batches}`,
    };
    const { count, reads } = countOperations(chunks, shape);
    if (reads) {
      const missing = Array.from({ length: count }, () => ({ statusCode: 404, requestCharge: 1 }));
      return send(response, 207, missing, { ...common, 'x-ms-request-charge': String(count) });
    }
    const body = (replies[count] ??= Buffer.from(
      `[${Array.from({ length: count }, (_, i) => `{"statusCode":201,"requestCharge":${OPERATION_RU},"eTag":"\\"000000${String(i).padStart(2, '0')}-0000-0700-0000-65a1f3d20000\\""}`).join(',')}]`,
    ));
    response.writeHead(200, {
      ...common,
      'content-length': body.length,
      'x-ms-request-charge': (count * OPERATION_RU).toFixed(2),
    });
    response.end(body);
  });
}

/** Answers an upsert with the document, as the service does. */
function takeUpsert(request: IncomingMessage, response: ServerResponse, { rid }: Container): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    response.writeHead(201, {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-ms-request-charge': String(OPERATION_RU),
      'x-ms-session-token': `0:-1#${FIRST_LSN + 1}`,
      'x-ms-content-path': rid,
      etag: '"00000000-0000-0700-0000-65a1f3d20000"',
    });
    response.end(body);
  });
}

function queryReply(response: ServerResponse, container: Container, asked: string): void {
  const { query } = JSON.parse(asked) as { query: string };
  const documents = /COUNT/i.test(query) ? [container.documents] : [];
  send(response, 200, { _rid: container.rid, Documents: documents, _count: documents.length });
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '' } = request;
  const [, , database, , name, what, ...more] = url.split('/');
  if (url === '/') return send(response, 200, accountBody());
  if (url === '/offers') return send(response, 200, offersBody(await textOf(request)));
  if (method === 'GET' && database !== undefined && name === undefined)
    return send(response, 200, { id: database, _rid: 'a1B2AA==', _self: 'dbs/a1B2AA==/' });
  const container = name === undefined ? undefined : containerOf(name);
  if (container === undefined || more.length > 0) return refuse(response, 404, 'It is not there.');
  if (method === 'GET') {
    if (what === undefined)
      return send(response, 200, containerBody(container), { 'x-ms-content-path': 'a1B2AA==' });
    if (what === 'pkranges') return send(response, 200, rangesBody(container));
    if (what === 'docs') return sendFeed(request, response, container);
    const feed = { sprocs: 'StoredProcedures', triggers: 'Triggers', udfs: 'UserDefinedFunctions' }[what];
    if (feed !== undefined) return send(response, 200, { _rid: container.rid, [feed]: [], _count: 0 });
  }
  if (method === 'POST' && what === 'docs') {
    if (header(request, 'x-ms-cosmos-is-query-plan-request') !== undefined)
      return refuse(response, 400, 'This service makes no plans.');
    if (header(request, 'x-ms-documentdb-isquery') !== undefined)
      return queryReply(response, container, await textOf(request));
    if (header(request, 'x-ms-cosmos-is-batch-request') !== undefined) return takeBatch(request, response);
    return takeUpsert(request, response, container);
  }
  process.stderr.write(`no answer to ${method} ${url}\n`);
  return refuse(response, 404, 'It is not there.');
}

const handle = (request: IncomingMessage, response: ServerResponse): void => {
  answer(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    refuse(response, 500, String(error));
  });
};

const [certificateFile] = process.argv.slice(2);
const certificate =
  certificateFile === undefined ? undefined : selfSignedCertificate(['127.0.0.1'], Date.now());
if (certificate !== undefined && certificateFile !== undefined)
  writeFileSync(certificateFile, certificate.cert);
const server = certificate === undefined ? createServer(handle) : createSecureServer(certificate, handle);
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  endpoint = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}/`;
  const key = Buffer.alloc(64, 7).toString('base64');
  const connectionString = `AccountEndpoint=${endpoint};AccountKey=${key};`;
  process.stdout.write(`${JSON.stringify({ ready: true, endpoint, connectionString })}\n`);
});
