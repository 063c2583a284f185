/**
 * The cost of comparing a document for the client, with a service that does nothing: the whole `cosmig verify` with
 * checkpoints and runs on disk, in a process of its own. A document is read on both sides, so it counts twice.
 */
import { must } from '../src/lib/assert.ts';
import { Build } from './build.ts';
import { runClient } from './client-process.ts';
import { copyIn } from './copy.ts';
import type { Took } from './copy-client.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';
import type { MigrationSpec } from '../src/spec/migration-spec.ts';

const LARGE = 2_000_000;
const MEDIUM = 50_000;
/** Documents compared before measuring, until the JIT compiler has optimized the code that runs often. */
const WARM_UP = 200_000;

export async function benchVerify({
  documents = LARGE,
  profileDir,
  isPlain,
  say,
}: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, { profileDir, isPlain });
  const setting = { build, service, profileDir };
  const compare = async (counts: readonly number[], ttl: MigrationSpec['ttl'] = 'restart'): Promise<Took> => {
    say(`comparing ${counts.at(-1)?.toLocaleString('en-US')} documents, --ttl ${ttl}`);
    let last: Took | undefined;
    for await (const took of runClient(setting, ['verify-client.js', ttl], counts)) last = took;
    return must(last, 'something was compared');
  };
  const medium = await compare([MEDIUM]);
  const large = await compare([WARM_UP, documents]);
  const mortal = await compare([WARM_UP, documents], 'remaining');
  say(`copying ${documents.toLocaleString('en-US')} documents, for comparison`);
  const copied = (await copyIn(setting, 'cosmig', [WARM_UP, documents])).at(-1);
  if (copied === undefined) throw new Error('nothing was copied');
  const count = documents.toLocaleString('en-US');
  const both = (large.cpuMs * 1000) / documents;
  const copy = (copied.cpuMs * 1000) / documents;
  return [
    {
      name: `cosmig verify, ${count} a side`,
      value: (2 * documents * 1000) / large.cpuMs,
      unit: 'docs/CPU-s and side',
      target: 'at least 200,000',
      note: `${(both / 2).toFixed(2)} us a document and side`,
    },
    {
      name: 'the same, both sides',
      value: both,
      unit: 'us/doc',
      ratio: { value: both / copy, to: 'of cosmig copy' },
      target: 'at most 0.5 x a pass',
      note: `a pass over one side ${(both / 2 / copy).toFixed(2)} x; cosmig copy ${copy.toFixed(2)} us/doc`,
    },
    {
      name: 'the same, --ttl remaining',
      value: (mortal.cpuMs * 1000) / documents,
      unit: 'us/doc',
      ratio: { value: mortal.cpuMs / large.cpuMs, to: 'of --ttl restart' },
      note: `the instant of each document is compared; ${((mortal.ledgerBytes ?? Number.NaN) / (2 * documents)).toFixed(0)} bytes of runs, ${(mortal.rssPeakBytes / 1e6).toFixed(0)} MB at its peak`,
    },
    {
      name: 'runs on disk',
      value: (large.ledgerBytes ?? Number.NaN) / (2 * documents),
      unit: 'bytes/doc and side',
      note: 'two hashes, and the name: id, source key, target key',
    },
    {
      name: `memory at its peak, ${count}`,
      value: large.rssPeakBytes / 1e6,
      unit: 'MB',
      ratio: { value: large.rssPeakBytes / medium.rssPeakBytes, to: `at ${MEDIUM.toLocaleString('en-US')}` },
      target: 'below 200 MB',
    },
  ];
}
