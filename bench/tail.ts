/**
 * Measures the lag of a tail under load for each document: from the moment the application sends it to the moment the
 * benchmark reads it in the change feed of the target. The benchmark polls that feed continuously. Both moments are
 * taken from one clock, that of this process.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AccountClient, textOf } from './account-client.ts';
import { Build } from './build.ts';
import { BenchContainer } from './container.ts';
import { CosmigProcess } from './cosmig-process.ts';
import { documentTemplate } from './documents.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startEmulator } from './server-process.ts';

const DATABASE = 'tail';
/** How many documents exist before the tail begins. */
const COPIED = 20_000;
const WRITES_PER_SECOND = 1000;
const SECONDS = 30;
/** The interval between two bursts of writes, since timers are not finer than this. */
const BURST_MS = 10;
/**
 * The interval between two reads of the target. A document waits up to this long before it is seen, which counts as
 * lag.
 */
const LOOK_MS = 20;
/** How long to wait for the last documents. A document that arrives later is lost, or the tail is far too slow. */
const PATIENCE_MS = 30_000;
const CONNECTIONS = 32;

export async function benchTail({ profileDir, say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using server = await startEmulator(build, profileDir);
  const client = new AccountClient(server.endpoint, server.key, CONNECTIONS);
  try {
    await client.send({ method: 'PUT', path: '/_emulator/account', body: '{"ru":"off"}' });
    const source = await BenchContainer.create(client, DATABASE, { name: 'source' });
    const target = await BenchContainer.create(client, DATABASE, { name: 'target', keyPath: '/id' });
    say(`copying ${COPIED} documents`);
    await source.createUpTo(COPIED);
    using cosmig = new CosmigProcess(build, server, { database: DATABASE });
    await cosmig.run('copy');
    say(`tailing ${WRITES_PER_SECOND} writes a second for ${SECONDS} s`);
    const bench = new TailBench(client, target);
    const [lags] = await Promise.all([bench.run().finally(() => cosmig.stop()), cosmig.run('tail')]);
    const sorted = Float64Array.from(lags).sort();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const note = `${sorted.length.toLocaleString('en-US')} documents, ${bench.writesPerSecond.toFixed(0)} writes/s; worst ${at(1).toFixed(0)} ms`;
    return [
      { name: 'lag of the tail, p50', value: at(0.5), unit: 'ms', note },
      { name: 'lag of the tail, p99', value: at(0.99), unit: 'ms', target: 'below 2000 ms' },
    ];
  } finally {
    client.close();
  }
}

/** Writes to the source at a fixed rate, and waits for each document in the target. */
class TailBench {
  writesPerSecond = 0;
  readonly #client: AccountClient;
  readonly #target: BenchContainer;
  readonly #template = documentTemplate();
  /** When each document was sent that the benchmark has not yet seen in the target, by its number. */
  readonly #open = new Map<number, number>();
  readonly #lags: number[] = [];
  #written = 0;

  constructor(client: AccountClient, target: BenchContainer) {
    this.#client = client;
    this.#target = target;
  }

  async run(): Promise<readonly number[]> {
    const positions = await Promise.all(this.#target.rangeIds.map(async (id) => this.#look(id, '*')));
    const ended = new AbortController();
    const look = async (id: string, i: number): Promise<void> => {
      for (let etag = positions[i] ?? ''; !ended.signal.aborted; await delay(LOOK_MS))
        etag = await this.#look(id, etag);
    };
    const write = async (): Promise<void> => {
      await this.#write();
      const lateMs = performance.now() + PATIENCE_MS;
      while (this.#open.size > 0 && performance.now() < lateMs) await delay(LOOK_MS);
    };
    await Promise.all([...this.#target.rangeIds.map(look), write().finally(() => ended.abort())]);
    if (this.#open.size > 0) throw new Error(`${this.#open.size} documents did not come`);
    return this.#lags;
  }

  async #write(): Promise<void> {
    const start = performance.now();
    const writing: Promise<void>[] = [];
    for (;;) {
      const elapsedMs = performance.now() - start;
      if (elapsedMs >= SECONDS * 1000) break;
      const due = Math.floor((elapsedMs * WRITES_PER_SECOND) / 1000);
      while (this.#written < due) writing.push(this.#create((this.#written += 1)));
      await delay(BURST_MS);
    }
    await Promise.all(writing);
    this.writesPerSecond = (this.#written * 1000) / (performance.now() - start);
  }

  async #create(number: number): Promise<void> {
    const device = `device-${String(number % 10_000).padStart(6, '0')}`;
    const body = this.#template
      .replace('########', String(COPIED + number).padStart(8, '0'))
      .replace('device-@@@@@@', device);
    const link = `dbs/${DATABASE}/colls/source`;
    const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([device]) };
    this.#open.set(COPIED + number, performance.now());
    await this.#client.call(
      { verb: 'POST', type: 'docs', link },
      { path: `/${link}/docs`, headers, body },
      [201],
    );
  }

  /** Reads what is new in a range of the target. Returns the next position. */
  async #look(rangeId: string, etag: string): Promise<string> {
    const link = `dbs/${DATABASE}/colls/target`;
    const headers = {
      'a-im': 'Incremental Feed',
      'x-ms-documentdb-partitionkeyrangeid': rangeId,
      'x-ms-max-item-count': '1000',
      'if-none-match': etag,
    };
    const reply = await this.#client.call(
      { verb: 'GET', type: 'docs', link },
      { path: `/${link}/docs`, headers },
      [200, 304],
    );
    const nowMs = performance.now();
    if (reply.status === 200) {
      const { Documents: documents } = JSON.parse(textOf(reply)) as { Documents: { id: string }[] };
      for (const { id } of documents) this.#seen(Number(id.slice(-8)), nowMs);
    }
    return reply.headers.etag ?? etag;
  }

  #seen(number: number, nowMs: number): void {
    const sentMs = this.#open.get(number);
    if (sentMs === undefined) return;
    this.#lags.push(nowMs - sentMs);
    this.#open.delete(number);
  }
}
