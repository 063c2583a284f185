/**
 * The schemas of the JSON that `cosmig status` and the `cosmig dead-letters` commands print with `--json`. These
 * commands read the ledger or record a decision in it, and start no run.
 */
import { CUTOVER_PART, MIGRATION, phase, deletes, DIFFERENCES, DOCUMENTS, RANGE } from './run-results.ts';
import * as is from './schema.ts';

const RUN_STATUS = is.object({
  command: is.text(),
  pid: is.whole(),
  began: is.time(),
  ended: is.nullable(is.time('null: still running, or killed')),
  outcome: is.nullable(is.text('done, or the code of its error')),
  why: is.nullable(is.text('the message of its error')),
});

const CUTOVER_STATUS = is.object({
  state: is.oneOf(
    ['in progress', 'interrupted', 'backed out', 'committed'],
    'interrupted: crashed before its commit; writers may still be stopped',
  ),
  at: is.time('when it entered that state'),
  stoppedSince: is.nullable(is.time('null when writers were let resume, or never stopped')),
  stoppedMs: is.nullable(is.number()),
  why: is.nullable(is.text('why it backed out')),
  lateWrites: is.list(is.text("id as JSON text; '' when it is unknown")),
  left: is.list(is.oneOf(['hook', 'watch', 'settings']), 'what a committed cutover has not finished'),
});

export const STATUS = is.object({
  command: is.constant('status'),
  migration: MIGRATION,
  ledger: is.text('path'),
  phase,
  source: is.text('DB/CONTAINER'),
  target: is.text('DB/CONTAINER'),
  endpoints: is.object({ source: is.text(), target: is.text() }),
  partitionKey: is.list(
    is.text('key path'),
    'of the container to which data moves; on the way back, empty until a run has seen that container',
  ),
  began: is.time('when the ledger was created'),
  ranges: is.list(
    is.object({
      ...RANGE.members,
      sweepPending: is.flag(
        'the feed of this range has lost deletes or renames: copies to remove may still be in the target',
      ),
    }),
  ),
  documents: DOCUMENTS,
  ru: is.object({ source: is.number(), target: is.number() }, 'request units of all runs'),
  throttled: is.whole('of all runs'),
  deadLetters: is.object({
    open: is.whole(),
    reasons: is.record(is.whole(), 'the open ones by reason'),
    closed: is.whole(),
    discarded: is.whole(),
  }),
  deletes: is.nullable(deletes),
  lastRun: is.nullable(RUN_STATUS),
  running: is.nullable(
    is.object(
      {
        pid: is.nullable(is.whole()),
        since: is.nullable(is.time()),
      },
      'the run that holds the ledger; its members are null until it has recorded itself',
    ),
  ),
  seen: is.nullable(
    is.object(
      {
        at: is.time(),
        lagSeconds: is.nullable(is.number('null: unknown, or a range is being copied')),
        waitsFor: is.nullable(is.text()),
        expected: is.nullable(is.whole('documents of the source when the run began')),
      },
      'what the current run, or the last one, recorded most recently',
    ),
  ),
  proof: is.nullable(is.object({ at: is.time() }, 'when a whole comparison last found both sides equal')),
  lastComparison: is.nullable(
    is.object(
      {
        at: is.time('when it ended'),
        equal: is.nullable(is.flag('null: not proven')),
        differences: DIFFERENCES,
        voids: is.nullable(is.time('when the proof was made that these differences make void')),
      },
      'what the last comparison of documents has found, with these settings',
    ),
  ),
  lastCommit: is.nullable(
    is.object(
      {
        command: is.oneOf(['cutover', 'rollback']),
        at: CUTOVER_PART.members.committedAt,
        stoppedMs: CUTOVER_PART.members.stoppedMs,
        proof: CUTOVER_PART.members.proof,
      },
      'the newest cutover or rollback that has committed',
    ),
  ),
  verifying: is.flag('a cosmig verify is running'),
  cutover: is.nullable(CUTOVER_STATUS),
  wayBack: is.nullable(
    is.object(
      {
        leadsTo: is.oneOf(['source', 'target'], 'the container that is kept'),
        state: is.oneOf(
          ['prepared', 'in use', 'rollback-unsafe', 'ended'],
          'prepared: nothing was replicated yet. rollback-unsafe: another process has written to the container that is kept, changes were not reported, or the service lists ranges that leave a gap or overlap. ended: by cosmig finish',
        ),
        keptUntil: is.time('as --keep-source-for has asked'),
        returnWouldSucceed: is.flag('as far as the ledger knows'),
        why: is.list(is.text(), 'why a return would be refused now'),
        unsafe: is.list(is.text(), 'why it is rollback-unsafe'),
        catchUp: is.nullable(
          is.object(
            {
              since: is.time('up to when changes were replicated'),
              changes: is.nullable(is.whole('about how many have come since; null: not known')),
              ms: is.nullable(is.number('about how long they take; null: not known')),
            },
            'what a return would first replicate, before it stops the writers; null: a run replicates, or it is not known',
          ),
        ),
        isRepairable: is.flag('cosmig verify --reverse --repair would make it safe again'),
        lastStopMs: is.nullable(is.number('how long the last cutover stopped the writers')),
        stopEstimate: is.nullable(
          is.object(
            {
              ms: is.number('with the default of --quiet-for, and without the time of your scripts'),
              changes: is.whole(
                'changes since the last clean comparison: those that were read, and those to catch up with',
              ),
              comparesAll: is.flag('all documents would be compared, because changes were not reported'),
            },
            'for how long a return would stop the writers now',
          ),
        ),
        ruPerSecond: is.object({ source: is.number(), target: is.number() }, 'on average since it is in use'),
        ruPerSecondNow: is.nullable(
          is.object({ source: is.number(), target: is.number() }, 'in the last seconds of the run'),
        ),
        moneyPerDay: is.object(
          {
            amount: is.number(),
            currency: is.text(),
            pricesOf: is.text('when the prices were read, YYYY-MM-DD'),
          },
          'for these RU/s, at the list price of manual throughput',
        ),
      },
      'the way back after a cutover',
    ),
  ),
  next: is.text('what to do now'),
});

export const LETTER = is.object({
  number: is.whole('names the dead letter on the command line'),
  state: is.oneOf(['open', 'closed', 'discarded']),
  id: is.anything('of the document'),
  sourceKey: is.anything('list of values, one per level'),
  targetKey: is.anything('the same; null when the document has no key'),
  reason: is.text('see dead letters in troubleshooting.md'),
  code: is.text('status of the service, or the reason'),
  why: is.text(),
  at: is.time('of the last attempt; of a letter that is not open, when it was closed or discarded'),
  attempts: is.whole(),
});

export const LETTER_SHOWN = is.object({
  command: is.constant('dead-letters show'),
  migration: MIGRATION,
  ...LETTER.members,
  waitsFor: is.oneOf(['slot', 'key', 'nothing'], 'slot: another document has its key and id in the target'),
  next: is.text('what to do'),
  document: is.optional(is.nullable(is.text('JSON text of the document; null when it was deleted'))),
});

export const DISCARDED = is.object({
  command: is.constant('dead-letters discard'),
  migration: MIGRATION,
  discarded: is.whole(),
  deadLetters: is.object({ open: is.whole() }),
});

export type StatusResult = is.TypeOf<typeof STATUS>;
