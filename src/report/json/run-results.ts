/**
 * The schemas of the JSON that runs (copy, tail, retry, cutover and verify) print with `--json`, and of the JSON of
 * every failure.
 */
import * as is from './schema.ts';

const CODES = [
  'usage',
  'not-ready',
  'mismatch',
  'dead-letters',
  'service',
  'ledger',
  'budget',
  'after-commit',
  'internal',
  'canceled',
] as const;

export type ErrorCode = (typeof CODES)[number];

const PROBLEM = is.object({
  from: is.text('the flag, the variable, or the line of the config file'),
  message: is.text('what is wrong'),
  why: is.text(),
  hint: is.text('how to fix it'),
});

export const ERROR = is.object(
  {
    code: is.oneOf(CODES, 'the kind of error; each has one exit code (exit-codes.md)'),
    message: is.text('what happened'),
    hint: is.text('what to do now'),
    problems: is.optional(is.list(PROBLEM, 'the problems one by one, when settings have several')),
  },
  'why the command failed; absent when it succeeded',
);

/** The result of a command that failed before it had any other result. */
export const FAILURE = is.object({
  command: is.nullable(is.text('null when the command line names no command')),
  complete: is.constant(false),
  error: ERROR,
});

export const MIGRATION = is.text('`source -> target`');
export const complete = is.flag('whether the command did all that it was asked for');
export const durationMs = is.number('of this run');
export const key = is.list(is.anything(), 'one value per level; {} for a missing level');
export const ru = is.object({ source: is.number(), target: is.number() }, 'request units spent by this run');
export const throttled = is.whole('requests that the service refused with 429');
export const phase = is.text('new, copying, tailing, ready, fencing, drained, proven or committed');
export const deletes = is.text('auto, avad, marker:/path or reconcile');

export const RANGE = is.object({
  id: is.text('of the physical partition'),
  min: is.text('lower bound of the hash space, hexadecimal'),
  max: is.text('upper bound'),
  phase: is.text('copy, tail, or recopy for a range that is read again'),
  documents: is.whole('copied from this range'),
});

export const DOCUMENTS = is.object({
  read: is.whole('from the source'),
  written: is.whole('to the target'),
  deleted: is.whole('in the target'),
  moved: is.whole('whose key changed, so that they changed their place in the target'),
  deadLettered: is.whole('dead letters that are open now'),
  longIntegers: is.optional(is.whole('versions read with an integer beyond 2^53; absent: none')),
});

const ADOPTION = is.object(
  {
    same: is.whole('copies that are up to date'),
    different: is.whole('copies with other content'),
    wrongSlot: is.whole('copies under another key'),
    missing: is.whole('documents of the source without a copy'),
    extra: is.whole('copies whose document is not in the source'),
    strangers: is.whole('documents that no migration with these settings has written'),
  },
  'with --adopt-target: what was in the target, counted before anything was written',
);

export const RUN = {
  command: is.text(),
  migration: MIGRATION,
  phase,
  complete,
  documents: DOCUMENTS,
  ru,
  throttled,
  durationMs,
  lagSeconds: is.nullable(is.number('of the range that is farthest behind; null while a range is copied')),
  ranges: is.list(RANGE),
  sweepPending: is.optional(
    is.flag('the change feed has lost deletes or renames; compare both sides before the cutover'),
  ),
  adoption: is.optional(ADOPTION),
  error: is.optional(ERROR),
} as const;

export const RUN_RESULT = is.object(RUN);

export const RETRY_RESULT = is.object({
  ...RUN,
  retried: is.optional(is.whole('dead letters that were retried')),
  closed: is.optional(is.whole('dead letters that are closed now')),
});

export const FINISH_RESULT = is.object({
  command: is.text(),
  migration: MIGRATION,
  complete,
  inUse: is.oneOf(['source', 'target']),
  kept: is.oneOf(['source', 'target'], 'the container that is not kept up to date any longer'),
  restoredTtlSeconds: is.nullable(
    is.whole('the default time to live of that container; null: none was paused'),
  ),
  hasContinuousBackup: is.nullable(
    is.flag('whether the account of the container in use has continuous backup; null: not known'),
  ),
  left: is.list(is.text(), 'what is left to do'),
});

export const SKIPPED = is.object({
  command: is.text(),
  migration: MIGRATION,
  complete: is.constant(false),
  skipped: is.constant(true, 'another run holds the ledger, and --skip-if-running was given'),
});

const SETTING_OUTCOME = is.object({
  setting: is.text(),
  source: is.text(),
  target: is.text('before a change'),
  outcome: is.oneOf(
    ['asked', 'reported', 'refused'],
    'asked: changed by --like-source. reported: differs, and was not requested. refused: could not be changed',
  ),
  why: is.optional(is.text()),
});

const LATE_WRITE = is.object({
  range: is.text(),
  ids: is.list(is.text('id as JSON text'), 'some of the documents'),
  what: is.oneOf(['written', 'deleted', 'split']),
});

