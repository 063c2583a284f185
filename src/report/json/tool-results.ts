/** The schemas of what `cosmig doctor`, `cosmig key`, `cosmig emulator` and `cosmig demo` print with `--json`. */
import { complete, durationMs, ERROR, key, MIGRATION } from './run-results.ts';
import {
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

export const DOCTOR_RESULT = object({
  command: constant('doctor'),
  migration: MIGRATION,
  complete: flag('false: a check failed'),
  checks: list(
    object({
      about: oneOf(['machine', 'source', 'target']),
      name: text('stable, for scripts'),
      state: oneOf(['ok', 'warning', 'failed', 'skipped']),
      message: text(),
      why: nullable(text()),
      hint: nullable(text('what to do')),
    }),
  ),
  error: optional(ERROR),
});

export const PROBES_RESULT = object({
  command: constant('doctor'),
  complete: flag('false: a claim does not hold, or the report was not written'),
  probes: list(
    object({
      id: text('stable, for scripts'),
      fact: text('id in docs/internals'),
      claim: text('what cosmig relies on'),
      state: oneOf(['holds', 'differs', 'not asked']),
      seen: nullable(text()),
      note: nullable(text('what changes for a migration, or why the question was not asked')),
    }),
  ),
  error: optional(ERROR),
});

export const KEY_RESULT = object({
  command: constant('key'),
  complete,
  partitionKey: list(text('key path')),
  documents: whole(),
  keys: object({ distinct: whole(), exact: flag('false: at least this many') }),
  missing: whole('documents with the undefined key'),
  refused: record(whole(), 'documents without a key, by reason'),
  ranges: list(whole(), 'documents in each of the even ranges'),
  biggest: list(object({ key, documents: whole() })),
  results: list(
    object({
      id: nullable(text()),
      key: optional(key),
      reason: optional(text()),
      why: optional(text()),
    }),
    'the first 1000 documents',
  ),
  resultsLeftOut: whole(),
});

export const EMULATOR_READY = object({
  ready: constant(true),
  endpoint: text(),
  connectionString: text(),
});

const SPREAD = object({
  container: text(),
  partitionKey: text(),
  documents: whole(),
  keys: whole('distinct key values'),
  top: list(object({ key: nullable(text()), documents: whole() })),
  ranges: list(object({ id: text(), documents: whole(), ru: number('per second'), throttled: whole() })),
});

export const DEMO_RESULT = object({
  command: constant('demo'),
  complete,
  before: SPREAD,
  after: SPREAD,
  seeded: record(whole(), 'documents of each kind that needs attention'),
  moved: object({ copied: whole(), replayed: whole(), moved: whole(), deleted: whole() }),
  application: record(whole(), 'what the application did'),
  split: object({ from: text(), into: list(text()) }),
  letters: list(
    object({
      number: whole(),
      state: text(),
      reason: text(),
      id: text('as JSON text'),
      targetKey: nullable(text('as JSON text')),
    }),
  ),
  refused: text('how the first cutover ended'),
  stoppedMs: number(),
  proof: object({
    equal: flag(),
    compared: whole(),
    orders: object({ known: whole(), found: whole() }),
    long: object({ source: nullable(text()), target: nullable(text()) }),
    lateWrites: whole(),
  }),
  kept: optional(object({ folder: text(), endpoint: text() })),
  durationMs,
});
