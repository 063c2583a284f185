/** The schema of the JSON that `cosmig copy --dry-run --json` prints. */
import { MIGRATION, complete, key, deletes } from './run-results.ts';
import * as is from './schema.ts';

const THROUGHPUT = is.nullable(
  is.object({
    kind: is.oneOf(['manual', 'autoscale', 'shared', 'serverless', 'unknown', 'none']),
    ru: is.optional(is.whole()),
    ruMax: is.optional(is.whole()),
  }),
);

const SIDE = {
  container: is.text('DB/CONTAINER'),
  partitionKey: is.list(is.text('key path')),
  throughput: THROUGHPUT,
} as const;
const SIDE_FOUND = {
  ...SIDE,
  documents: is.nullable(is.whole()),
  bytes: is.nullable(is.number()),
  defaultTtl: is.nullable(is.number('seconds; -1: on, without a default; null: off')),
} as const;

export const DRY_RUN = is.object({
  command: is.constant('copy'),
  dryRun: is.constant(true),
  migration: MIGRATION,
  complete,
  source: is.object(SIDE_FOUND),
  target: is.anyOf([
    is.object({ ...SIDE_FOUND, exists: is.constant(true) }),
    is.object({ ...SIDE, exists: is.constant(false) }),
  ]),
  partitionKey: is.list(is.text('key path')),
  deletes,
  sample: is.object({
    documents: is.whole(),
    isWhole: is.flag('the sample contains all documents'),
    missing: is.whole('with an undefined level in their key'),
    refused: is.record(is.whole(), 'cannot be moved, by reason'),
    expired: is.whole('would expire before they are moved'),
    collisions: is.whole('have the same key and id as another document'),
    collided: is.list(is.object({ id: is.anything(), targetKey: key })),
    distinct: is.whole('key values'),
    distinctFirst: is.whole('values of the first level'),
    biggest: is.list(is.object({ key, documents: is.whole() })),
    withTtl: is.whole('have a ttl of their own'),
    averageBytes: is.number(),
    averageKeyBytes: is.number(),
    averageTerms: is.number('indexed values of a document'),
    readRu: is.number('to read one document'),
  }),
  estimate: is.object({
    documents: is.nullable(is.whole()),
    bytes: is.nullable(is.number()),
    sourceRu: is.nullable(is.number()),
    targetRu: is.nullable(is.number()),
    hours: is.nullable(is.number()),
    limitedBy: is.nullable(is.oneOf(['source', 'target'])),
    ledgerBytes: is.nullable(is.number()),
    ledgerBytesPerChange: is.number(),
  }),
  differences: is.list(is.object({ setting: is.text(), source: is.text(), target: is.text() })),
  warnings: is.list(
    is.object({ kind: is.text('stable, for scripts'), message: is.text(), why: is.text(), hint: is.text() }),
    'a copy needs --yes to begin despite these',
  ),
  notes: is.list(is.text()),
});
