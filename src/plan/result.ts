/**
 * What `cosmig plan` finds out, as plain data: the report, the terminal and `--json` read it and compute nothing. Values of
 * keys and ids are texts for people; with `--hash-values` they are replaced by stable hashes before they get here.
 */
import type { Bounded } from './sketch/estimate.ts';
import type { Balance } from './sketch/hash-histogram.ts';

/** Bounds that contain the truth, where a figure is not exact. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

export interface PlanResult {
  readonly source: SourceFigures;
  /** Whether every page that the plan asked for was read: all of them, or the sample. */
  readonly complete: boolean;
  /** The number of documents in the source. */
  readonly documents: Bounded;
  /** How many documents were read. */
  readonly sampled: number;
  /**
   * What changed while the source was read, and is in no figure: the documents, and the share of all documents that
   * figures rest on. Null: a sample was read.
   */
  readonly leftOut: { readonly documents: number; readonly covered: number } | null;
  /**
   * Whether values, what they have, and collisions are counted one by one: on disk (`--exact`), or because they fit in
   * the sketches. The balance of a key with more values than fit, and growth, are estimated all the same.
   */
  readonly exact: boolean;
  readonly takenAt: string;
  /** What reading cost. */
  readonly readRu: number;
  /** The candidates in the order in which they were named or found; the present key is always one of them. */
  readonly candidates: readonly CandidateResult[];
  readonly recommendation: Recommendation;
  /** What follows from the workload file for all candidates; null: no file was given. */
  readonly workload: WorkloadResult | null;
  /** What was seen while the feed was followed (`--observe`); null: it was not followed. */
  readonly observed: ObservedTotals | null;
  /** Sentences about what the figures do not cover. */
  readonly notes: readonly string[];
}

export interface SourceFigures {
  readonly name: string;
  /** The present key as an operator would type it: `/tenantId`, or `/tenantId,/userId`. */
  readonly key: string;
  readonly partitions: number;
  /** RU/s of the container itself; null: not known, shared, or serverless. */
  readonly throughput: { readonly kind: 'manual' | 'autoscale'; readonly ru: number } | null;
  readonly throughputText: string;
  readonly bytes: Bounded;
  readonly averageBytes: number;
  /** Values that a full index has for a document, on average. */
  readonly averageTerms: number;
  readonly defaultTtl: number | null;
  readonly uniqueKeys: ReadonlyArray<readonly string[]>;
  /** Stored procedures, triggers and functions; null: this identity may not see them. */
  readonly scripts: ScriptCounts | null;
  /** How a migration would find deletes, as `cosmig copy --dry-run` chooses it. */
  readonly deletes: 'avad' | 'reconcile';
  readonly regions: number;
  readonly writeRegions: number;
  /** The oldest and the newest write that was seen, in seconds since the epoch. */
  readonly writtenTs: { readonly first: number; readonly last: number } | null;
}

export interface ScriptCounts {
  readonly storedProcedures: number;
  readonly triggers: number;
  readonly functions: number;
}

/** What is measured and predicted for one candidate. */
export interface CandidateResult {
  /** The candidate as it was typed: `/tenantId`, `/tenantId,/userId` or `/pk={...}`. */
  readonly key: string;
  readonly paths: readonly string[];
  readonly derive: readonly string[];
  /** Whether this is the key that the container has. */
  readonly current: boolean;
  /** Why this candidate was proposed; null: the operator named it. */
  readonly proposed: string | null;
  /** Whether the values of its first level are times, so that what is written at one time goes to one value. */
  readonly timeValues: boolean;
  readonly data: DataFigures;
  readonly writes: WriteFigures;
  readonly growth: GrowthFigures;
  readonly costs: CostFigures;
  /** What the workload file means for this key; null: no file was given, or it hides the names of properties. */
  readonly workload: CandidateWorkload | null;
  /** What was seen while the feed was followed; null: it was not. */
  readonly observed: ObservedFigures | null;
  readonly verdict: KeyVerdict;
}

/** One of the biggest values of a key. */
export interface LargestValue {
  readonly value: string;
  readonly documents: Bounds;
  readonly bytes: Bounds;
  /** The share of all documents, of what is known for certain. */
  readonly share: number;
}

