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
/** The number of the first document that is written on the way back. */
const BACK_FROM = 1_000_000;
/** How many documents exist before the tail begins. */
const COPIED = 20_000;
const WRITES_PER_SECOND = 1000;
const SECONDS = 30;
/** Higher rates, which are tried one after the other until the tail falls behind: until 1 % of the documents lag more. */
const HIGHER_RATES = [2000, 3000, 4000, 6000, 8000] as const;
const HELD_MS = 2000;
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
    const bench = new LagBench(client, { from: 'source', to: 'target', rangeIds: target.rangeIds });
    const forth = lagsOf('the tail', await bench.runWith(cosmig, 'tail'), bench);
    for (const rate of HIGHER_RATES) {
      say(`tailing ${rate} writes a second for ${SECONDS} s`);
      const lags = lagsOf(`the tail at ${rate}`, await bench.runWith(cosmig, 'tail', rate), bench);
      forth.push(...lags);
      if ((lags[1]?.value ?? 0) >= HELD_MS) break;
    }
    await cosmig.run('tail', '--until-caught-up');
    return [...forth, ...(await measureWayBack({ client, source, cosmig, say }))];
  } finally {
    client.close();
  }
}

function lagsOf(what: string, lags: readonly number[], { writesPerSecond, cpuMs }: LagBench): Result[] {
  const sorted = Float64Array.from(lags).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const note = `${sorted.length.toLocaleString('en-US')} documents, ${writesPerSecond.toFixed(0)} writes/s; worst ${at(1).toFixed(0)} ms`;
  return [
    { name: `lag of ${what}, p50`, value: at(0.5), unit: 'ms', note },
    { name: `lag of ${what}, p99`, value: at(0.99), unit: 'ms', target: 'below 1000 ms at 1,000 writes/s' },
    { name: `CPU time of ${what}`, value: (cpuMs * 1000) / sorted.length, unit: 'us/write' },
  ];
}

/** How many documents change between the last comparison and the switch. */
const CHANGES = 1000;
const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

interface WayBackParts {
  readonly client: AccountClient;
  readonly source: BenchContainer;
  readonly cosmig: CosmigProcess;
  readonly say: (text: string) => void;
}

/** Cuts over with a way back, measures the reverse stream under the same load, and switches back. */
async function measureWayBack({ client, source, cosmig, say }: WayBackParts): Promise<Result[]> {
  await cosmig.run('verify');
  const there = await cosmig.run('cutover', ...SWITCH, '--keep-source-for', '1d');
  await cosmig.run('reverse', '--until-caught-up');
  say(`replicating ${WRITES_PER_SECOND} writes a second back for ${SECONDS} s`);
  const bench = new LagBench(client, { from: 'target', to: 'source', rangeIds: source.rangeIds });
  const lags = await bench.runWith(cosmig, 'reverse');
  await cosmig.run('reverse', '--until-caught-up');
  await cosmig.run('verify', '--reverse');
  await bench.create(CHANGES);
  await cosmig.run('reverse', '--until-caught-up');
  const expectedMs = cosmig.status().wayBack?.stopEstimate?.ms;
  const back = await cosmig.run('rollback', ...SWITCH);
  const [stopped, before] = [back.stoppedMs ?? Number.NaN, there.stoppedMs ?? Number.NaN];
  return [
    ...lagsOf('cosmig reverse', lags, bench),
    {
      name: `writers stopped by the rollback, ${CHANGES.toLocaleString('en-US')} changed`,
      value: stopped / 1000,
      unit: 's',
      ratio: { value: stopped / before, to: 'the cutover before, with no changes' },
      note: '1 s of it without writes',
    },
    {
      name: 'the same, as cosmig status had estimated it',
      value: (expectedMs ?? Number.NaN) / 1000,
      unit: 's',
      note: 'with the usual 5 s without writes',
    },
  ];
}

type Name = 'source' | 'target';

