/**
 * What the move to a candidate costs, and the monthly bill before and after it. Pure. RU, hours and the size of the
 * ledger come from the estimate of the preflight, so `cosmig copy --dry-run` shows the same figures.
 */
import { estimate, type EstimateParts } from '../../preflight/estimate.ts';
import type { Throughput } from '../../cosmos/container/throughput.ts';
import { ruOf } from '../../cosmos/container/throughput.ts';
import { formatCount } from '../../lib/counting.ts';
import type { CostFigures } from '../result.ts';
import { GB, storageCost, throughputCost, type Billing } from './bill.ts';
import type { Prices } from '../../spec/money/prices.ts';
import { floorRu, roundUp } from './throughput-floor.ts';

export interface CostParts {
  readonly isCurrent: boolean;
  readonly documents: number;
  readonly sample: EstimateParts['sample'];
  readonly indexed: EstimateParts['indexed'];
  /** Data and index in the source. */
  readonly storedBytes: number;
  /** Bytes that a derived key adds to a document. */
  readonly addedBytes: number;
  readonly throughput: Throughput;
  readonly regions: number;
  readonly writeRegions: number;
  /** RU/s that reading may use in the source, as the preflight computes them; undefined: not known. */
  readonly sourceRuPerSecond: number | undefined;
  /** RU/s of the queries of the workload file, with the present key and with this one; null: no file was given. */
  readonly queriesRu: { readonly now: number; readonly after: number } | null;
  readonly prices: Prices;
}

/**
 * The bytes that one physical partition of a new container is planned for. It holds 50 GB; Microsoft plans with 30 to 45.
 * Partitions that a load needed only for its speed would stay for good, so storage decides and not the hours.
 */
const BYTES_PER_NEW_PARTITION = 40 * GB;
/** A physical partition carries this many RU/s. */
const RU_PER_PARTITION = 10_000;
/** A new container gets one physical partition for this many RU/s. */
const RU_PER_NEW_PARTITION = { manual: 6000, autoscale: RU_PER_PARTITION } as const;
/** A serverless container takes this many RU/s in each physical partition. */
const SERVERLESS_RU_PER_PARTITION = 5000;

export function costsOf(parts: CostParts): CostFigures {
  const migration = parts.isCurrent ? null : migrationOf(parts);
  return { migration, monthly: monthlyOf(parts, migration?.proposedRu ?? 0) };
}

function migrationOf(parts: CostParts): NonNullable<CostFigures['migration']> {
  const { sample, documents, indexed, throughput, prices } = parts;
  const billing = billingOf(parts);
  const present = ruOf(throughput);
  const { sourceRuPerSecond } = parts;
  const figures = (targetRuPerSecond: number | undefined): ReturnType<typeof estimate> =>
    estimate({ sample, documents, indexed, sourceRuPerSecond, targetRuPerSecond });
  const first = figures(present);
  const [sourceRu, targetRu] = [first.sourceRu ?? 0, first.targetRu ?? 0];
  const bytesThen = storedThen(parts);
  const initialPartitions = Math.max(
    1,
    Math.ceil(bytesThen / BYTES_PER_NEW_PARTITION),
    Math.ceil((present ?? 0) / RU_PER_PARTITION),
  );
  const initialRu = initialRuOf(parts, initialPartitions);
  const proposedRu = proposedRuOf({ parts, initialPartitions, sourceRu, targetRu, sourceRuPerSecond });
  const hoursAtProposed = figures(proposedRu).hours ?? 0;
  const hours = Math.max(1, Math.ceil(hoursAtProposed));
  const paid = { billing, prices };
  // Both containers are stored at the same time for as long as the copy takes. The source is paid for anyway.
  const storage = (storageCost(bytesThen, paid) * hours) / prices.hoursPerMonth;
  const load =
    throughput.kind === 'serverless'
      ? ((sourceRu + targetRu) * prices.serverlessPerMillionRu) / 1e6
      : throughputCost(proposedRu, hours, paid);
  return {
    sourceRu,
    targetRu,
    // With no limit on the source and none known for the target, only the proposed throughput gives a time.
    hoursAtPresent: present === undefined ? null : first.hours,
    proposedRu,
    hoursAtProposed,
    initialPartitions,
    initialRu,
    hoursAtInitial: figures(initialRu ?? undefined).hours,
    ledgerBytes: first.ledgerBytes ?? 0,
    dollars: load + storage,
  };
}

