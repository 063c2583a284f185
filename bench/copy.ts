/**
 * The cost of a copied document for the client over https, with a service that does nothing. It compares the SDK's feed
 * iterator with single upserts, the same with bulk calls of 100, cosmig with all its parts, and a client that only moves
 * the bytes (the floor), each in a process of its own.
 * CPU time per document is reported, since other work on the machine hardly changes it; documents per second would
 * vary.
 */
import { Build } from './build.ts';
import { runClient, type Setting } from './client-process.ts';
import type { Took, Way } from './copy-client.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';

const LARGE = 2_000_000;
const MEDIUM = 50_000;
const SMALL = 10_000;
/** How many small copies are made, and as many of twice the size. A single small copy is too short to be measured. */
const SMALL_ROUNDS = 12;
/** Documents copied before measuring, until the JIT compiler has optimized the code that runs often. */
const WARM_UP = 200_000;
/** The counts of the floor: a warm-up, and the one that is measured. */
const FLOOR = [100_000, 400_000];

export interface Measured extends Took {
  /** CPU time of the service during the copy. */
  readonly serverMs: number;
}

export async function benchCopy({
  documents = LARGE,
  profileDir,
  isPlain,
  say,
}: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, { profileDir, isPlain });
  const copies = async (way: Way, counts: readonly number[]): Promise<Measured[]> => {
    say(`copying: ${way}, ${counts.at(-1)?.toLocaleString('en-US')} documents`);
    return copyIn({ build, service, profileDir }, way, counts);
  };
  const copy = async (way: Way, counts: readonly number[]): Promise<Measured> =>
    lastOf(await copies(way, counts));
  const floors = [await copy('floor', FLOOR)];
  const upsert = await copy('upsert', [5000, 30_000]);
  const bulk = await copy('bulk', [20_000, 100_000]);
  const bulkToOne = await copy('bulk-to-one', [50_000, 200_000]);
  const medium = await copy('cosmig', [MEDIUM]);
  const [, ...small] = await copies('cosmig', [
    WARM_UP,
    ...Array.from({ length: SMALL_ROUNDS }, () => [SMALL, 2 * SMALL]).flat(),
  ]);
  const large = await copy('cosmig', [WARM_UP, documents]);
  const mapMedium = await copy('map', [MEDIUM]);
  const map = await copy('map', [WARM_UP, documents]);
  // Measured again at the end, since the speed of the machine may have changed.
  floors.push(await copy('floor', FLOOR));
  const count = documents.toLocaleString('en-US');
  const cost = (one: Measured): number => perDocument(one.cpuMs, one.documents);
  const floor = floors.reduce((sum, one) => sum + cost(one), 0) / floors.length;
  return [
    {
      ...costOf('a client that only moves the bytes', lastOf(floors)),
      value: floor,
    },
    costOf('SDK feed, upsert one by one', upsert),
    costOf('SDK feed, bulk in calls of 100', bulk),
    costOf('the same, into a target of one range', bulkToOne),
    {
      ...costOf(`cosmig copy, ${count}`, large),
      ratio: { value: cost(upsert) / cost(large), to: 'cheaper than one by one' },
      target: 'at least 40 x',
    },
    {
      name: 'the same',
      value: cost(large),
      unit: 'us/doc',
      ratio: { value: cost(bulk) / cost(large), to: 'cheaper than bulk' },
      target: 'at least 8 x',
    },
    {
      name: 'the same',
      value: cost(large),
      unit: 'us/doc',
      ratio: { value: floor / cost(large), to: 'of what only moving the bytes costs' },
      target: 'at least 0.45 x',
    },
    {
      name: 'the same',
      value: cost(large),
      unit: 'us/doc',
      ratio: { value: cost(bulkToOne) / cost(large), to: 'cheaper than bulk into one range' },
    },
    {
      name: 'cosmig copy, one process',
      value: (documents * 1000) / large.wallMs,
      unit: 'docs/s',
      target: 'about 140,000',
    },
    smallOf(small, large),
    {
      ...costOf(`copy --adopt-target, the map of ${count}`, map),
      ratio: { value: cost(map) / cost(large), to: 'of cosmig copy' },
      target: 'at most 0.25 x',
    },
    {
      name: 'the same, memory at its peak',
      value: map.rssPeakBytes / 2 ** 20,
      unit: 'MiB',
      ratio: {
        value: map.rssPeakBytes / mapMedium.rssPeakBytes,
        to: `at ${MEDIUM.toLocaleString('en-US')}`,
      },
      target: 'below 300 MB',
      note: `${((map.ledgerBytes ?? Number.NaN) / documents).toFixed(0)} bytes of ledger a document`,
    },
    {
      name: 'ledger (segments, index and rows)',
      value: (large.ledgerBytes ?? Number.NaN) / documents,
      unit: 'bytes/doc',
      target: 'at most 120 and the key value',
      note: `with key values of ${KEY_BYTES} bytes`,
    },
    {
      name: `memory at its peak, ${count}`,
      value: large.rssPeakBytes / 2 ** 20,
      unit: 'MiB',
      ratio: { value: large.rssPeakBytes / medium.rssPeakBytes, to: `at ${MEDIUM.toLocaleString('en-US')}` },
      target: 'below 300 MB, within 50 MB',
      note: `${(medium.rssPeakBytes / 2 ** 20).toFixed(0)} MiB at ${MEDIUM.toLocaleString('en-US')}`,
    },
  ];
}

