/** A container of the emulator under load: bulk creates into every range, and reading its whole change feed. */
import { AccountClient, textOf } from './account-client.ts';
import type { Reply, Signed } from './account-client.ts';
import { BulkBody, DOCUMENT_BYTES, OPERATIONS, devicesByRange } from './documents.ts';

/** The throughput of the container. The emulator creates one physical range for every 6,000 RU/s. */
const THROUGHPUT_RU = 40_000;
/** Requests in flight: two for each range, so that one is on its way while the server works on the other. */
export const CONNECTIONS = 8;
const PAGE_DOCUMENTS = 1000;

export interface ContainerShape {
  readonly name: string;
  readonly keyPath?: string;
  readonly throughputRu?: number;
}

interface Range {
  readonly id: string;
  readonly devices: readonly number[];
}

export class BenchContainer {
  readonly #client: AccountClient;
  readonly #link: string;
  readonly #ranges: readonly Range[];
  readonly #bodies = Array.from({ length: CONNECTIONS }, () => new BulkBody());
  #created = 0;

  private constructor(client: AccountClient, link: string, ranges: readonly Range[]) {
    this.#client = client;
    this.#link = link;
    this.#ranges = ranges;
  }

  static async create(
    client: AccountClient,
    database: string,
    { name, keyPath = '/deviceId', throughputRu = THROUGHPUT_RU }: ContainerShape,
  ): Promise<BenchContainer> {
    const parent = `dbs/${database}`;
    const link = `${parent}/colls/${name}`;
    await client.call(
      { verb: 'POST', type: 'dbs', link: '' },
      { path: '/dbs', body: JSON.stringify({ id: database }) },
      [201, 409],
    );
    const definition = { id: name, partitionKey: { paths: [keyPath], kind: 'Hash', version: 2 } };
    await client.call(
      { verb: 'POST', type: 'colls', link: parent },
      {
        path: `/${parent}/colls`,
        headers: { 'x-ms-offer-throughput': String(throughputRu) },
        body: JSON.stringify(definition),
      },
      [201],
    );
    const reply = await client.call(
      { verb: 'GET', type: 'pkranges', link },
      { path: `/${link}/pkranges` },
      [200],
    );
    const found = JSON.parse(textOf(reply)) as {
      PartitionKeyRanges: ReadonlyArray<{ id: string; minInclusive: string }>;
    };
    const ranges = found.PartitionKeyRanges.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
    const devices = devicesByRange(ranges.map((range) => range.minInclusive));
    return new BenchContainer(
      client,
      link,
      ranges.map(({ id }, i) => ({ id, devices: devices[i] ?? [] })),
    );
  }

  /** How many documents the container holds. */
  get documents(): number {
    return this.#created;
  }

  /** The ids of the ranges, in the order of the key space. */
  get rangeIds(): readonly string[] {
    return this.#ranges.map(({ id }) => id);
  }

  get rangeCount(): number {
    return this.#ranges.length;
  }

  async delete(): Promise<void> {
    await this.#client.call(
      { verb: 'DELETE', type: 'colls', link: this.#link },
      { path: `/${this.#link}` },
      [204],
    );
  }

  /** Creates documents until the container holds `total`. */
  async createUpTo(total: number): Promise<void> {
    let next = this.#created;
    const lane = async (body: BulkBody): Promise<void> => {
      while (next < total) {
        const first = next;
        next += OPERATIONS;
        const range = this.#ranges[(first / OPERATIONS) % this.#ranges.length];
        if (range === undefined) throw new Error('the container has no ranges');
        checkCreated(await this.#bulk(range.id, body.fill(first, range.devices)));
        this.#created += OPERATIONS;
      }
    };
    await Promise.all(this.#bodies.map(lane));
  }

  /** Reads the change feed of every range from beginning to end. Returns the number of documents read. */
  async readFeed(): Promise<number> {
    const total = { documents: 0, sizeBytes: 0 };
    const pagesMax = Math.ceil(this.#created / PAGE_DOCUMENTS) * 4 + 10;
    const readRange = async ({ id }: Range): Promise<void> => {
      let etag: string | undefined;
      for (let page = 0; page < pagesMax; page += 1) {
        const reply = await this.#feedPage(id, etag);
        if (reply.status === 304) return;
        etag = reply.headers.etag;
        total.documents += countOf(reply);
        total.sizeBytes += reply.sizeBytes;
      }
      throw new Error(`the feed of range ${id} does not end within ${pagesMax} pages`);
    };
    await Promise.all(this.#ranges.map(readRange));
    // The number of documents comes from the server. It is trusted only if as many bytes were received.
    if (total.documents !== this.#created || total.sizeBytes < this.#created * DOCUMENT_BYTES) {
      throw new Error(
        `the feed gave ${total.documents} documents in ${total.sizeBytes} bytes, not ${this.#created}`,
      );
    }
    return total.documents;
  }

  async #bulk(rangeId: string, body: Buffer): Promise<Reply> {
    const headers = {
      'x-ms-cosmos-is-batch-request': 'true',
      'x-ms-cosmos-batch-atomic': 'false',
      'x-ms-cosmos-batch-continue-on-error': 'true',
      'x-ms-documentdb-partitionkeyrangeid': rangeId,
      prefer: 'return=minimal',
    };
    return this.#client.call(this.#signed('POST'), { path: `/${this.#link}/docs`, headers, body }, [200]);
  }

  async #feedPage(rangeId: string, etag: string | undefined): Promise<Reply> {
    const headers = {
      'a-im': 'Incremental Feed',
      'x-ms-documentdb-partitionkeyrangeid': rangeId,
      'x-ms-max-item-count': String(PAGE_DOCUMENTS),
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    };
    return this.#client.call(this.#signed('GET'), { path: `/${this.#link}/docs`, headers }, [200, 304]);
  }

  #signed(verb: 'GET' | 'POST'): Signed {
    return { verb, type: 'docs', link: this.#link };
  }
}

const CREATED = Buffer.from('"statusCode":201');

/** Throws unless every operation has created a document. Otherwise the benchmark could measure the rate of refusals. */
function checkCreated(reply: Reply): void {
  const text = Buffer.concat(reply.chunks);
  let created = 0;
  for (let at = text.indexOf(CREATED); at >= 0; at = text.indexOf(CREATED, at + CREATED.length)) created += 1;
  if (created !== OPERATIONS)
    throw new Error(`${created} creates of ${OPERATIONS}: ${text.toString('utf8', 0, 300)}`);
}

/**
 * Returns the number of documents of a feed page according to the server: from the header, or from `_count` at either
 * end of the body.
 */
function countOf({ headers, chunks }: Reply): number {
  const header = headers['x-ms-item-count'];
  if (typeof header === 'string') return Number(header);
  const ends = `${chunks[0]?.toString('latin1', 0, 200)} ${chunks
    .slice(-2)
    .map((chunk) => chunk.toString('latin1', Math.max(0, chunk.length - 100)))
    .join('')}`;
  const count = /"_count":(\d+)/.exec(ends)?.[1];
  if (count === undefined) throw new Error('a feed page does not say how many documents it holds');
  return Number(count);
}
