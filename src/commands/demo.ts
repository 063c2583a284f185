/**
 * `cosmig demo`: a Cosmos account in this process, and Microsoft's own SDK at work on it. Ends by itself
 * within seconds and leaves nothing behind.
 */
import type { Command, Result } from '../cli/command.ts';
import type { Account } from '../cosmos/client.ts';
import { must } from '../lib/assert.ts';

type Sdk = typeof import('../cosmos/client.ts');
type Container = ReturnType<ReturnType<Account['client']['database']>['container']>;

const DATABASE = 'shop';
const CONTAINER = 'orders';
const KEY_PATH = '/tenantId';
// Enough for three physical ranges, so that the table has something to show.
const THROUGHPUT_RU = 18_000;
const TENANTS = ['amber', 'birch', 'cedar', 'dune', 'elm', 'fjord', 'grove', 'heath'];
const DOCUMENTS = 120;
// One bound for both reads: several pages, each well under the limit of a response.
const PAGE = 50;

/** What the demo saw; its --json result. */
interface Findings {
  readonly container: string;
  readonly partitionKey: string;
  readonly ranges: number;
  readonly documents: { readonly written: number; readonly queried: number; readonly fromFeed: number };
  readonly chargeRu: number;
}

export const demo: Command = {
  name: 'demo',
  summary: "start an emulator, let Microsoft's SDK use it, show the result",
  description:
    "Starts a Cosmos DB account inside this process, creates a container through Microsoft's SDK, writes " +
    'documents, reads them back by query and by change feed, prints what it saw and ends. Needs no account.',
  examples: [
    { line: 'cosmig demo', purpose: 'a table of what happened' },
    { line: 'cosmig demo --json', purpose: 'the same for a script' },
  ],
  options: {},
  async run({ signal, out, clock }) {
    const startedMs = clock.now();
    // Loaded here: a command that does not need them starts faster.
    const { PUBLISHED_KEY: key, startEmulator } = await import('../emulator/server.ts');
    const sdk = await import('../cosmos/client.ts');
    const server = await startEmulator({ host: '127.0.0.1', port: 0, https: false, data: ':memory:', key });
    try {
      out.note(`a Cosmos account is ready at ${server.endpoint}`);
      using account = new sdk.Account({ endpoint: server.endpoint, key });
      const findings = await work(sdk, account, signal, (text) => out.note(text));
      return present(findings, clock.now() - startedMs);
    } finally {
      await server.close();
    }
  },
};

async function work(
  sdk: Sdk,
  { client }: Account,
  signal: AbortSignal,
  note: (text: string) => void,
): Promise<Findings> {
  const { database } = await client.databases.create({ id: DATABASE });
  const created = await database.containers.create({
    id: CONTAINER,
    partitionKey: {
      paths: [KEY_PATH],
      kind: sdk.PartitionKeyKind.Hash,
      version: sdk.PartitionKeyDefinitionVersion.V2,
    },
    throughput: THROUGHPUT_RU,
  });
  const ranges = (await created.container.getFeedRanges()).length;
  note(`created ${DATABASE}/${CONTAINER} with partition key ${KEY_PATH}`);
  const writtenRu = await write(created.container, signal);
  note(`wrote ${DOCUMENTS} documents`);
  const queried = await query(created.container, signal);
  const feed = await readFeed(sdk, created.container, signal);
  note('read them back by query and by change feed');
  return {
    container: `${DATABASE}/${CONTAINER}`,
    partitionKey: KEY_PATH,
    ranges,
    documents: { written: DOCUMENTS, queried: queried.documents, fromFeed: feed.documents },
    chargeRu: Math.round((writtenRu + queried.chargeRu + feed.chargeRu) * 100) / 100,
  };
}

async function write(container: Container, signal: AbortSignal): Promise<number> {
  let chargeRu = 0;
  for (let number = 1; number <= DOCUMENTS; number += 1) {
    signal.throwIfAborted();
    const tenantId = must(TENANTS[number % TENANTS.length], 'the remainder is an index');
    const order = { id: `order-${number}`, tenantId, total: number * 10, currency: 'EUR' };
    const { requestCharge } = await container.items.create(order);
    chargeRu += requestCharge;
  }
  return chargeRu;
}

interface Read {
  readonly documents: number;
  readonly chargeRu: number;
}

async function query(container: Container, signal: AbortSignal): Promise<Read> {
  const pages = container.items.query('SELECT * FROM c', { maxItemCount: PAGE });
  let documents = 0;
  let chargeRu = 0;
  while (pages.hasMoreResults()) {
    signal.throwIfAborted();
    const page = await pages.fetchNext();
    documents += page.resources.length;
    chargeRu += page.requestCharge;
  }
  return { documents, chargeRu };
}

async function readFeed(sdk: Sdk, container: Container, signal: AbortSignal): Promise<Read> {
  const feed = container.items.getChangeFeedIterator({
    changeFeedStartFrom: sdk.ChangeFeedStartFrom.Beginning(),
    maxItemCount: PAGE,
  });
  let documents = 0;
  let chargeRu = 0;
  while (true) {
    signal.throwIfAborted();
    const page = await feed.readNext();
    // 304: no range has anything new.
    if (page.statusCode === 304) return { documents, chargeRu };
    documents += page.count;
    chargeRu += Number(page.headers['x-ms-request-charge'] ?? 0);
  }
}

function present(findings: Findings, durationMs: number): Result {
  const { container, partitionKey, ranges, documents, chargeRu } = findings;
  const rows: ReadonlyArray<readonly [string, string]> = [
    ['container', container],
    ['partition key', partitionKey],
    ['physical ranges', String(ranges)],
    ['documents written', String(documents.written)],
    ['read by query', String(documents.queried)],
    ['read by change feed', String(documents.fromFeed)],
    ['charge', `${chargeRu} RU`],
  ];
  const text = rows.map(([name, value]) => `${name.padEnd(20)} ${value}`).join('\n');
  return { json: { command: 'demo', complete: true, ...findings, durationMs }, text };
}
