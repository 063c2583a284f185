import { AccountClient } from './account-client.ts';
import { BenchContainer, CONNECTIONS } from './container.ts';
import { DOCUMENT_BYTES } from './documents.ts';
import { Build } from './build.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startEmulator, type ServerProcess } from './server-process.ts';

/** The size of the small container: it fits every cache, and is large enough to be measured. */
const SMALL = 10_000;
const LARGE = 1_000_000;
/** How many documents at the end of the large load are measured separately. */
const TAIL = 50_000;
/**
 * The minimum duration of reading. A small feed takes milliseconds, so it is read repeatedly until this time has
 * passed.
 */
const FEED_MIN_MS = 1500;
const FEED_ROUNDS_MAX = 100;

/**
 * Measures the emulator: bulk creates of 1 KB documents and reading them through the change feed, with few and with
 * many documents in the container, and the memory used. The report shows the server's CPU time per document next to
 * each rate, since other work on the machine hardly changes it. The CPU share of the client shows that the client was
 * not the limit.
 */
export async function benchEmulator({ documents = LARGE, profileDir, say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using server = await startEmulator(build, profileDir);
  const client = new AccountClient(server.endpoint, server.key, CONNECTIONS);
  try {
    await client.send({ method: 'PUT', path: '/_emulator/account', body: '{"ru":"off"}' });
    say('warming up');
    const warmUp = await BenchContainer.create(client, 'bench', { name: 'warm-up' });
    await warmUp.createUpTo(2 * SMALL);
    await readRepeatedly(warmUp);
    await warmUp.delete();

    const container = await BenchContainer.create(client, 'bench', { name: 'readings' });
    const before = server.memory();
    say(`creating ${SMALL} documents in ${container.rangeCount} ranges`);
    const smallCreate = await measure(server, async () => {
      await container.createUpTo(SMALL);
      return SMALL;
    });
    const smallRead = await measure(server, () => readRepeatedly(container));

    const tail = Math.min(TAIL, documents - SMALL);
    say(`creating up to ${documents}`);
    const all = await measure(server, async () => {
      await container.createUpTo(documents - tail);
      return documents - tail - SMALL;
    });
    const largeCreate = await measure(server, async () => {
      await container.createUpTo(documents);
      return tail;
    });
    const loaded = server.memory();
    say('reading the change feed');
    const largeRead = await measure(server, () => readRepeatedly(container));
    const stored = documents * DOCUMENT_BYTES;

    const large = documents.toLocaleString('en-US');
    return [
      rateOf('bulk create, 0 to 10,000', smallCreate, 'at least 20,000'),
      ...(all.documents > 0 ? [rateOf(`bulk create, 10,000 to ${large}`, all)] : []),
      fallOf(`bulk create, last ${tail.toLocaleString('en-US')}`, largeCreate, smallCreate),
      rateOf('change feed, 10,000 documents', smallRead, 'at least 150,000'),
      fallOf(`change feed, ${large} documents`, largeRead, smallRead),
      {
        name: 'memory while loading, peak',
        value: loaded.peakBytes / 2 ** 20,
        unit: 'MiB',
        ratio: { value: loaded.peakBytes / stored, to: 'stored' },
        target: 'at most 3 x',
        note: `${(loaded.nowBytes / 2 ** 20).toFixed(0)} MiB at its end, ${(before.nowBytes / 2 ** 20).toFixed(0)} MiB before; stored ${(stored / 2 ** 20).toFixed(0)} MiB`,
      },
      {
        name: 'memory after reading, peak',
        value: server.memory().peakBytes / 2 ** 20,
        unit: 'MiB',
        ratio: { value: server.memory().peakBytes / stored, to: 'stored' },
        target: 'at most 3 x',
      },
    ];
  } finally {
    client.close();
  }
}

interface Measured {
  readonly documents: number;
  readonly wallMs: number;
  readonly serverMs: number;
  readonly clientMs: number;
}

/** Measures `work`, which returns the number of documents that it moved. */
async function measure(server: ServerProcess, work: () => Promise<number>): Promise<Measured> {
  const serverBefore = server.cpuMs();
  const clientBefore = process.cpuUsage();
  const start = performance.now();
  const documents = await work();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(clientBefore);
  return { documents, wallMs, serverMs: server.cpuMs() - serverBefore, clientMs: (user + system) / 1000 };
}

async function readRepeatedly(container: BenchContainer): Promise<number> {
  const start = performance.now();
  let documents = 0;
  for (let round = 0; round < FEED_ROUNDS_MAX && performance.now() - start < FEED_MIN_MS; round += 1) {
    documents += await container.readFeed();
  }
  return documents;
}

function rateOf(name: string, measured: Measured, target?: string): Result {
  const { documents, wallMs, serverMs, clientMs } = measured;
  const share = (ms: number): string => `${Math.round((100 * ms) / wallMs)} %`;
  const perDocument = ((serverMs * 1000) / documents).toFixed(1);
  return {
    name,
    value: (documents * 1000) / wallMs,
    unit: 'docs/s',
    ...(target === undefined ? {} : { target }),
    note: `server ${perDocument} us/doc, busy ${share(serverMs)}; client busy ${share(clientMs)}`,
  };
}

function fallOf(name: string, large: Measured, small: Measured): Result {
  const value = large.documents / large.wallMs / (small.documents / small.wallMs);
  return { ...rateOf(name, large), ratio: { value, to: 'at 10,000' }, target: 'at least 0.67 x' };
}