export interface DataFigures {
  /** Documents that get a key, those without a value included; the others are in `refused`. */
  readonly documents: number;
  readonly distinct: Bounded;
  /** The distinct values of each level of a hierarchical key, from the first level on; one for a single key. */
  readonly distinctPerLevel: readonly Bounded[];
  /** By bytes, in descending order. */
  readonly largest: readonly LargestValue[];
  /** The share of the biggest value, and of the ten biggest together, of all documents. */
  readonly top1Share: number;
  readonly top10Share: number;
  /** How many keys of equal size would be as uneven: 1 / the sum of the squares of all shares. */
  readonly effectiveKeys: number;
  readonly itemsPerKey: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
    readonly max: number;
  };
  readonly types: TypeCounts;
  /** Documents without a value at one level at least. */
  readonly missing: number;
  readonly missingBounds: Bounds;
  /** Documents that the service would refuse, by reason, as `copy --dry-run` counts them. */
  readonly refused: Readonly<Record<string, number>>;
  /** Bounds of their sum. */
  readonly refusedBounds: Bounds;
  readonly collisions: {
    /** How many documents would not get a slot of their own. */
    readonly documents: number;
    readonly low: number;
    readonly high: number;
    readonly exact: boolean;
    /** Whether the figure is more than a lower bound. A sample of pages cannot know how many documents collide. */
    readonly known: boolean;
    readonly examples: ReadonlyArray<{ readonly id: string; readonly key: string }>;
  };
  /** What the unique keys of the container would refuse under this key; null: it has none. */
  readonly uniqueKeyConflicts: UniqueKeyConflicts | null;
  /** How data would spread over the present number of physical partitions, twice and four times as many. */
  readonly balance: ReadonlyArray<{ readonly bytes: Balance; readonly writes: Balance }>;
}

/** Documents that a unique key would refuse, because another one has the same values in the same value of the key. */
interface Conflicts {
  readonly documents: number;
  readonly low: number;
  readonly high: number;
  readonly exact: boolean;
  /** Whether the figure is more than a lower bound. A sample of pages cannot know how many documents conflict. */
  readonly known: boolean;
}

export interface UniqueKeyConflicts extends Conflicts {
  /** For each unique key. A document may conflict in several of them. */
  readonly keys: ReadonlyArray<
    Conflicts & {
      readonly paths: readonly string[];
      readonly examples: ReadonlyArray<{
        readonly id: string;
        readonly key: string;
        readonly values: string;
      }>;
    }
  >;
}

/** How many documents have which kind of value at a level of the key. */
export interface TypeCounts {
  readonly text: number;
  readonly number: number;
  readonly boolean: number;
  readonly null: number;
  readonly missing: number;
  readonly object: number;
  readonly array: number;
}

/** Recent writes, as `_ts` shows them: each document counts once, when it was last written. */
export interface WriteFigures {
  readonly lastHour: RecentWrites;
  readonly lastDay: RecentWrites;
  /** RU/s of the hottest value in the last hour, from its documents and the price of a write. */
  readonly hottestRu: number;
  /** Writes by hash space (rows) and time (columns), with the width of a column in seconds. */
  readonly heat: {
    readonly secondsPerColumn: number;
    readonly endTs: number;
    readonly rows: ReadonlyArray<readonly number[]>;
  };
}

export interface RecentWrites {
  readonly documents: number;
  /** The value with the most of them; null: nothing was written. */
  readonly hottest: { readonly value: string; readonly documents: Bounds; readonly share: number } | null;
}

export interface GrowthFigures {
  /** Where the creation date comes from: the path of `--created`, or `_ts`, which is the last write. */
  readonly from: string;
  /** The days of the past from which the growth was computed. */
  readonly historyDays: number;
  /** Why the growth is less sure than it looks, as a sentence; null: nothing is known that speaks against it. */
  readonly caution: string | null;
  /** Data and index, like every number of bytes here. */
  readonly bytesPerDay: number;
  /** The value that reaches the limit of 20 GB first; null: none grows. */
  readonly first: {
    readonly value: string;
    readonly bytes: number;
    readonly bytesPerDay: number;
    /** Dates as YYYY-MM-DD; null: beyond the horizon. */
    readonly reaches14Gb: string | null;
    readonly reaches20Gb: string | null;
  } | null;
  readonly horizonMonths: number;
  readonly partitionsAtHorizon: number;
  readonly ruAtHorizon: number;
  /** Total bytes over time, for a line: [YYYY-MM-DD, bytes of the container, bytes of the biggest value]. */
  readonly line: ReadonlyArray<readonly [string, number, number]>;
}

