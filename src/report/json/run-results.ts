/** The schemas of what runs print with `--json` (copy, tail, retry, cutover and verify), and of every failure. */
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
  text,
  time,
  whole,
  type TypeOf,
} from './schema.ts';

const CODES = [
  'usage',
  'not-ready',
  'mismatch',
  'dead-letters',
  'service',
  'ledger',
  'budget',
  'internal',
  'canceled',
] as const;

export type ErrorCode = (typeof CODES)[number];

const PROBLEM = object({
  from: text('the flag, the variable, or the line of the config file'),
  message: text('what is wrong'),
  why: text(),
  hint: text('how to fix it'),
});

export const ERROR = object(
  {
    code: oneOf(CODES, 'the kind of error; each has one exit code (exit-codes.md)'),
    message: text('what happened'),
    hint: text('what to do now'),
    problems: optional(list(PROBLEM, 'the problems one by one, when settings have several')),
  },
  'why the command failed; absent when it succeeded',
);

/** The result of a command that failed before it had any other result. */
export const FAILURE = object({
  command: nullable(text('null when the command line names no command')),
  complete: constant(false),
  error: ERROR,
});

export const MIGRATION = text('`source -> target`');
export const complete = flag('whether the command did all that it was asked for');
export const durationMs = number('of this run');
export const key = list(anything(), 'one value per level; {} for a missing level');
export const ru = object({ source: number(), target: number() }, 'request units spent by this run');
export const throttled = whole('requests that the service refused with 429');
export const phase = text('new, copying, tailing, ready, fencing, drained, proven or committed');
export const deletes = text('auto, avad, marker:/path or reconcile');

export const RANGE = object({
  id: text('of the physical partition'),
  min: text('lower bound of the hash space, hexadecimal'),
  max: text('upper bound'),
  phase: text('copy, tail, or recopy for a range that is read again'),
  documents: whole('copied from this range'),
});

export const DOCUMENTS = object({
  read: whole('from the source'),
  written: whole('to the target'),
  deleted: whole('in the target'),
  moved: whole('whose key changed, so that they changed their place in the target'),
  deadLettered: whole('dead letters that are open now'),
  longIntegers: optional(whole('versions read with an integer beyond 2^53; absent: none')),
});

export const RUN = {
  command: text(),
  migration: MIGRATION,
  phase,
  complete,
  documents: DOCUMENTS,
  ru,
  throttled,
  durationMs,
  lagSeconds: nullable(number('of the range that is farthest behind; null while a range is copied')),
  ranges: list(RANGE),
  sweepPending: optional(
    flag('the change feed has lost deletes or renames; compare both sides before the cutover'),
  ),
  error: optional(ERROR),
} as const;

export const RUN_RESULT = object(RUN);

export const RETRY_RESULT = object({
  ...RUN,
  retried: optional(whole('dead letters that were retried')),
  closed: optional(whole('dead letters that are closed now')),
});

export const SKIPPED = object({
  command: text(),
  migration: MIGRATION,
  complete: constant(false),
  skipped: constant(true, 'another run holds the ledger, and --skip-if-running was given'),
});

const SETTING_OUTCOME = object({
  setting: text(),
  source: text(),
  target: text('before a change'),
  outcome: oneOf(
    ['asked', 'reported', 'refused'],
    'asked: changed by --like-source. reported: differs, and was not requested. refused: could not be changed',
  ),
  why: optional(text()),
});

const LATE_WRITE = object({
  range: text(),
  ids: list(text('id as JSON text'), 'some of the documents'),
  what: oneOf(['written', 'deleted', 'split']),
});

const CUTOVER = {
  committedAt: time(),
  stoppedMs: number('for how long writers were stopped'),
  proof: nullable(
    object({
      compared: oneOf(
        ['all', 'changes'],
        'while writers were stopped. all: every document. changes: those changed on either side since an earlier clean comparison; and each side had as many documents as the ledger knows',
      ),
      since: nullable(time('when that earlier comparison ended; null: all were compared')),
      documents: nullable(
        object({ source: whole(), target: whole() }, 'null: not counted again after a repair'),
      ),
    }),
  ),
  settings: list(SETTING_OUTCOME, 'settings in which the target differed from the source'),
  lateWrites: list(LATE_WRITE, 'writes to the source after the commit, which are not replicated'),
} as const;

export const CUTOVER_PART = object(CUTOVER);
export const CUTOVER_RESULT = object({ ...RUN, ...CUTOVER });

const SAMPLE = object({
  kind: oneOf(['missing', 'extra', 'different', 'wrongSlot']),
  id: anything('of the document'),
  sourceKey: key,
  targetKey: nullable(list(anything(), 'null when the document has no key')),
});

const COUNTED_RANGE = object({ id: text(), min: text(), max: text(), documents: whole() });
const level = oneOf(['count', 'digest']);

export const VERIFY_RESULT = object({
  command: constant('verify'),
  migration: MIGRATION,
  level,
  equal: nullable(flag('null: not proven')),
  source: object({ count: whole() }),
  target: object({ count: whole() }),
  differences: object(
    {
      missing: whole('not in the target'),
      extra: whole('only in the target'),
      different: whole('with other content'),
      wrongSlot: whole('under another key'),
    },
    'confirmed differences',
  ),
  inFlight: whole('differences that may still be replicated'),
  longIntegers: optional(
    object(
      { source: whole(), target: whole() },
      'documents with an integer beyond 2^53; absent: none, or a count',
    ),
  ),
  samples: list(SAMPLE, 'the first confirmed differences'),
  letters: object(
    {
      open: whole(),
      discarded: whole(),
      absent: whole('open ones whose document cannot be in the target'),
    },
    'dead letters; their documents do not count as differences',
  ),
  settings: list(
    object({ setting: text(), source: text(), target: text() }),
    'settings in which the containers differ',
  ),
  settingsNotSeen: list(text(), 'settings that could not be compared for lack of rights'),
  ru,
  durationMs,
  complete,
  waitsFor: nullable(text('why something is not proven')),
  ranges: optional(
    object(
      { source: list(COUNTED_RANGE), target: list(COUNTED_RANGE) },
      'documents by range; of --level count',
    ),
  ),
  error: optional(ERROR),
});

/** The result of a comparison that failed before it had a verdict. */
export const VERIFY_UNFINISHED = object({
  command: constant('verify'),
  migration: MIGRATION,
  level,
  equal: constant(null),
  complete: constant(false),
  error: ERROR,
});

export type RunResult = TypeOf<typeof RUN_RESULT>;
export type VerifyResult = TypeOf<typeof VERIFY_RESULT>;
