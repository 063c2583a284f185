/**
 * What the calls of a workload file cost with a candidate: partitions, RU/s and money. Pure. The RU of a call are those
 * that were measured or estimated with the present key, and change by what a partition more or less costs.
 */
import { parsePath } from '../../keys/path.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import type { KeyCandidate } from '../candidates/candidate.ts';
import { throughputCost, type Billing } from '../money/bill.ts';
import type { Prices } from '../../spec/money/prices.ts';
import type { CandidateWorkload, QueryClass } from '../result.ts';
import { classify, levelsOf, type Classified, type CandidateLevel } from './classify.ts';
import type { WorkloadCall, Workload } from './workload.ts';

export interface WeighParts {
  readonly candidate: Pick<KeyCandidate, 'paths' | 'derive' | 'isCurrent'>;
  /** The key paths that the container has. */
  readonly presentPaths: readonly string[];
  /** The physical partitions that both keys are compared on. */
  readonly partitions: number;
  /** Distinct values of the first level, for this candidate and for the present key. */
  readonly firstLevelValues: number;
  readonly presentFirstLevelValues: number;
  /** RU to read, and to write, a document of average size. */
  readonly readRu: number;
  readonly writeRu: number;
  readonly billing: Billing;
  readonly prices: Prices;
}

/** RU that a query costs in each partition it asks: 2 to 3 (fact SVC-35). */
const RU_PER_PARTITION = 2.5;
/** RU for each result: "up to 100 results average 10 RU" is what Microsoft's page of costs says. */
const RU_PER_RESULT = 0.1;
/** An average below this is one partition: a query that goes to one may meet a split. */
const ONE_PARTITION = 1.05;

/** Returns what a candidate means for the calls; null: the file hides what would be needed. */
export function weigh(workload: Workload, parts: WeighParts): CandidateWorkload | null {
  if (workload.obfuscated !== null) return null;
  const present = parts.presentPaths.map(parsePath);
  const now = present.map((path): CandidateLevel => ({ path, from: null }));
  const key = parts.candidate.isCurrent ? now : levelsOf(parts.candidate);
  const shares: Record<QueryClass, number> = { point: 0, 'single-partition': 0, prefix: 0, 'fan-out': 0 };
  const sums = { executions: 0, unknown: 0, visits: 0, ru: 0 };
  const queries = workload.calls.map((one) => {
    const call = withKey(one, { key: now, present, partitions: parts.partitions });
    const before = classify(call, now, present);
    const modeled = visitsOf(before, now, parts, parts.presentFirstLevelValues);
    const visitsNow = call.partitions ?? modeled;
    const found = parts.candidate.isCurrent ? before : classify(call, key, present);
    const visits = parts.candidate.isCurrent
      ? visitsNow
      : visitsOf(found, key, parts, parts.firstLevelValues);
    const { executions } = call;
    shares[found.class] += executions;
    sums.executions += executions;
    sums.unknown += found.isKnown ? 0 : executions;
    sums.visits += visits * executions;
    sums.ru += ruOf(call, { visitsNow, visits, parts }) * executions;
    const { class: classOf, isKnown, why } = found;
    return { text: call.text, executions, class: classOf, isKnown, why };
  });
  const all = Math.max(1, sums.executions);
  const ruPerSecond = workload.seconds > 0 ? sums.ru / workload.seconds : 0;
  const { billing, prices } = parts;
  return {
    shares: {
      point: shares.point / all,
      'single-partition': shares['single-partition'] / all,
      prefix: shares.prefix / all,
      'fan-out': shares['fan-out'] / all,
    },
    unknownShare: sums.unknown / all,
    partitionsVisited: sums.visits / all,
    ruPerSecond,
    dollarsPerMonth: throughputCost(ruPerSecond, prices.hoursPerMonth, { billing, prices }),
    queries: queries.toSorted((one, other) => other.executions - one.executions),
  };
}

/**
 * A query that asks one partition although its text does not name the key has it in the request, as most SDKs offer. A
 * query that wants only some results may have stopped early, which says nothing.
 */
function withKey(
  call: WorkloadCall,
  {
    key,
    present,
    partitions,
  }: {
    readonly key: readonly CandidateLevel[];
    readonly present: readonly Path[];
    readonly partitions: number;
  },
): WorkloadCall {
  if (call.does.kind !== 'query' || call.namesKey || call.partitions === null) return call;
  if (partitions < 2 || call.partitions > ONE_PARTITION || call.does.conditions === null) return call;
  if (call.does.conditions.isLimited || classify(call, key, present).class !== 'fan-out') return call;
  return { ...call, namesKey: true };
}

/** Returns how many partitions an execution asks, on average. */
function visitsOf(
  found: Classified,
  key: readonly CandidateLevel[],
  { partitions }: WeighParts,
  firstLevelValues: number,
): number {
  if (found.class === 'fan-out') return partitions;
  if (found.class === 'point' || found.class === 'single-partition') return 1;
  // The values of a list are spread by chance, so some of them meet in one partition.
  const spread = partitions * (1 - (1 - 1 / partitions) ** found.values);
  // A value of the first level lies in as many partitions as its share of the container fills.
  const each = key.length > 1 ? Math.max(1, partitions / Math.max(1, firstLevelValues)) : 1;
  return Math.min(partitions, spread * each);
}

/** Returns the RU of one execution. */
function ruOf(
  { does, executions, ru, results }: WorkloadCall,
  {
    visitsNow,
    visits,
    parts,
  }: { readonly visitsNow: number; readonly visits: number; readonly parts: WeighParts },
): number {
  if (does.kind === 'write' || does.kind === 'batch') return ru === null ? parts.writeRu : ru / executions;
  const assumed =
    does.kind === 'by-id' ? parts.readRu : RU_PER_PARTITION * visitsNow + RU_PER_RESULT * (results ?? 0);
  const measured = ru === null ? assumed : ru / executions;
  return Math.max(measured + (visits - visitsNow) * RU_PER_PARTITION, Math.min(measured, RU_PER_PARTITION));
}
