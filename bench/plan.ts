/**
 * The cost of measuring candidates for the client, with a service that does nothing: the whole pass of `cosmig plan`
 * with its checkpoints, in a process of its own, compared in the same run with the pass of `cosmig verify` over one side.
 */
import { must } from '../src/lib/assert.ts';
import { Build } from './build.ts';
import { runClient } from './client-process.ts';
import type { Took } from './copy-client.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';

const LARGE = 2_000_000;
const MEDIUM = 50_000;
/** Documents read before measuring, until the JIT compiler has optimized the code that runs often. */
const WARM_UP = 200_000;
/** Keys with few, many and unique values, two levels, and derived keys that are shared or unique. */
const CANDIDATES = [
  '/tenantId',
  '/deviceId',
  '/tenantId,/deviceId',
  '/pk={deviceId}-{createdAt|month}',
  '/id',
  '/pk={tenantId}-{id|hash:400}',
];

export async function benchPlan({
  documents = LARGE,
  profileDir,
  isPlain,
  say,
}: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, { profileDir, isPlain });
  const setting = { build, service, profileDir };
  const last = async (
    words: readonly [script: string, ...words: readonly string[]],
    counts: readonly number[],
  ): Promise<Took> => {
    say(`${words.join(' ')}: ${counts.at(-1)?.toLocaleString('en-US')} documents`);
    let took: Took | undefined;
    for await (const one of runClient(setting, words, counts)) took = one;
    return must(took, 'something was read');
  };
  const count = documents.toLocaleString('en-US');
  const verified = await last(['verify-client.js', 'restart'], [WARM_UP, documents]);
  const side = (verified.cpuMs * 1000) / documents / 2;
  const six = CANDIDATES.join(';');
  const medium = await last(['plan-client.js', 'sketches', six], [MEDIUM]);
  const large = await last(['plan-client.js', 'sketches', six], [WARM_UP, documents]);
  const one = await last(['plan-client.js', 'sketches', '/tenantId'], [WARM_UP, documents]);
  const exact = await last(['plan-client.js', 'exact', six], [WARM_UP, documents]);
  const perDocument = ({ cpuMs }: Took): number => (cpuMs * 1000) / documents;
  return [
    {
      name: `cosmig plan, 6 candidates, ${count}`,
      value: perDocument(large),
      unit: 'us/doc',
      ratio: { value: perDocument(large) / side, to: 'of a verify pass' },
      target: 'at most 2 x a pass over one side',
      note: `cosmig verify ${side.toFixed(2)} us a document and side`,
    },
    {
      name: 'the same, 1 candidate',
      value: perDocument(one),
      unit: 'us/doc',
      ratio: { value: perDocument(one) / side, to: 'of a verify pass' },
    },
    {
      name: `memory at its peak, 6 candidates, ${count}`,
      value: large.rssPeakBytes / 1e6,
      unit: 'MB',
      ratio: { value: large.rssPeakBytes / medium.rssPeakBytes, to: `at ${MEDIUM.toLocaleString('en-US')}` },
      target: 'below 300 MB',
    },
    {
      name: `cosmig plan --exact, 6 candidates, ${count}`,
      value: perDocument(exact),
      unit: 'us/doc',
      ratio: { value: exact.rssPeakBytes / large.rssPeakBytes, to: 'of the memory without --exact' },
    },
    {
      name: 'its disk, a document and candidate',
      value: (exact.diskBytes ?? 0) / documents / CANDIDATES.length,
      unit: 'B',
      target: 'at most 48 bytes',
    },
  ];
}