export interface CostFigures {
  /** The migration to this key; null for the present key. */
  readonly migration: {
    readonly sourceRu: number;
    readonly targetRu: number;
    readonly hoursAtPresent: number | null;
    readonly proposedRu: number;
    readonly hoursAtProposed: number;
    readonly initialPartitions: number;
    /** RU/s to create the target with, so that it gets these partitions; null: it gets none of its own. */
    readonly initialRu: number | null;
    /** The time with them, as `cosmig copy --dry-run` shows it for the config file; null: not known. */
    readonly hoursAtInitial: number | null;
    readonly ledgerBytes: number;
    readonly dollars: number;
  } | null;
  /** The monthly bill; null: the throughput is not known. */
  readonly monthly: { readonly before: number; readonly after: number; readonly why: string } | null;
}

/**
 * Where a query goes: to one document, to one key value, to a few (the first levels of a hierarchical key, or a list of
 * values), or to every partition.
 */
export type QueryClass = 'point' | 'single-partition' | 'prefix' | 'fan-out';

export interface WorkloadResult {
  readonly file: string;
  readonly queries: number;
  readonly executions: number;
  /** Set when the export hides names, which makes classes impossible; says what to switch on. */
  readonly obfuscated: string | null;
  /** Lines that could not be read, or a cut at the end. */
  readonly skipped: number;
  /** The time that the file covers, from which figures per second follow. */
  readonly seconds: number;
  /** Values of the present key that used most RU, if the file has them. */
  readonly hottestKeys: ReadonlyArray<{ readonly value: string; readonly ruPerSecond: number }>;
  /** Sentences about what the file does not say, and what was assumed. */
  readonly notes: readonly string[];
}

export interface CandidateWorkload {
  /** The share of executions in each class. What cannot be known counts as fan-out. */
  readonly shares: Readonly<Record<QueryClass, number>>;
  readonly unknownShare: number;
  /** Partitions that an execution visits on average. */
  readonly partitionsVisited: number;
  readonly ruPerSecond: number;
  readonly dollarsPerMonth: number;
  readonly queries: ReadonlyArray<{
    readonly text: string;
    readonly executions: number;
    readonly class: QueryClass;
    readonly isKnown: boolean;
    readonly why: string;
  }>;
}

export interface ObservedTotals {
  readonly seconds: number;
  readonly writes: number;
  /** Writes of documents that were seen before, so that a change of their key could be seen. */
  readonly updates: number;
}

export interface ObservedFigures {
  readonly hottest: {
    readonly value: string;
    readonly writesPerSecond: number;
    readonly ruPerSecond: number;
  } | null;
  /** The share of updates that change the value of this key, so that the document moves. */
  readonly movesShare: number;
  /** Batches whose documents would no longer share a key, of all batches that were seen. */
  readonly brokenBatches: { readonly broken: number; readonly seen: number };
}

export interface KeyVerdict {
  readonly blockers: readonly KeyReason[];
  readonly risks: readonly KeyReason[];
  readonly gains: readonly KeyReason[];
}

/** A reason for or against a key. */
export interface KeyReason {
  /** A stable name for scripts, such as `value-over-20-gb`. */
  readonly code: FindingCode;
  /** One sentence with the figure, for people. */
  readonly text: string;
  /** The figure, and the limit it is compared with; null: there is none. */
  readonly figure: number | null;
  readonly threshold: number | null;
  /** Where the limit comes from. */
  readonly source: string;
}

export type FindingCode =
  // Blockers
  | 'value-over-20-gb'
  | 'collisions'
  | 'refused-documents'
  | 'unique-keys'
  | 'unknown-path'
  // Risks
  | 'value-near-20-gb'
  | 'reaches-20-gb'
  | 'few-values'
  | 'uneven'
  | 'hot-value'
  | 'recency'
  | 'time-values'
  | 'missing-values'
  | 'collisions-unknown'
  | 'unique-keys-unknown'
  | 'moves'
  | 'broken-batches'
  | 'fan-out'
  // Gains
  | 'even-storage'
  | 'even-writes'
  | 'many-values'
  | 'less-fan-out'
  | 'cheaper';

export interface Recommendation {
  /** `migrate`: to `key`. `keep`: the present key is good. `index`: a global secondary index. `none`: no candidate will do. */
  readonly action: 'migrate' | 'keep' | 'index' | 'none';
  readonly key?: string;
  readonly why: readonly string[];
  /** What would change the recommendation. */
  readonly unless: readonly string[];
}
