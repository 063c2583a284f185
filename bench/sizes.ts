/**
 * Whether a copy costs in proportion to bytes: about the same number of bytes is copied in documents of several sizes, each
 * in a process of its own, with a service that does nothing.
 */
import { Build } from './build.ts';
import { copyIn } from './copy.ts';
import { DOCUMENT_BYTES } from './documents.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';

const SIZES_BYTES = [300, 1024, 4096, 16_384] as const;
const RANGES = 8;
/** So many documents of 1 KB; of other sizes as many bytes. */
const DOCUMENTS = 1_000_000;
/**
 * Which part of them is copied for warming up, and which before the whole. Between the last two copies the cost of each run
 * cancels out, which is larger for large documents: a sample of them is read first.
 */
const PARTS = [0.1, 0.25];

export async function benchSizes({
  documents = DOCUMENTS,
  profileDir,
  isPlain,
  say,
}: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, { profileDir, isPlain });
  const results: Result[] = [];
  for (const size of SIZES_BYTES) {
    const count = Math.round((documents * DOCUMENT_BYTES) / size);
    say(`${count.toLocaleString('en-US')} documents of ${size} bytes`);
    const way = `cosmig/${RANGES}/${size}` as const;
    const counts = [...PARTS.map((part) => Math.round(count * part)), count];
    const [, part, whole] = await copyIn({ build, service, profileDir }, way, counts);
    if (part === undefined || whole === undefined) throw new Error('nothing was copied');
    const cpuMs = whole.cpuMs - part.cpuMs;
    const documentsMore = whole.documents - part.documents;
    const value = (cpuMs * 1000) / documentsMore;
    const fixedMs = part.cpuMs - (value * part.documents) / 1000;
    const megabytes = (documentsMore * size) / 1e6;
    results.push({
      name: `cosmig copy, documents of ${size} bytes`,
      value,
      unit: 'us/doc',
      note: `${((megabytes * 1000) / cpuMs).toFixed(0)} MB in a second of CPU time; each run costs ${fixedMs.toFixed(0)} ms besides; ${(whole.rssPeakBytes / 2 ** 20).toFixed(0)} MiB at its peak`,
    });
  }
  return results;
}
