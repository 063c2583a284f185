/** The schema of the JSON that `cosmig plan --json` prints. */
import { complete, ERROR } from './run-results.ts';
import * as is from './schema.ts';

const BOUNDS = is.object({ low: is.number(), high: is.number() });
const ESTIMATE = is.object({ estimate: is.number(), low: is.number(), high: is.number() });
const BALANCE = is.object({
  partitions: is.whole(),
  top: is.number('the largest share of one partition'),
  overAverage: is.number('the largest share divided by the average share; 1: perfectly even'),
  shares: is.list(is.number(), 'of each partition, in the order of the hash space'),
});
const RECENT = is.object({
  documents: is.whole('last written in that time'),
  hottest: is.nullable(is.object({ value: is.text(), documents: BOUNDS, share: is.number() })),
});
/** The codes of findings, in the order in which docs/choosing-a-key.md explains them. */
export const FINDING_CODES = [
  'value-over-20-gb',
  'collisions',
  'refused-documents',
  'unique-keys',
  'unknown-path',
  'value-near-20-gb',
  'reaches-20-gb',
  'few-values',
  'uneven',
  'hot-value',
  'recency',
  'time-values',
  'missing-values',
  'collisions-unknown',
  'unique-keys-unknown',
  'moves',
  'broken-batches',
  'fan-out',
  'even-storage',
  'even-writes',
  'many-values',
  'less-fan-out',
  'cheaper',
] as const;
const FINDINGS = is.list(
  is.object({
    code: is.oneOf(FINDING_CODES, 'stable, for scripts'),
    text: is.text('one sentence with the figure'),
    figure: is.nullable(is.number()),
    threshold: is.nullable(is.number('the limit that the figure is compared with')),
    source: is.text('where the limit comes from'),
  }),
);
const QUERY_CLASSES = ['point', 'single-partition', 'prefix', 'fan-out'] as const;
const SHARES = is.object({
  point: is.number(),
  'single-partition': is.number(),
  prefix: is.number(),
  'fan-out': is.number(),
});

const SOURCE = is.object({
  name: is.text('DB/CONTAINER'),
  key: is.text('the present key'),
  partitions: is.whole('physical partitions'),
  throughput: is.nullable(
    is.object({ kind: is.oneOf(['manual', 'autoscale']), ru: is.number('per second') }),
  ),
  throughputText: is.text(),
  bytes: ESTIMATE,
  averageBytes: is.number(),
  averageTerms: is.number('indexed values of a document'),
  defaultTtl: is.nullable(is.number('seconds')),
  uniqueKeys: is.list(is.list(is.text('path'))),
  scripts: is.nullable(
    is.object({ storedProcedures: is.whole(), triggers: is.whole(), functions: is.whole() }),
  ),
  deletes: is.oneOf(['avad', 'reconcile'], 'how a migration would find deletes'),
  regions: is.whole(),
  writeRegions: is.whole(),
  writtenTs: is.nullable(is.object({ first: is.number(), last: is.number() })),
});

const MIGRATION_COSTS = is.object({
  sourceRu: is.number(),
  targetRu: is.number(),
  hoursAtPresent: is.nullable(is.number()),
  proposedRu: is.number('per second'),
  hoursAtProposed: is.number(),
  initialPartitions: is.whole(),
  initialRu: is.nullable(is.number('to create the target with; null: it gets none of its own')),
  hoursAtInitial: is.nullable(is.number('with these, as cosmig copy --dry-run shows for the config file')),
  ledgerBytes: is.number(),
  dollars: is.number(),
});