/** Writes to a container at a fixed rate, and waits for each document in the other one. */
class LagBench {
  writesPerSecond = 0;
  /** The CPU time of the command while the documents were written. */
  cpuMs = 0;
  readonly #client: AccountClient;
  readonly #from: Name;
  readonly #to: Name;
  readonly #rangeIds: readonly string[];
  readonly #template = documentTemplate();
  /** When each document was sent that the benchmark has not yet seen in the target, by its number. */
  readonly #open = new Map<number, number>();
  #lags: number[] = [];
  #written = 0;

  constructor(
    client: AccountClient,
    { from, to, rangeIds }: { readonly from: Name; readonly to: Name; readonly rangeIds: readonly string[] },
  ) {
    this.#client = client;
    this.#from = from;
    this.#to = to;
    this.#rangeIds = rangeIds;
  }

  /** Runs a command until every document has come. */
  async runWith(
    cosmig: CosmigProcess,
    command: 'tail' | 'reverse',
    rate = WRITES_PER_SECOND,
  ): Promise<readonly number[]> {
    const measured = this.#run(rate).finally(() => {
      this.cpuMs = cosmig.cpuMs();
      cosmig.stop();
    });
    const [lags] = await Promise.all([measured, cosmig.run(command)]);
    return lags;
  }

  async #run(rate: number): Promise<readonly number[]> {
    this.#lags = [];
    const positions = await Promise.all(this.#rangeIds.map(async (id) => this.#look(id, '*')));
    const ended = new AbortController();
    const look = async (id: string, i: number): Promise<void> => {
      for (let etag = positions[i] ?? ''; !ended.signal.aborted; await delay(LOOK_MS))
        etag = await this.#look(id, etag);
    };
    const write = async (): Promise<void> => {
      await this.#write(rate);
      const lateMs = performance.now() + PATIENCE_MS;
      while (this.#open.size > 0 && performance.now() < lateMs) await delay(LOOK_MS);
    };
    await Promise.all([...this.#rangeIds.map(look), write().finally(() => ended.abort())]);
    if (this.#open.size > 0) throw new Error(`${this.#open.size} documents did not come`);
    return this.#lags;
  }

  async #write(rate: number): Promise<void> {
    const start = performance.now();
    const first = this.#written;
    const writing: Promise<void>[] = [];
    for (;;) {
      const elapsedMs = performance.now() - start;
      if (elapsedMs >= SECONDS * 1000) break;
      const due = first + Math.floor((elapsedMs * rate) / 1000);
      while (this.#written < due) writing.push(this.#create((this.#written += 1)));
      await delay(BURST_MS);
    }
    await Promise.all(writing);
    this.writesPerSecond = ((this.#written - first) * 1000) / (performance.now() - start);
  }

  /** Creates documents and does not wait for them in the other container. */
  async create(documents: number): Promise<void> {
    for (let n = 0; n < documents; n += 1) await this.#create((this.#written += 1));
  }

  async #create(number: number): Promise<void> {
    const first = this.#from === 'source' ? COPIED : BACK_FROM;
    const digits = String(first + number).padStart(8, '0');
    const device = `device-${String(number % 10_000).padStart(6, '0')}`;
    const body = this.#template.replace('########', digits).replace('device-@@@@@@', device);
    const link = `dbs/${DATABASE}/colls/${this.#from}`;
    // The key of the target is /id.
    const key = this.#from === 'source' ? device : (JSON.parse(body) as { id: string }).id;
    const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([key]) };
    this.#open.set(first + number, performance.now());
    await this.#client.call(
      { verb: 'POST', type: 'docs', link },
      { path: `/${link}/docs`, headers, body },
      [201],
    );
  }

  /** Reads what is new in a range of the target. Returns the next position. */
  async #look(rangeId: string, etag: string): Promise<string> {
    const link = `dbs/${DATABASE}/colls/${this.#to}`;
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
