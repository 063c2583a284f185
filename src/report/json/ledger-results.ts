/**
 * The schemas of the JSON that `cosmig status` and the `cosmig dead-letters` commands print with `--json`. These
 * commands read the ledger or record a decision in it, and start no run.
 */
import { MIGRATION, phase, deletes, DOCUMENTS, RANGE } from './run-results.ts';
import {
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
  time,
  whole,
  type TypeOf,
} from './schema.ts';

const RUN_STATUS = object({
  command: text(),
  pid: whole(),
  began: time(),
  ended: nullable(time('null: still running, or killed')),
  outcome: nullable(text('done, or the code of its error')),
});

const CUTOVER_STATUS = object({
  state: oneOf(
    ['in progress', 'interrupted', 'backed out', 'committed'],
    'interrupted: crashed before its commit; writers may still be stopped',
  ),
  at: time('when it entered that state'),
  stoppedSince: nullable(time('null when writers were let resume, or never stopped')),
  stoppedMs: nullable(number()),
  why: nullable(text('why it backed out')),
  lateWrites: list(text("id as JSON text; '' when it is unknown")),
  left: list(oneOf(['hook', 'watch', 'settings']), 'what a committed cutover has not finished'),
});

export const STATUS = object({
  command: constant('status'),
  migration: MIGRATION,
  ledger: text('path'),
  phase,
  source: text('DB/CONTAINER'),
  target: text('DB/CONTAINER'),
  endpoints: object({ source: text(), target: text() }),
  partitionKey: list(text('key path')),
  began: time('when the ledger was created'),
  ranges: list(
    object({
      ...RANGE.members,
      sweepPending: flag(
        'the feed of this range has lost deletes or renames: copies to remove may still be in the target',
      ),
    }),
  ),
  documents: DOCUMENTS,
  ru: object({ source: number(), target: number() }, 'request units of all runs'),
  throttled: whole('of all runs'),
  deadLetters: object({
    open: whole(),
    reasons: record(whole(), 'the open ones by reason'),
    closed: whole(),
    discarded: whole(),
  }),
  deletes: nullable(deletes),
  lastRun: nullable(RUN_STATUS),
  running: nullable(
    object(
      {
        pid: nullable(whole()),
        since: nullable(time()),
      },
      'the run that holds the ledger; its members are null until it has recorded itself',
    ),
  ),
  seen: nullable(
    object(
      {
        at: time(),
        lagSeconds: nullable(number('null: unknown, or a range is being copied')),
        waitsFor: nullable(text()),
        expected: nullable(whole('documents of the source when the run began')),
      },
      'what the current run, or the last one, recorded most recently',
    ),
  ),
  proof: nullable(object({ at: time() }, 'when a whole comparison last found both sides equal')),
  verifying: flag('a cosmig verify is running'),
  cutover: nullable(CUTOVER_STATUS),
  next: text('what to do now'),
});

export const LETTER = object({
  number: whole('names the dead letter on the command line'),
  state: oneOf(['open', 'closed', 'discarded']),
  id: anything('of the document'),
  sourceKey: anything('list of values, one per level'),
  targetKey: anything('the same; null when the document has no key'),
  reason: text('see dead letters in troubleshooting.md'),
  code: text('status of the service, or the reason'),
  why: text(),
  at: time('of the last attempt'),
  attempts: whole(),
});

export const LETTER_SHOWN = object({
  command: constant('dead-letters show'),
  migration: MIGRATION,
  ...LETTER.members,
  waitsFor: oneOf(['slot', 'key', 'nothing'], 'slot: another document has its key and id in the target'),
  next: text('what to do'),
  document: optional(nullable(text('JSON text of the document; null when it was deleted'))),
});

export const DISCARDED = object({
  command: constant('dead-letters discard'),
  migration: MIGRATION,
  discarded: whole(),
  deadLetters: object({ open: whole() }),
});

export type StatusResult = TypeOf<typeof STATUS>;
