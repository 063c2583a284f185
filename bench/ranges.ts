/**
 * What many ranges cost: the same documents are copied from a few ranges into as many, and from hundreds into hundreds, each
 * in a process of its own, with a service that does nothing. With 512 ranges, a page has documents for all of them, and each
 * range has a lease, a position and a batch of its own.
 */
import { Build } from './build.ts';
import { copyIn, type Measured } from './copy.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';

const RANGES = [4, 64, 512] as const;
const DOCUMENTS = 1_000_000;
/** Documents copied before measuring, until the JIT compiler has optimized the code that runs often. */
const WARM_UP = 100_000;

export async function benchRanges({
  documents = DOCUMENTS,
  profileDir,
  isPlain,
  say,
}: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, { profileDir, isPlain });
  const measured = new Map<number, Measured>();
  for (const ranges of RANGES) {
    say(`${ranges} ranges, ${documents.toLocaleString('en-US')} documents`);
    const took = await copyIn({ build, service, profileDir }, `cosmig/${ranges}`, [WARM_UP, documents]);
    for (const one of took) measured.set(ranges, one);
  }
  const few = measured.get(RANGES[0]);
  return [...measured].flatMap(([ranges, { cpuMs, rssPeakBytes }]) => [
    {
      name: `cosmig copy, ${ranges} ranges into ${ranges}`,
      value: (cpuMs * 1000) / documents,
      unit: 'us/doc',
      ratio: { value: cpuMs / (few?.cpuMs ?? Number.NaN), to: `of ${RANGES[0]}` },
      target: 'at most 1.3 x',
    },
    {
      name: 'the same, memory at its peak',
      value: rssPeakBytes / 2 ** 20,
      unit: 'MiB',
      ratio: { value: rssPeakBytes / (few?.rssPeakBytes ?? Number.NaN), to: `of ${RANGES[0]}` },
      target: 'below 300 MB',
    },
  ]);
}
