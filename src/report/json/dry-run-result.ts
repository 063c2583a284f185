/** The schema of what `cosmig copy --dry-run --json` prints. */
import { MIGRATION, complete, key, deletes } from './run-results.ts';
import {
  anyOf,
  anything,
  constant,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
  whole,
} from './schema.ts';

const THROUGHPUT = nullable(
  object({
    kind: oneOf(['manual', 'autoscale', 'shared', 'serverless', 'unknown', 'none']),
    ru: optional(whole()),
    ruMax: optional(whole()),
  }),
);

const SIDE = {
  container: text('DB/CONTAINER'),
  partitionKey: list(text('key path')),
  throughput: THROUGHPUT,
} as const;
const SIDE_FOUND = {
  ...SIDE,
  documents: nullable(whole()),
  bytes: nullable(number()),
  defaultTtl: nullable(number('seconds; -1: on, without a default; null: off')),
} as const;

export const DRY_RUN = object({
  command: constant('copy'),
  dryRun: constant(true),
  migration: MIGRATION,
  complete,
  source: object(SIDE_FOUND),
  target: anyOf([
    object({ ...SIDE_FOUND, exists: constant(true) }),
    object({ ...SIDE, exists: constant(false) }),
  ]),
  partitionKey: list(text('key path')),
  deletes,
  sample: object({
    documents: whole(),
    isWhole: flag('the sample contains all documents'),
    missing: whole('with an undefined level in their key'),
    refused: record(whole(), 'cannot be moved, by reason'),
    expired: whole('would expire before they are moved'),
    collisions: whole('have the same key and id as another document'),
    collided: list(object({ id: anything(), targetKey: key })),
    distinct: whole('key values'),
    distinctFirst: whole('values of the first level'),
    biggest: list(object({ key, documents: whole() })),
    withTtl: whole('have a ttl of their own'),
    averageBytes: number(),
    averageKeyBytes: number(),
    averageTerms: number('indexed values of a document'),
    readRu: number('to read one document'),
  }),
  estimate: object({
    documents: nullable(whole()),
    bytes: nullable(number()),
    sourceRu: nullable(number()),
    targetRu: nullable(number()),
    hours: nullable(number()),
    limitedBy: nullable(oneOf(['source', 'target'])),
    ledgerBytes: nullable(number()),
    ledgerBytesPerChange: number(),
  }),
  differences: list(object({ setting: text(), source: text(), target: text() })),
  warnings: list(
    object({ kind: text('stable, for scripts'), message: text(), why: text(), hint: text() }),
    'a copy needs --yes to begin despite these',
  ),
  notes: list(text()),
});
