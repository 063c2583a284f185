/** Puts together what a plan has found out: the figures of each candidate, their verdicts, and the recommendation. Pure. */
import { describeAccount } from '../cosmos/account/describe.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { Script, ScriptKind } from '../cosmos/container/scripts.ts';
import { ruOf, throughputText } from '../cosmos/container/throughput.ts';
import type { Side } from '../cosmos/side.ts';
import { must } from '../lib/assert.ts';
import { pluralize } from '../lib/counting.ts';
import { createRu, indexedBy } from '../preflight/estimate.ts';
import type { SourceSample } from '../preflight/sample.ts';
import type { KeyCandidate } from './candidates/candidate.ts';
import { hasTimeValues } from './candidates/time-values.ts';
import { dataFigures, writeFigures } from './figures.ts';
import { withExact, withExactWrites } from './exact/exact-figures.ts';
import { growthOf, lifeDaysOf } from './forecast/growth.ts';
import { costsOf } from './money/costs.ts';
import { PRICES, type Prices } from '../spec/money/prices.ts';
import { priceNote } from './money/prices.ts';
import type { CandidateMeasure } from './pass/candidate-measure.ts';
import type { SourceTotals } from './pass/page-measure.ts';
import type { Measured } from './reading/plan-pass.ts';
import type { CandidateWorkload, DataFigures, PlanResult, SourceFigures } from './result.ts';
import { judge, type Unjudged } from './verdict/findings.ts';
import { recommend } from './verdict/recommend.ts';
import { documentsInSource } from './reading/sampled.ts';
import type { Bounded } from './sketch/estimate.ts';
import { uniqueKeyConflicts } from './unique/unique-figures.ts';
import { uniqueKeyPaths, uniqueKeysOf } from './unique/unique-values.ts';
import { weigh } from './workload/weigh.ts';
import { workloadResult } from './workload/workload.ts';
import type { Followed, PlanParts } from './plan.ts';
import { showOf } from './show-values.ts';

const DAY_SECONDS = 86_400;

/** Everything that a plan has found out, before it becomes figures. */
export interface PlanFound extends PlanParts {
  readonly side: Side;
  readonly facts: ContainerFacts;
  readonly candidates: readonly KeyCandidate[];
  /** A sample of documents with each candidate, as the preflight takes it. */
  readonly samples: readonly SourceSample[];
  /** RU/s that reading may use in the source, as the preflight computes them; undefined: not known. */
  readonly sourceRu: number | undefined;
  readonly scripts: readonly Script[] | null;
  readonly deletes: SourceFigures['deletes'];
  readonly measured: Measured;
  readonly observed: Followed | null;
  readonly regions: Awaited<ReturnType<typeof describeAccount>>;
}