const CANDIDATE = is.object({
  key: is.text('as it was typed'),
  paths: is.list(is.text('key path')),
  derive: is.list(is.text('template')),
  current: is.flag('the key that the container has'),
  proposed: is.nullable(is.text('why it was proposed; null: it was named')),
  timeValues: is.flag('the values of its first level are times'),
  documents: is.whole('that get a key, those without a value included'),
  distinct: ESTIMATE,
  distinctPerLevel: is.list(ESTIMATE, 'from the first level on'),
  largest: is.list(
    is.object({ value: is.text(), documents: BOUNDS, bytes: BOUNDS, share: is.number('of all documents') }),
    'the biggest values by bytes, in descending order',
  ),
  top1Share: is.number('share of the biggest value of all documents'),
  top10Share: is.number(),
  effectiveKeys: is.number('so many keys of equal size would be as uneven'),
  itemsPerKey: is.object({ p50: is.number(), p95: is.number(), p99: is.number(), max: is.number() }),
  types: is.object({
    text: is.whole(),
    number: is.whole(),
    boolean: is.whole(),
    null: is.whole(),
    missing: is.whole(),
    object: is.whole(),
    array: is.whole(),
  }),
  missing: is.number('documents without a value at one level at least'),
  missingBounds: BOUNDS,
  refused: is.record(is.number(), 'documents that the service would refuse, by reason'),
  refusedBounds: BOUNDS,
  collisions: is.object({
    documents: is.number('would share the new key and the id with another document'),
    low: is.number(),
    high: is.number(),
    exact: is.flag(),
    known: is.flag('false: a sample was read, and the figure is only a lower bound'),
    examples: is.list(is.object({ id: is.text(), key: is.text() })),
  }),
  uniqueKeyConflicts: is.nullable(
    is.object({
      documents: is.number('would be refused by a unique key of the container'),
      low: is.number(),
      high: is.number(),
      exact: is.flag(),
      known: is.flag('false: a sample was read, and the figure is only a lower bound'),
      keys: is.list(
        is.object({
          paths: is.list(is.text('of the unique key')),
          documents: is.number(),
          low: is.number(),
          high: is.number(),
          exact: is.flag(),
          known: is.flag(),
          examples: is.list(is.object({ id: is.text(), key: is.text(), values: is.text() })),
        }),
        'for each unique key; a document may conflict in several',
      ),
    }),
  ),
  balance: is.list(
    is.object({ bytes: BALANCE, writes: BALANCE }),
    'over the present number of physical partitions, twice and four times as many',
  ),
  writes: is.object({
    lastHour: RECENT,
    lastDay: RECENT,
    hottestRu: is.number('RU/s of the hottest value in the last hour'),
    heat: is.object(
      {
        secondsPerColumn: is.number(),
        endTs: is.number('end of the last column, seconds since the epoch'),
        rows: is.list(is.list(is.number())),
      },
      'writes by hash space (rows) and time (columns)',
    ),
  }),
  growth: is.object({
    from: is.text('path of the creation date, or _ts'),
    historyDays: is.number('of the past, from which the growth was computed'),
    caution: is.nullable(is.text('why the growth is less sure than it looks')),
    bytesPerDay: is.number(),
    first: is.nullable(
      is.object(
        {
          value: is.text(),
          bytes: is.number(),
          bytesPerDay: is.number(),
          reaches14Gb: is.nullable(is.text('YYYY-MM-DD; null: beyond the horizon')),
          reaches20Gb: is.nullable(is.text('YYYY-MM-DD; null: beyond the horizon')),
        },
        'the value that reaches 20 GB first',
      ),
    ),
    horizonMonths: is.number(),
    partitionsAtHorizon: is.number(),
    ruAtHorizon: is.number(),
    line: is.list(is.list(is.anything()), '[YYYY-MM-DD, bytes of the container, bytes of the biggest value]'),
  }),
  costs: is.object({
    migration: is.nullable(MIGRATION_COSTS),
    monthly: is.nullable(is.object({ before: is.number(), after: is.number(), why: is.text() })),
  }),
  workload: is.nullable(
    is.object({
      shares: SHARES,
      unknownShare: is.number('cannot be classified; counted as fan-out'),
      partitionsVisited: is.number('by an execution on average'),
      ruPerSecond: is.number(),
      dollarsPerMonth: is.number(),
      queries: is.list(
        is.object({
          text: is.text(),
          executions: is.number(),
          class: is.oneOf(QUERY_CLASSES),
          isKnown: is.flag(),
          why: is.text(),
        }),
      ),
    }),
  ),
  observed: is.nullable(
    is.object({
      hottest: is.nullable(
        is.object({ value: is.text(), writesPerSecond: is.number(), ruPerSecond: is.number() }),
      ),
      movesShare: is.number('updates that change the value of this key'),
      brokenBatches: is.object({ broken: is.number(), seen: is.number() }),
    }),
  ),
  verdict: is.object({ blockers: FINDINGS, risks: FINDINGS, gains: FINDINGS }),
});

export const PLAN = is.object({
  command: is.constant('plan'),
  source: SOURCE,
  complete,
  documents: is.whole('in the source'),
  documentsBounds: BOUNDS,
  sampled: is.whole('documents that were read'),
  leftOut: is.nullable(
    is.object(
      { documents: is.whole(), covered: is.number('share of all documents that figures rest on') },
      'what changed while the source was read and is in no figure; null: a sample was read',
    ),
  ),
  exact: is.flag(
    'values, what they have, and collisions are counted, not estimated; balance and growth may be estimated',
  ),
  takenAt: is.time(),
  readRu: is.number(),
  candidates: is.list(CANDIDATE),
  recommendation: is.object({
    action: is.oneOf(['migrate', 'keep', 'index', 'none']),
    key: is.optional(is.text('of the candidate')),
    why: is.list(is.text()),
    unless: is.list(is.text(), 'what would change it'),
  }),
  workload: is.nullable(
    is.object({
      file: is.text(),
      queries: is.number(),
      executions: is.number(),
      obfuscated: is.nullable(is.text('what to switch on, when the export hides names')),
      skipped: is.number('lines that could not be read'),
      seconds: is.number('that the file covers'),
      hottestKeys: is.list(is.object({ value: is.text(), ruPerSecond: is.number() })),
      notes: is.list(is.text()),
    }),
  ),
  observed: is.nullable(
    is.object({
      seconds: is.number(),
      writes: is.whole(),
      updates: is.whole('of documents that were seen before, so that a move could be seen'),
    }),
  ),
  notes: is.list(is.text('what the figures do not cover')),
  error: is.optional(ERROR),
});

/** What `cosmig plan --print-kql` prints. */
export const PLAN_KQL = is.object({
  command: is.constant('plan'),
  kql: is.text('the query for Log Analytics'),
});