const CUTOVER = {
  committedAt: is.time(),
  stoppedMs: is.number('for how long writers were stopped, up to the commit'),
  proof: is.nullable(
    is.object({
      compared: is.oneOf(
        ['all', 'changes'],
        'while writers were stopped. all: every document. changes: those changed on either side since an earlier clean comparison; and each side had as many documents as the ledger knows',
      ),
      since: is.nullable(is.time('when that earlier comparison ended; null: all were compared')),
      documents: is.nullable(
        is.object({ source: is.whole(), target: is.whole() }, 'null: not counted again after a repair'),
      ),
    }),
  ),
  repaired: is.object(
    {
      documents: is.whole(),
      byOthers: is.whole(
        'those that another process had changed in the target after both sides were found equal',
      ),
      ids: is.list(is.text('id as JSON text'), 'some of the documents'),
    },
    'in the target, while writers were stopped',
  ),
  settings: is.list(SETTING_OUTCOME, 'settings in which the target differed from the source'),
  lateWrites: is.list(LATE_WRITE, 'writes to the source after the commit, which are not replicated'),
} as const;

export const CUTOVER_PART = is.object(CUTOVER);
export const CUTOVER_RESULT = is.object({ ...RUN, ...CUTOVER });

const SAMPLE = is.object({
  kind: is.oneOf(['missing', 'extra', 'different', 'wrongSlot']),
  id: is.anything('of the document'),
  sourceKey: key,
  targetKey: is.nullable(is.list(is.anything(), 'null when the document has no key')),
});

const COUNTED_RANGE = is.object({ id: is.text(), min: is.text(), max: is.text(), documents: is.whole() });
const level = is.oneOf(['count', 'digest']);

export const DIFFERENCES = is.object(
  {
    missing: is.whole('not in the target'),
    extra: is.whole('only in the target'),
    different: is.whole('with other content'),
    wrongSlot: is.whole('under another key'),
  },
  'confirmed differences',
);

export const VERIFY_RESULT = is.object({
  command: is.constant('verify'),
  migration: MIGRATION,
  level,
  equal: is.nullable(is.flag('null: not proven')),
  source: is.object({ count: is.whole() }),
  target: is.object({ count: is.whole() }),
  countsAt: is.time(
    'from when on both sides were read: each count is of its own pass. A comparison that was resumed may have read them long ago',
  ),
  rechecked: is.whole(
    'documents that were looked at one by one since, because they have changed or seemed to differ. The verdict includes them; the counts are not changed by them',
  ),
  differences: DIFFERENCES,
  repaired: is.optional(
    is.object(
      {
        written: is.whole(),
        deleted: is.whole(),
        deletedIds: is.list(is.text('id as JSON text'), 'some of the deleted documents'),
      },
      'documents that the repairs have written and deleted; absent: nothing was repaired',
    ),
  ),
  closedLetters: is.optional(
    is.object(
      {
        closed: is.whole(),
        named: is.list(
          is.object({
            number: is.whole('number of the dead letter'),
            id: is.anything('id of the document'),
            sourceKey: is.anything('levels of its source key'),
            became: is.oneOf(['moved', 'gone', 'changed'], 'what became of the document'),
          }),
          'some of them',
        ),
        meanwhile: is.whole('others, which were opened and closed while --repair worked'),
      },
      'dead letters that --repair has closed; absent: none',
    ),
  ),
  inFlight: is.whole('differences that may still be replicated'),
  longIntegers: is.optional(
    is.object(
      { source: is.whole(), target: is.whole() },
      'documents with an integer beyond 2^53; absent: none, or a count',
    ),
  ),
  samples: is.list(SAMPLE, 'the first confirmed differences'),
  letters: is.object(
    {
      open: is.whole(),
      discarded: is.whole(),
      absent: is.whole('open ones whose document cannot be in the target'),
    },
    'dead letters; their documents do not count as differences',
  ),
  settings: is.list(
    is.object({ setting: is.text(), source: is.text(), target: is.text() }),
    'settings in which the containers differ',
  ),
  settingsNotSeen: is.list(is.text(), 'settings that could not be compared for lack of rights'),
  ru,
  durationMs,
  complete,
  waitsFor: is.nullable(is.text('why something is not proven')),
  ranges: is.optional(
    is.object(
      { source: is.list(COUNTED_RANGE), target: is.list(COUNTED_RANGE) },
      'documents by range; of --level count',
    ),
  ),
  error: is.optional(ERROR),
});

/** The result of a comparison that failed before it had a verdict. */
export const VERIFY_UNFINISHED = is.object({
  command: is.constant('verify'),
  migration: MIGRATION,
  level,
  equal: is.constant(null),
  complete: is.constant(false),
  error: ERROR,
});

export type RunResult = is.TypeOf<typeof RUN_RESULT>;
export type VerifyResult = is.TypeOf<typeof VERIFY_RESULT>;