/** The size of a key value, a tenant, in the ledger. */
const KEY_BYTES = 'tenant-0042'.length + 3;

/**
 * Returns the cost per document between two small sizes. The cost of each run that does not depend on its size
 * (preflight, sample, ledger) cancels out.
 */
function smallOf(small: readonly Measured[], large: Measured): Result {
  const mean = (documents: number): number => {
    const some = small.filter((one) => one.documents === documents);
    return some.reduce((sum, one) => sum + one.cpuMs, 0) / some.length;
  };
  const value = perDocument(mean(2 * SMALL) - mean(SMALL), SMALL);
  const fixedMs = mean(SMALL) - (value * SMALL) / 1000;
  return {
    name: `cosmig copy, from ${SMALL.toLocaleString('en-US')} to ${(2 * SMALL).toLocaleString('en-US')}`,
    value,
    unit: 'us/doc',
    ratio: {
      value: value / perDocument(large.cpuMs - fixedMs, large.documents),
      to: `at ${large.documents.toLocaleString('en-US')}`,
    },
    target: 'the same',
    note: `each run costs ${fixedMs.toFixed(0)} ms besides`,
  };
}

/** Copies in one way, in a process of its own on the core of the benchmark. Returns a measurement for each count. */
export async function copyIn(
  setting: Setting,
  way: Way | `cosmig/${number}` | `cosmig/${number}/${number}`,
  counts: readonly number[],
): Promise<Measured[]> {
  const { service } = setting;
  const list: Measured[] = [];
  let serverBefore = service.cpuMs();
  for await (const took of runClient(setting, ['copy-client.js', way], counts)) {
    const serverMs = service.cpuMs();
    list.push({ ...took, serverMs: serverMs - serverBefore });
    serverBefore = serverMs;
  }
  return list;
}

function lastOf(list: readonly Measured[]): Measured {
  const last = list.at(-1);
  if (last === undefined) throw new Error('nothing was copied');
  return last;
}

function costOf(name: string, { documents, wallMs, cpuMs, serverMs }: Measured): Result {
  return {
    name,
    value: perDocument(cpuMs, documents),
    unit: 'us/doc',
    note: `${Math.round((documents * 1000) / wallMs).toLocaleString('en-US')} docs/s; service busy ${Math.round((100 * serverMs) / wallMs)} %`,
  };
}

function perDocument(ms: number, documents: number): number {
  return (ms * 1000) / documents;
}
