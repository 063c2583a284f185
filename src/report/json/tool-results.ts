/**
 * The schemas of the JSON that `cosmig doctor`, `cosmig key`, `cosmig emulator`, `cosmig demo` and `cosmig completion`
 * print with `--json`.
 */
import { complete, durationMs, ERROR, key, MIGRATION } from './run-results.ts';
import * as is from './schema.ts';

export const DOCTOR_RESULT = is.object({
  command: is.constant('doctor'),
  migration: MIGRATION,
  complete: is.flag('false: a check failed'),
  checks: is.list(
    is.object({
      about: is.oneOf(['machine', 'source', 'target']),
      name: is.text('stable, for scripts'),
      state: is.oneOf(['ok', 'warning', 'failed', 'skipped']),
      message: is.text(),
      why: is.nullable(is.text()),
      hint: is.nullable(is.text('what to do')),
    }),
  ),
  error: is.optional(ERROR),
});

export const PROBES_RESULT = is.object({
  command: is.constant('doctor'),
  complete: is.flag('false: a claim does not hold, or the report was not written'),
  probes: is.list(
    is.object({
      id: is.text('stable, for scripts'),
      fact: is.text('id in docs/internals'),
      claim: is.text('what cosmig relies on'),
      state: is.oneOf(['holds', 'differs', 'not asked']),
      seen: is.nullable(is.text()),
      note: is.nullable(is.text('what changes for a migration, or why the question was not asked')),
    }),
  ),
  error: is.optional(ERROR),
});

export const KEY_RESULT = is.object({
  command: is.constant('key'),
  complete,
  partitionKey: is.list(is.text('key path')),
  documents: is.whole(),
  keys: is.object({ distinct: is.whole(), exact: is.flag('false: at least this many') }),
  missing: is.whole('documents with the undefined key'),
  refused: is.record(is.whole(), 'documents without a key, by reason'),
  ranges: is.list(is.whole(), 'documents in each of the even ranges'),
  biggest: is.list(is.object({ key, documents: is.whole() })),
  results: is.list(
    is.object({
      id: is.nullable(is.text()),
      key: is.optional(key),
      reason: is.optional(is.text()),
      why: is.optional(is.text()),
    }),
    'the first 1000 documents',
  ),
  resultsLeftOut: is.whole(),
});

export const WATCH_READY = is.object({
  ready: is.constant(true),
  url: is.text('with the token that the page needs'),
});

export const EMULATOR_READY = is.object({
  ready: is.constant(true),
  endpoint: is.text(),
  connectionString: is.text(),
});

const SPREAD = is.object({
  container: is.text(),
  partitionKey: is.text(),
  documents: is.whole(),
  keys: is.whole('distinct key values'),
  top: is.list(is.object({ key: is.nullable(is.text()), documents: is.whole() })),
  ranges: is.list(
    is.object({ id: is.text(), documents: is.whole(), ru: is.number('per second'), throttled: is.whole() }),
  ),
});

export const DEMO_RESULT = is.object({
  command: is.constant('demo'),
  complete,
  plan: is.object({
    action: is.text('what cosmig plan advises'),
    key: is.nullable(is.text('the key that it advises')),
    against: is.nullable(is.text('what it says against the key of the demo')),
    page: is.text('the path of its page, which the demo leaves'),
  }),
  before: SPREAD,
  after: SPREAD,
  seeded: is.record(is.whole(), 'documents of each kind that needs attention'),
  moved: is.object({ copied: is.whole(), replayed: is.whole(), moved: is.whole(), deleted: is.whole() }),
  application: is.record(is.whole(), 'what the application did'),
  split: is.object({ from: is.text(), into: is.list(is.text()) }),
  letters: is.list(
    is.object({
      number: is.whole(),
      state: is.text(),
      reason: is.text(),
      id: is.text('as JSON text'),
      targetKey: is.nullable(is.text('as JSON text')),
    }),
  ),
  refused: is.text('how the first cutover ended'),
  stoppedMs: is.number(),
  proof: is.object({
    equal: is.flag(),
    compared: is.whole(),
    orders: is.object({ known: is.whole(), found: is.whole() }),
    long: is.object({ source: is.nullable(is.text()), target: is.nullable(is.text()) }),
    lateWrites: is.whole(),
  }),
  back: is.optional(
    is.object(
      {
        replicated: is.whole('documents written to the source while the target was in use'),
        moved: is.whole(),
        deleted: is.whole(),
        stoppedMs: is.number('how long the rollback stopped the writers'),
        orders: is.object({ known: is.whole(), found: is.whole() }),
      },
      'the way back; with --and-back',
    ),
  ),
  report: is.text('the path of the page of the whole migration, which the demo leaves'),
  kept: is.optional(is.object({ folder: is.text(), endpoint: is.text() })),
  durationMs,
});

export const COMPLETION = is.object({
  command: is.constant('completion'),
  shell: is.oneOf(['bash', 'zsh', 'fish']),
  script: is.text(),
});
