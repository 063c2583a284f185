/**
 * Measures how long a cutover keeps the writers stopped, for containers of several sizes with the same number of
 * changes since the last clean comparison, and for a container with more changes. The measured time includes
 * --quiet-for, which is the same in every case. The cutover compares both sides during that time.
 */
import { AccountClient, textOf } from './account-client.ts';
import { Build } from './build.ts';
import { BenchContainer } from './container.ts';
import { CosmigProcess } from './cosmig-process.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startEmulator } from './server-process.ts';

const DATABASE = 'cutover';
const CONNECTIONS = 8;
/** Enough RU/s that the copy never waits. Every container has the same number of ranges. */
const THROUGHPUT_RU = 100_000;
const CHANGES = 1000;
const CASES = [
  { documents: 20_000, changes: CHANGES },
  { documents: 100_000, changes: CHANGES },
  { documents: 400_000, changes: CHANGES },
  { documents: 100_000, changes: 10 * CHANGES },
];
const QUIET_S = 1;

interface Cut {
  readonly stoppedMs: number;
  /** The requests of the whole cutover. */
  readonly requests: number;
  readonly ru: number;
}

export async function benchCutover({ profileDir, say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  const results: Result[] = [];
  let first: Cut | undefined;
  for (const { documents, changes } of CASES) {
    const [many, some] = [documents, changes].map((count) => count.toLocaleString('en-US'));
    say(`${many} documents, ${some} of them changed`);
    const cut = await cutOver(build, { documents, changes, profileDir });
    first ??= cut;
    results.push({
      name: `writers stopped: ${many} documents, ${some} changed`,
      value: cut.stoppedMs / 1000,
      unit: 's',
      ratio: {
        value: cut.stoppedMs / first.stoppedMs,
        to: 'the first',
      },
      note: `${QUIET_S} s of it without writes; ${cut.requests} requests, ${cut.ru.toFixed(0)} RU in all`,
    });
  }
  return results;
}

async function cutOver(
  build: Build,
  {
    documents,
    changes,
    profileDir,
  }: { readonly documents: number; readonly changes: number; readonly profileDir: string | undefined },
): Promise<Cut> {
  await using server = await startEmulator(build, profileDir);
  const client = new AccountClient(server.endpoint, server.key, CONNECTIONS);
  try {
    await client.send({ method: 'PUT', path: '/_emulator/account', body: '{"ru":"off"}' });
    const shape = { throughputRu: THROUGHPUT_RU };
    const source = await BenchContainer.create(client, DATABASE, { ...shape, name: 'source' });
    await BenchContainer.create(client, DATABASE, { ...shape, name: 'target', keyPath: '/id' });
    await source.createUpTo(documents - changes);
    using cosmig = new CosmigProcess(build, server, { database: DATABASE });
    await cosmig.run('copy');
    await cosmig.run('verify');
    await source.createUpTo(documents);
    await cosmig.run('tail', '--until-caught-up');
    const before = await askedOf(client);
    const { stoppedMs } = await cosmig.run(
      'cutover',
      '--writers-stopped',
      '--quiet-for',
      `${QUIET_S}s`,
      '--watch-writes',
      '1s',
    );
    if (stoppedMs === undefined)
      throw new Error('the cutover does not say how long the writers were stopped');
    const after = await askedOf(client);
    return { stoppedMs, requests: after.requests - before.requests, ru: after.ru - before.ru };
  } finally {
    client.close();
  }
}

/** Returns how many requests the emulator has answered so far, and their charge. */
async function askedOf(client: AccountClient): Promise<{ readonly requests: number; readonly ru: number }> {
  const reply = await client.send({ method: 'GET', path: '/_emulator/state' });
  const { requests, containers } = JSON.parse(textOf(reply)) as {
    readonly requests: { readonly total: number };
    readonly containers: ReadonlyArray<{ readonly ranges: ReadonlyArray<{ readonly ru: number }> }>;
  };
  const charges = containers.flatMap(({ ranges }) => ranges.map(({ ru }) => ru));
  return { requests: requests.total, ru: charges.reduce((sum, ru) => sum + ru, 0) };
}
