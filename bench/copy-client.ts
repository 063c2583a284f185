/**
 * Measures one way to copy, in a process that does nothing else. `node copy-client.js WAY ENDPOINT KEY N...` copies N
 * documents for each N, and prints the measurement of each copy as a line of JSON. `cosmig/R` copies from R ranges into
 * as many, and `cosmig/R/B` documents of B bytes.
 */
import { ChangeFeedStartFrom, CosmosClient, type Container, type JSONObject } from '@azure/cosmos';
import { statSync } from 'node:fs';
import { run } from '../src/engine/run.ts';
import { keepOldGenerationSmall } from '../src/lib/heap.ts';
import { withLedger } from './client-parts.ts';
import { DOCUMENT_BYTES } from './documents.ts';
import { FloorConnection, FloorSigner, type FloorReply, type FloorRequest } from './floor-client.ts';

/** The measurement of one copy or comparison. */
export interface Took {
  readonly documents: number;
  readonly wallMs: number;
  /** CPU time of all threads of the process. */
  readonly cpuMs: number;
  /** Peak memory of the process so far. */
  readonly rssPeakBytes: number;
  readonly ledgerBytes?: number;
  /** The largest file besides the ledger. */
  readonly diskBytes?: number;
}

export type Way = 'floor' | 'upsert' | 'bulk' | 'bulk-to-one' | 'cosmig' | 'map';

interface Target {
  readonly endpoint: string;
  readonly key: string;
  /** How many ranges source and target have; by default eight. */
  readonly ranges?: number | undefined;
  /** The size of a document; 1 KB by default. */
  readonly sizeBytes?: number | undefined;
}

type Copy = (
  target: Target,
  documents: number,
) => Promise<{ readonly ledgerBytes?: number } | undefined | void>;

/** The target with eight ranges, the same number as in the source. */
const TARGET = 'target-8';
const RANGES = 8;
const PAGE_DOCUMENTS = 1000;
const CALL_OPERATIONS = 100;
/** Requests in flight: enough that the service never waits for the client. */
const CONCURRENCY = 16;

const WAYS: Readonly<Record<Way, Copy>> = {
  floor: copyFloor,
  upsert: async (target, documents) =>
    copyWithSdk(target, { documents, name: TARGET, write: upsertOneByOne }),
  bulk: async (target, documents) => copyWithSdk(target, { documents, name: TARGET, write: bulkInHundreds }),
  // The target has one range, so a call of 100 operations is one request. This is the cheapest case for a bulk call.
  'bulk-to-one': async (target, documents) =>
    copyWithSdk(target, { documents, name: 'target-1', write: bulkInHundreds }),
  cosmig: copyWithCosmig,
  map: mapWithCosmig,
};

interface Item extends JSONObject {
  id: string;
  tenantId: string;
}

interface SdkCopy {
  readonly documents: number;
  /** The name of the target container. */
  readonly name: string;
  readonly write: (target: Container, items: Item[]) => Promise<void>;
}

/** Copies with the SDK's feed iterator and with `write`, as most programs do. */
async function copyWithSdk({ endpoint, key }: Target, { documents, name, write }: SdkCopy): Promise<void> {
  const client = new CosmosClient({ endpoint, key });
  try {
    const database = client.database('bench');
    const feed = database.container(`source-${documents}`).items.getChangeFeedIterator<Item>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: PAGE_DOCUMENTS,
    });
    const target = database.container(name);
    let copied = 0;
    while (copied < documents) {
      const { result, statusCode } = await feed.readNext();
      if (statusCode === 304) break;
      await write(target, result);
      copied += result.length;
    }
    if (copied !== documents) throw new Error(`${copied} documents came instead of ${documents}`);
  } finally {
    client.dispose();
  }
}

async function upsertOneByOne(target: Container, items: Item[]): Promise<void> {
  await inParallel(items, async (item) => {
    await target.items.upsert(item);
  });
}

async function bulkInHundreds(target: Container, items: Item[]): Promise<void> {
  const calls: Item[][] = [];
  for (let at = 0; at < items.length; at += CALL_OPERATIONS)
    calls.push(items.slice(at, at + CALL_OPERATIONS));
  await inParallel(calls, async (call) => {
    const operations = call.map((item) => ({
      operationType: 'Upsert' as const,
      partitionKey: item.tenantId,
      resourceBody: item,
    }));
    // `items.bulk` is the only bulk call of the SDK that can be used (fact SDK-14). Replies without documents make it
    // cheaper.
    const done = await target.items.bulk(operations, undefined, { contentResponseOnWriteEnabled: false });
    if (done.length !== call.length || done.some(({ statusCode }) => statusCode !== 201))
      throw new Error('not everything was written');
  });
}