/**
 * The RU/s for the time of the copy: what the partitions of the target carry, but no more than the source can feed,
 * and no less than the source has today.
 */
function proposedRuOf({
  parts: { throughput },
  initialPartitions,
  sourceRu,
  targetRu,
  sourceRuPerSecond,
}: {
  readonly parts: CostParts;
  readonly initialPartitions: number;
  readonly sourceRu: number;
  readonly targetRu: number;
  readonly sourceRuPerSecond: number | undefined;
}): number {
  if (throughput.kind === 'serverless') return initialPartitions * SERVERLESS_RU_PER_PARTITION;
  const kind = throughput.kind === 'autoscale' ? 'autoscale' : 'manual';
  const carried = initialPartitions * RU_PER_PARTITION;
  const fed =
    sourceRuPerSecond === undefined || sourceRu === 0 ? carried : (targetRu / sourceRu) * sourceRuPerSecond;
  return Math.min(carried, Math.max(roundUp(kind, fed), ruOf(throughput) ?? 0));
}

/** RU/s to create the target with, so that the service makes that many partitions; null: it gets none of its own. */
function initialRuOf({ throughput }: CostParts, initialPartitions: number): number | null {
  if (throughput.kind === 'serverless' || throughput.kind === 'shared') return null;
  const kind = throughput.kind === 'autoscale' ? 'autoscale' : 'manual';
  const most = initialPartitions * RU_PER_NEW_PARTITION[kind];
  return initialPartitions === 1 ? Math.min(most, roundUp(kind, ruOf(throughput) ?? 0)) : most;
}

/** The bytes of the target: those of the source, and what a derived key adds. */
function storedThen({ storedBytes, addedBytes, documents }: CostParts): number {
  return storedBytes + addedBytes * documents;
}

function monthlyOf(parts: CostParts, peakRu: number): CostFigures['monthly'] {
  const { throughput, queriesRu, isCurrent, storedBytes, prices } = parts;
  const present = ruOf(throughput);
  const paid = { billing: billingOf(parts), prices };
  if (throughput.kind === 'serverless') {
    if (queriesRu === null) return null;
    const cost = (ru: number, bytes: number): number =>
      throughputCost(ru, prices.hoursPerMonth, paid) + storageCost(bytes, paid);
    const after = isCurrent ? cost(queriesRu.now, storedBytes) : cost(queriesRu.after, storedThen(parts));
    return {
      before: cost(queriesRu.now, storedBytes),
      after,
      why: 'the RU of the workload file and the storage; serverless accounts pay for the RU that they use',
    };
  }
  if (present === undefined) return null;
  const kind = throughput.kind === 'autoscale' ? 'autoscale' : 'manual';
  const cost = (ru: number, bytes: number): number =>
    throughputCost(ru, prices.hoursPerMonth, paid) + storageCost(bytes, paid);
  const before = cost(present, storedBytes);
  const atMost = kind === 'autoscale' ? ', as if it always scaled to its maximum' : '';
  if (isCurrent) return { before, after: before, why: `the key stays${atMost}` };
  // The throughput of the copy is a peak that the new container had, and it stays in its lowest throughput.
  const least = floorRu(kind, { gigabytes: storedThen(parts) / GB, peakRu });
  const change = queriesRu === null ? 0 : queriesRu.after - queriesRu.now;
  const needed = Math.max(least, roundUp(kind, present + change));
  const after = cost(needed, storedThen(parts));
  return { before, after, why: `${whyOf({ queriesRu, change, present, needed })}${atMost}` };
}

function whyOf({
  queriesRu,
  change,
  present,
  needed,
}: {
  readonly queriesRu: CostParts['queriesRu'];
  readonly change: number;
  readonly present: number;
  readonly needed: number;
}): string {
  if (queriesRu === null) return 'the RU/s stay the same, because no workload file says how queries change';
  const rounded = formatCount(Math.round(Math.abs(change)));
  const how = change === 0 ? 'the same RU/s' : `${rounded} RU/s ${change < 0 ? 'less' : 'more'}`;
  const result = needed === present ? 'the throughput stays' : `${formatCount(needed)} RU/s are enough`;
  return `queries need ${how}, so ${needed > present ? `${formatCount(needed)} RU/s are needed` : result}`;
}

function billingOf({ throughput: { kind }, regions, writeRegions }: CostParts): Billing {
  return { kind, regions, writeRegions };
}
