/**
 * The schemas of everything that `--json` prints: the results of each command on stdout, and the lines on stderr. The
 * code that makes a result uses the type of its schema, docs/reference is generated from the schemas, and a test
 * validates real output against them. Invariant: names are part of the public contract.
 */
import { CUTOVER_STEPS } from '../cutover-line.ts';
import {
  throttled,
  RUN,
  FAILURE,
  RUN_RESULT,
  RETRY_RESULT,
  SKIPPED,
  CUTOVER_RESULT,
  FINISH_RESULT,
  VERIFY_RESULT,
  VERIFY_UNFINISHED,
} from './run-results.ts';
import { PLAN, PLAN_KQL } from './plan-result.ts';
import {
  COMPLETION,
  DOCTOR_RESULT,
  PROBES_RESULT,
  KEY_RESULT,
  EMULATOR_READY,
  DEMO_RESULT,
  WATCH_READY,
} from './tool-results.ts';
import { STATUS, LETTER, LETTER_SHOWN, DISCARDED } from './ledger-results.ts';
import { DRY_RUN } from './dry-run-result.ts';
import * as is from './schema.ts';

const REQUESTS = {
  bytes: is.whole(),
  oldestMs: is.nullable(is.number('age of the oldest; null: there is none')),
} as const;

const COMPARE_PROGRESS = is.object({
  stage: is.text(),
  source: is.whole('documents read so far'),
  target: is.whole(),
  open: is.whole('documents to recheck'),
  oldestOpenMs: is.nullable(
    is.number('for how long the oldest of them has been known to differ; null: not known'),
  ),
  waitsFor: is.nullable(is.text()),
  ru: is.number('of both sides'),
  throttled,
  requests: is.object({ count: is.whole(), ...REQUESTS }, 'sent to both sides and not answered yet'),
});

const PLAN_PROGRESS = is.object({
  documents: is.whole('read for a plan so far'),
  expected: is.nullable(is.whole('documents that will be read; null: not known')),
  ru: is.number(),
  waitsFor: is.nullable(is.text('why no document is read at the moment')),
});

const { command: _command, error: _error, sweepPending: _sweepPending, ...SNAPSHOT } = RUN;
const RUN_PROGRESS = {
  ...SNAPSHOT,
  goal: is.oneOf(['copy', 'tail', 'catch-up']),
  sweepPending: is.flag(),
  waitsFor: is.nullable(is.text()),
  inFlight: is.object(
    { documents: is.whole(), pages: is.whole('with these documents, until they are committed'), ...REQUESTS },
    'documents that were read and have no outcome yet',
  ),
} as const;

export type CompareProgress = is.TypeOf<typeof COMPARE_PROGRESS>;

/** A progress line, on stderr while a command runs. */
export const PROGRESS = is.object({
  progress: is.anyOf([
    is.object({
      ...RUN_PROGRESS,
      step: is.oneOf(CUTOVER_STEPS),
      stoppedMs: is.nullable(is.number()),
      deadlineMs: is.number(),
      proof: is.nullable(
        is.object({
          ...COMPARE_PROGRESS.members,
          expected: is.nullable(is.whole()),
          budgetRu: is.nullable(is.number()),
        }),
      ),
    }),
    is.object(RUN_PROGRESS),
    COMPARE_PROGRESS,
    PLAN_PROGRESS,
  ]),
});

/** The progress of a run, without the members that a cutover adds. */
export type RunProgress = is.ObjectOf<typeof RUN_PROGRESS>;

/** Any other line on stderr. Further members depend on the message. */
export const MESSAGE = is.object({
  time: is.time(),
  level: is.oneOf(['debug', 'info', 'warn', 'error']),
  message: is.text(),
});

/** The results that `--json` prints on stdout, by command. */
export const RESULTS = {
  plan: [PLAN, PLAN_KQL, FAILURE],
  doctor: [DOCTOR_RESULT, PROBES_RESULT, FAILURE],
  copy: [RUN_RESULT, DRY_RUN, SKIPPED, FAILURE],
  tail: [RUN_RESULT, SKIPPED, FAILURE],
  verify: [VERIFY_RESULT, VERIFY_UNFINISHED, SKIPPED, FAILURE],
  cutover: [CUTOVER_RESULT, RUN_RESULT, SKIPPED, FAILURE],
  reverse: [RUN_RESULT, SKIPPED, FAILURE],
  rollback: [CUTOVER_RESULT, RUN_RESULT, SKIPPED, FAILURE],
  finish: [FINISH_RESULT, FAILURE],
  status: [STATUS, FAILURE],
  'dead-letters list': [LETTER, FAILURE],
  'dead-letters show': [LETTER_SHOWN, FAILURE],
  'dead-letters retry': [RETRY_RESULT, SKIPPED, FAILURE],
  'dead-letters discard': [DISCARDED, FAILURE],
  key: [KEY_RESULT, FAILURE],
  watch: [WATCH_READY, FAILURE],
  emulator: [EMULATOR_READY, FAILURE],
  demo: [DEMO_RESULT, FAILURE],
  completion: [COMPLETION, FAILURE],
} as const satisfies Readonly<Record<string, readonly is.Schema<unknown>[]>>;