export function resultOf(found: PlanFound): PlanResult {
  const { candidates, facts, measured, observed, workload: file } = found;
  const { share } = measured.sample;
  const { measure } = measured;
  const { totals } = measure;
  const documents = documentsInSource(measured.parts, { share, reported: totals.reported });
  const leftOut = share >= 1 ? leftOutOf(totals) : null;
  const times = share >= 1 || totals.documents === 0 ? 1 : documents.estimate / totals.documents;
  const source = sourceFigures(found, times);
  const uniqueKeys = uniqueKeysOf(facts.settings.uniqueKeyPolicy);
  const prices = found.prices ?? PRICES;
  const workloads = candidates.map((candidate, at) =>
    workloadFigures(found, { candidate, at, source, prices }),
  );
  const unjudged = candidates.map((candidate, at): Unjudged => {
    const one = must(measure.candidates[at], 'each candidate is measured');
    const costOfWrite = createRu(source.averageBytes, source.averageTerms);
    const read = { partitions: source.partitions, all: documents, sample: measured.sample };
    const hasPresentKey = facts.keyPaths.every((path) => candidate.paths.includes(path));
    const isWhole = leftOut?.documents === 0;
    const exact = measured.exact?.[at];
    const estimated = dataFigures(one, { ...read, isWhole, hasPresentKey });
    const conflicts = { uniqueKeys, all: documents, isSample: share < 1, isWhole, hasPresentKey, exact };
    const data: DataFigures = {
      ...(exact === undefined ? estimated : withExact(estimated, exact, { all: totals.documents, isWhole })),
      uniqueKeyConflicts: uniqueKeyConflicts(one, conflicts),
    };
    const writes = writeFigures(one, costOfWrite, read);
    const { key, paths, derive, isCurrent: current, proposed } = candidate;
    const workload = workloads[at] ?? null;
    const [now, after] = [workloads[0]?.ruPerSecond, workload?.ruPerSecond];
    const queriesRu = now === undefined || after === undefined ? null : { now, after };
    return {
      key,
      paths,
      derive,
      current,
      proposed,
      timeValues: hasTimeValues(candidate, found.samples[at]?.biggest.map(({ values }) => values) ?? []),
      data,
      writes: exact === undefined ? writes : withExactWrites(writes, exact),
      growth: growthFigures(found, { candidate, measure: one, source, times }),
      costs: costFigures(found, { candidate, at, source, times, prices, queriesRu }),
      workload,
      observed: observed?.figures[at] ?? null,
    };
  });
  const present = must(unjudged[0], 'the present key is a candidate');
  const judged = unjudged.map((one) => ({ ...one, verdict: judge(one, present, source) }));
  return {
    source,
    complete: measured.parts.every(({ isDone }) => isDone),
    documents: withLeftOut(documents, leftOut),
    sampled: totals.documents,
    leftOut,
    exact:
      leftOut?.documents === 0 &&
      (measured.exact !== null ||
        measure.candidates.every(
          ({ slots, biggest, samples }) =>
            slots.isWhole && biggest.isExact && samples.every(({ isWhole }) => isWhole),
        )),
    takenAt: new Date(measured.startedAtMs).toISOString(),
    readRu: Math.round(measured.readRu),
    candidates: judged,
    recommendation: recommend(judged, source, totals.documents),
    workload: file === null ? null : workloadResult(file, showOf(found.hashesValues).text),
    observed:
      observed === null
        ? null
        : { seconds: observed.seconds, writes: observed.writes, updates: observed.updates },
    notes: [
      priceNote(prices),
      ...(share >= 1 ? [] : SAMPLE_NOTES),
      ...(measured.exact === null ? [] : [EXACT_NOTE]),
      ...idNotes(judged[0]?.data.refused['bad-id'] ?? 0),
      ...(uniqueKeys.length < source.uniqueKeys.length
        ? ['a unique key has a path that cosmig cannot read, so its conflicts are not counted']
        : []),
      ...(source.bytes.low === source.bytes.high && found.facts.sizeBytes === null
        ? ['the size of the index is not known, so sizes are those of the documents']
        : []),
    ],
  };
}

/** What a sample of pages cannot show. */
const SAMPLE_NOTES = [
  'documents that share a new key and an id lie anywhere, so a sample cannot know how many there are: run the same command without --sample before you migrate',
  'bounds of a sample hold in 95 of 100 cases; items per key, the effective number of keys and the balance are those of the documents that were read',
] as const;

/** What `--exact` counts, and what it leaves to sketches. */
const EXACT_NOTE =
  'with --exact, values, their documents, bytes and recent writes, collisions and conflicts of unique keys are counted one by one; the balance over partitions and the heat map are estimated for keys with more than 65,536 values, and growth is a forecast';

/** What changed while the source was read: at least what was seen behind the fence, or what the service counts more. */
function leftOutOf({ documents, behind, reported }: SourceTotals): { documents: number; covered: number } {
  // Without a document behind the fence nothing has changed, and a different count only lags.
  const left = behind === 0 ? 0 : Math.max(behind, (reported ?? 0) - documents);
  return { documents: left, covered: documents + left === 0 ? 1 : documents / (documents + left) };
}

/** Of the documents behind the fence some are new and others were read before they changed. */
function withLeftOut(read: Bounded, leftOut: PlanResult['leftOut']): Bounded {
  if (leftOut === null || leftOut.documents === 0) return read;
  const high = read.high + leftOut.documents;
  return { estimate: high, low: read.low, high };
}

function idNotes(count: number): string[] {
  if (count === 0) return [];
  return [
    `${pluralize(count, 'document')} without an id that the service accepts ${count === 1 ? 'is' : 'are'} in no figure of a key: no copy could have such an id`,
  ];
}