async function inParallel<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let one = list[next++]; one !== undefined; one = list[next++]) await work(one);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Moves as many bytes in both directions as a copy does, and does nothing else. */
async function copyFloor({ endpoint, key }: Target, documents: number): Promise<void> {
  const signer = new FloorSigner(endpoint, key);
  const connect = (count: number): FloorConnection[] =>
    Array.from({ length: count }, () => new FloorConnection(endpoint, signer));
  const [readers, writers] = [connect(RANGES), connect(CONCURRENCY)];
  try {
    const document = JSON.stringify({ id: 'x', tenantId: 'tenant-0042', notes: 'lorem ipsum '.repeat(80) });
    const operation = `{"operationType":"Create","partitionKey":"[\\"tenant-0042\\"]","resourceBody":${document}}`;
    const batch = Buffer.from(`[${Array.from({ length: CALL_OPERATIONS }, () => operation).join(',')}]`);
    const source = `dbs/bench/colls/source-${documents}`;
    let documentsRead = 0;
    let batches = Math.ceil(documents / CALL_OPERATIONS);
    const read = async (reader: FloorConnection, range: number): Promise<void> => {
      for (let etag = '"0"'; ;) {
        const reply = await call(reader, { verb: 'GET', link: source, lines: feedLines(range, etag) });
        if (reply.status === 304) {
          // The etag of the null service is the number of documents before it.
          documentsRead += Number(etag.slice(1, -1));
          return;
        }
        ({ etag } = reply);
      }
    };
    const write = async (writer: FloorConnection, number: number): Promise<void> => {
      const lines = batchLines(number % RANGES);
      while (batches > 0) {
        batches -= 1;
        await call(writer, { verb: 'POST', link: `dbs/bench/colls/${TARGET}`, lines, body: batch });
      }
    };
    await Promise.all([...readers.map(read), ...writers.map(write)]);
    if (documentsRead !== documents)
      throw new Error(`${documentsRead} documents came instead of ${documents}`);
  } finally {
    for (const connection of [...readers, ...writers]) connection.close();
  }
}

async function call(connection: FloorConnection, request: FloorRequest): Promise<FloorReply> {
  const reply = await connection.send(request);
  if (reply.status !== 200 && reply.status !== 304) throw new Error(`the service answered ${reply.status}`);
  return reply;
}

function batchLines(range: number): string {
  return `x-ms-cosmos-is-batch-request: true\r\nx-ms-cosmos-batch-atomic: false\r\nx-ms-documentdb-partitionkeyrangeid: ${range}\r\ncontent-type: application/json\r\n`;
}

function feedLines(range: number, etag: string): string {
  return `a-im: Incremental Feed\r\nx-ms-documentdb-partitionkeyrangeid: ${range}\r\nx-ms-max-item-count: ${PAGE_DOCUMENTS}\r\nif-none-match: ${etag}\r\n`;
}

/** Runs the whole `copy` command: preflight, ledger, intents, commits, load control and index. */
async function copyWithCosmig(
  { endpoint, key, ranges = RANGES, sizeBytes = DOCUMENT_BYTES }: Target,
  documents: number,
): Promise<{ readonly ledgerBytes: number }> {
  const places = { source: `source-${documents}-in-${ranges}-of-${sizeBytes}`, target: `target-${ranges}` };
  return withLedger({ endpoint, key, ...places }, async (parts) => {
    const never = new AbortController().signal;
    const snapshot = await run('copy', { ...parts, drain: never, abort: never, onSnapshot: () => {} });
    if (!snapshot.complete || snapshot.documents.written !== documents)
      throw new Error(`not everything was copied: ${JSON.stringify(snapshot)}`);
    return { ledgerBytes: statSync(parts.spec.ledger).size };
  });
}

/** How many documents the source of a map has: so few that nearly all of the work is that of the map. */
const MAPPED_SOURCE = 1000;

/** Adopts a filled target: reads all of it, and builds the index over it. */
async function mapWithCosmig(account: Target, documents: number): Promise<{ readonly ledgerBytes: number }> {
  const places = { ...account, source: `source-${MAPPED_SOURCE}`, target: `moved-${documents}` };
  return withLedger(places, async (parts) => {
    const never = new AbortController().signal;
    await run('copy', { ...parts, adoptsTarget: true, drain: never, abort: never, onSnapshot: () => {} });
    return { ledgerBytes: statSync(parts.spec.ledger).size };
  });
}

async function measure(copy: Copy, target: Target, documents: number): Promise<Took> {
  const before = process.cpuUsage();
  const start = performance.now();
  const more = await copy(target, documents);
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  const rssPeakBytes = process.resourceUsage().maxRSS * 1024;
  return { documents, wallMs, cpuMs: (user + system) / 1000, rssPeakBytes, ...more };
}

const [words = '', endpoint = '', key = '', ...counts] = process.argv.slice(2);
const [way = '', ranges = RANGES, sizeBytes = DOCUMENT_BYTES] = words.split('/');
const target = { endpoint, key, ranges: Number(ranges), sizeBytes: Number(sizeBytes) };
// As bin/cosmig.js does.
if (way === 'cosmig' || way === 'map') keepOldGenerationSmall();
for (const count of counts) {
  const took = await measure(WAYS[way as Way], target, Number(count));
  process.stdout.write(`${JSON.stringify(took)}\n`);
}
