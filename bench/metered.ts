/**
 * Load control with an account that limits RU/s. Measures by the emulator's meter how much of the target's RU/s a
 * copy uses and how often it is throttled, how other ranges behave when one is slow, and whether a budget is kept.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AccountClient, textOf } from './account-client.ts';
import { Build } from './build.ts';
import { BenchContainer, CONNECTIONS } from './container.ts';
import { CosmigProcess } from './cosmig-process.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startEmulator } from './server-process.ts';

const DATABASE = 'metered';
/** The throughput of the target: four ranges of 6,000 RU/s. */
const TARGET_RU = 24_000;
/** The throughput of the source, which is high enough that the copy never waits for the source. */
const SOURCE_RU = 100_000;
/** Numbers of documents that take about a minute to copy: at full speed, and with a budget of 30 %. */
const [DOCUMENTS, DOCUMENTS_OF_A_SHARE] = [120_000, 36_000];
const SAMPLE_MS = 250;
/**
 * The minimum length of a window in which a rate is measured. The service counts RU by whole seconds, which would
 * distort the rate in a shorter window.
 */
const WINDOW_MS = 5000;
/** How long load control takes to learn the limits of the ranges. */
const RAMP_MS = 3000;
const SLOW_MS = 1000;
/** The share of a range's documents that is measured. The last few documents are too few to show its rate. */
const MOST = 0.99;

/** What the emulator's meter shows for the target at one moment. */
interface Sample {
  readonly atMs: number;
  /** Request units charged so far, by range. */
  readonly ru: readonly number[];
  readonly throttled: number;
  readonly documents: number;
}

export async function benchMetered({ profileDir, say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using server = await startEmulator(build, profileDir);
  const client = new AccountClient(server.endpoint, server.key, CONNECTIONS);
  const admin = async (method: string, route: string, body?: object): Promise<string> => {
    const path = `/_emulator/${route}`;
    return textOf(await client.send({ method, path, ...(body && { body: JSON.stringify(body) }) }));
  };
  const sample = async (name: string): Promise<Sample> => sampleOf(await admin('GET', 'state'), name);
  const copy = async (source: string, name: string, ...more: readonly string[]): Promise<Sample[]> => {
    const target = await BenchContainer.create(client, DATABASE, {
      name,
      keyPath: '/id',
      throughputRu: TARGET_RU,
    });
    if (name === 'slow')
      await admin('PUT', 'faults', {
        seed: 1,
        rules: [
          {
            match: { op: 'batch', coll: name, rangeId: target.rangeIds[0] },
            effect: { delayMs: SLOW_MS },
          },
        ],
      });
    say(`copying into ${name}`);
    using cosmig = new CosmigProcess(build, server, { database: DATABASE, source, target: name });
    const ended = new AbortController();
    const samples: Sample[] = [];
    const watch = async (): Promise<void> => {
      for (; !ended.signal.aborted; await delay(SAMPLE_MS)) samples.push(await sample(name));
      samples.push(await sample(name));
    };
    await Promise.all([watch(), cosmig.run('copy', ...more).finally(() => ended.abort())]);
    await admin('DELETE', 'faults');
    return samples;
  };
  try {
    await admin('PUT', 'account', { ru: 'off' });
    say('filling the sources');
    for (const [name, documents] of [
      ['source', DOCUMENTS],
      ['small', DOCUMENTS_OF_A_SHARE],
    ] as const) {
      const source = await BenchContainer.create(client, DATABASE, { name, throughputRu: SOURCE_RU });
      await source.createUpTo(documents);
    }
    await admin('PUT', 'account', { ru: 'metered' });
    const plain = busyPart(await copy('source', 'plain'));
    const slow = busyPart(await copy('source', 'slow'));
    const share = busyPart(await copy('small', 'share', '--target-ru', '30%'));
    return [usedOf(plain), throttledOf(plain), othersOf(slow, plain), ...shareOf(share)];
  } finally {
    client.close();
  }
}

function sampleOf(state: string, name: string): Sample {
  const { containers } = JSON.parse(state) as {
    containers: {
      database: string;
      id: string;
      documents: number;
      ranges: { ru: number; throttled: number }[];
    }[];
  };
  const target = containers.find(({ database, id }) => database === DATABASE && id === name);
  if (target === undefined) throw new Error(`the emulator has no ${name}`);
  const { ranges, documents } = target;
  return {
    atMs: performance.now(),
    ru: ranges.map(({ ru }) => ru),
    throttled: ranges.reduce((sum, range) => sum + range.throttled, 0),
    documents,
  };
}

/**
 * Returns the samples of the time in which documents were written: from the last sample without a document to the
 * first sample with all documents.
 */
function busyPart(samples: readonly Sample[]): readonly Sample[] {
  const last = samples.at(-1)?.documents ?? 0;
  const from = samples.findLastIndex(({ documents }) => documents === 0);
  const to = samples.findIndex(({ documents }) => documents === last);
  if (last === 0 || from < 0) throw new Error('nothing was written, or its start was missed');
  return samples.slice(from, to + 1);
}

const totalOf = ({ ru }: Sample): number => ru.reduce((sum, one) => sum + one, 0);

/** Returns the RU per second between two samples. */
function rateOf(from: Sample, to: Sample, ruOf: (sample: Sample) => number = totalOf): number {
  return ((ruOf(to) - ruOf(from)) * 1000) / (to.atMs - from.atMs);
}

function ends(samples: readonly Sample[]): readonly [first: Sample, last: Sample] {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) throw new Error('the run was too short');
  return [first, last];
}