function sourceFigures(
  { facts, measured, samples, scripts, deletes, side, regions }: PlanFound,
  times: number,
): SourceFigures {
  const { totals } = measured.measure;
  const { throughput, settings } = facts;
  const ru = ruOf(throughput);
  const stored = Math.max(facts.sizeBytes ?? 0, Math.round(totals.bytes * times));
  return {
    name: `${facts.name.database}/${facts.name.container}`,
    key: facts.keyPaths.join(','),
    partitions: side.ranges.list.length,
    throughput:
      ru === undefined ? null : { kind: throughput.kind === 'autoscale' ? 'autoscale' : 'manual', ru },
    throughputText: throughputText(throughput),
    bytes: { estimate: stored, low: stored, high: stored },
    averageBytes: totals.documents === 0 ? 0 : totals.bytes / totals.documents,
    averageTerms: samples[0]?.averageTerms ?? 0,
    defaultTtl: facts.defaultTtl,
    uniqueKeys: uniqueKeyPaths(settings.uniqueKeyPolicy),
    scripts: scripts === null ? null : scriptCounts(scripts),
    deletes,
    regions: regions?.regions.length ?? 1,
    writeRegions: regions?.multiWrite === true ? regions.regions.length : 1,
    writtenTs: totals.documents === 0 ? null : { first: totals.firstTs, last: totals.lastTs },
  };
}

function scriptCounts(scripts: readonly Script[]): NonNullable<SourceFigures['scripts']> {
  const count = (kind: ScriptKind): number => scripts.filter((one) => one.kind === kind).length;
  return {
    storedProcedures: count('stored procedure'),
    triggers: count('trigger'),
    functions: count('function'),
  };
}

interface Of {
  readonly candidate: KeyCandidate;
  readonly source: SourceFigures;
}

/** How many of the biggest values are followed into the future. */
const FOLLOWED_MAX = 20;

function growthFigures(
  { measured, facts, created, horizonMonths }: PlanFound,
  { candidate, measure, source, times }: Of & { readonly measure: CandidateMeasure; readonly times: number },
): Unjudged['growth'] {
  const { measure: all, nowTs } = measured;
  const averageBytes = source.averageBytes;
  return growthOf({
    from: created ?? '_ts',
    nowTs,
    history: all.history.save(),
    dataBytes: all.totals.bytes,
    storedBytes: source.bytes.estimate,
    times,
    values: measure.biggest.heaviest(FOLLOWED_MAX).map(({ high, low, weight }) => ({
      value: measure.texts.of(high, low),
      bytes: weight.low,
      // With dates of creation, the last writes say nothing about growth.
      recentBytes: created === null ? measure.lastDay.of(high, low).documents.low * averageBytes : null,
    })),
    recentTotalBytes: measure.lastDay.total * averageBytes,
    recentSeconds: DAY_SECONDS,
    lifeDays: lifeDaysOf(candidate.derive),
    defaultTtl: facts.defaultTtl,
    partitions: source.partitions,
    throughput: source.throughput,
    horizonMonths,
  });
}

function costFigures(
  { facts, measured, samples, sourceRu }: PlanFound,
  {
    candidate,
    at,
    source,
    times,
    prices,
    queriesRu,
  }: Of & {
    readonly at: number;
    readonly times: number;
    readonly prices: Prices;
    readonly queriesRu: { readonly now: number; readonly after: number } | null;
  },
): Unjudged['costs'] {
  const { totals } = measured.measure;
  const documents = Math.round(totals.documents * times);
  const {
    averageKeyBytes: keyBytes,
    averageTerms,
    readRu,
  } = must(samples[at], 'each candidate has a sample');
  return costsOf({
    isCurrent: candidate.isCurrent,
    documents,
    sample: {
      averageBytes: source.averageBytes,
      averageKeyBytes: keyBytes,
      averageTerms,
      readRu,
    },
    indexed: indexedBy(facts.settings.indexingPolicy),
    storedBytes: source.bytes.estimate,
    // Quotes, the name of the property, a colon and a comma.
    addedBytes: candidate.derive.length === 0 ? 0 : keyBytes + candidate.paths.join().length + 4,
    throughput: facts.throughput,
    regions: source.regions,
    writeRegions: source.writeRegions,
    sourceRuPerSecond: sourceRu,
    queriesRu,
    prices,
  });
}

function workloadFigures(
  { workload, measured, facts }: PlanFound,
  { candidate, at, source, prices }: Of & { readonly at: number; readonly prices: Prices },
): CandidateWorkload | null {
  if (workload === null) return null;
  const firstLevel = (one: number): number =>
    measured.measure.candidates[one]?.samples[0]?.distinct().estimate ?? 1;
  return weigh(workload, {
    candidate,
    presentPaths: facts.keyPaths,
    partitions: source.partitions,
    firstLevelValues: firstLevel(at),
    presentFirstLevelValues: firstLevel(0),
    readRu: Math.max(1, source.averageBytes / 1024),
    writeRu: createRu(source.averageBytes, source.averageTerms),
    billing: { kind: facts.throughput.kind, regions: source.regions, writeRegions: source.writeRegions },
    prices,
  });
}