function usedOf(samples: readonly Sample[]): Result {
  const [first, last] = ends(samples);
  const rate = rateOf(first, last);
  return {
    name: "target's RU/s used, first to last write",
    value: rate,
    unit: 'RU/s',
    ratio: { value: rate / TARGET_RU, to: `${TARGET_RU.toLocaleString('en-US')} RU/s` },
    target: 'at least 0.95 x',
    note: `${last.documents.toLocaleString('en-US')} documents in ${((last.atMs - first.atMs) / 1000).toFixed(1)} s, ${((last.documents * 1000) / (last.atMs - first.atMs)).toFixed(0)} docs/s`,
  };
}

function throttledOf(samples: readonly Sample[]): Result {
  const [first, last] = ends(samples);
  const throttled = last.throttled - first.throttled;
  return {
    name: 'operations throttled',
    value: (100 * throttled) / (last.documents + throttled),
    unit: '%',
    target: 'below 2 %',
    note: `${throttled} of ${last.documents + throttled}`,
  };
}

/**
 * Compares the rate of the ranges that are not slow with the rate of the same ranges in a run without a slow range.
 * The measurement ends when these ranges have almost all of their documents, since the slow range may continue after
 * that.
 */
function othersOf(slow: readonly Sample[], plain: readonly Sample[]): Result {
  const others = ({ ru }: Sample): number => ru.slice(1).reduce((sum, one) => sum + one, 0);
  const busy = (samples: readonly Sample[]): number => {
    const [first, last] = ends(samples);
    const to = samples.find((sample) => others(sample) >= others(last) * MOST) ?? last;
    return rateOf(first, to, others);
  };
  const value = busy(slow);
  return {
    name: `other ranges, one answers ${SLOW_MS} ms late`,
    value,
    unit: 'RU/s',
    ratio: { value: value / busy(plain), to: 'with none slow' },
    target: 'at least 0.9 x',
  };
}

function shareOf(samples: readonly Sample[]): Result[] {
  const [first, last] = ends(samples);
  const steady = samples.filter(({ atMs }) => atMs - first.atMs >= RAMP_MS);
  const windows = steady.flatMap((from) => {
    const to = steady.find(({ atMs }) => atMs - from.atMs >= WINDOW_MS);
    return to === undefined ? [] : [rateOf(from, to) / TARGET_RU];
  });
  if (windows.length === 0) throw new Error('the run at a share was too short');
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return [
    {
      name: '--target-ru 30%, first to last write',
      value: (100 * rateOf(first, last)) / TARGET_RU,
      unit: '%',
      target: '27 to 31 %',
      note: `windows of ${WINDOW_MS / 1000} s: ${percent(Math.min(...windows))} to ${percent(Math.max(...windows))}`,
    },
  ];
}
