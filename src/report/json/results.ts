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
  VERIFY_RESULT,
  VERIFY_UNFINISHED,
} from './run-results.ts';
import { DOCTOR_RESULT, PROBES_RESULT, KEY_RESULT, EMULATOR_READY, DEMO_RESULT } from './tool-results.ts';
import { STATUS, LETTER, LETTER_SHOWN, DISCARDED } from './ledger-results.ts';
import { DRY_RUN } from './dry-run-result.ts';
import {
  anyOf,
  flag,
  nullable,
  number,
  object,
  oneOf,
  text,
  time,
  whole,
  type ObjectOf,
  type Schema,
  type TypeOf,
} from './schema.ts';

const COMPARE_PROGRESS = object({
  stage: text(),
  source: whole('documents read so far'),
  target: whole(),
  open: whole('documents to recheck'),
  waitsFor: nullable(text()),
  ru: number('of both sides'),
  throttled,
});

const { command: _command, error: _error, sweepPending: _sweepPending, ...SNAPSHOT } = RUN;
const RUN_PROGRESS = {
  ...SNAPSHOT,
  goal: oneOf(['copy', 'tail', 'catch-up']),
  sweepPending: flag(),
  waitsFor: nullable(text()),
} as const;

export type CompareProgress = TypeOf<typeof COMPARE_PROGRESS>;

/** A progress line, on stderr while a command runs. */
export const PROGRESS = object({
  progress: anyOf([
    object({
      ...RUN_PROGRESS,
      step: oneOf(CUTOVER_STEPS),
      stoppedMs: nullable(number()),
      deadlineMs: number(),
      proof: nullable(
        object({
          ...COMPARE_PROGRESS.members,
          expected: nullable(whole()),
          budgetRu: nullable(number()),
        }),
      ),
    }),
    object(RUN_PROGRESS),
    COMPARE_PROGRESS,
  ]),
});

/** The progress of a run, without the members that a cutover adds. */
export type RunProgress = ObjectOf<typeof RUN_PROGRESS>;

/** Any other line on stderr. Further members depend on the message. */
export const MESSAGE = object({
  time: time(),
  level: oneOf(['debug', 'info', 'warn', 'error']),
  message: text(),
});

/** The results that `--json` prints on stdout, by command. */
export const RESULTS = {
  doctor: [DOCTOR_RESULT, PROBES_RESULT, FAILURE],
  copy: [RUN_RESULT, DRY_RUN, SKIPPED, FAILURE],
  tail: [RUN_RESULT, SKIPPED, FAILURE],
  verify: [VERIFY_RESULT, VERIFY_UNFINISHED, SKIPPED, FAILURE],
  cutover: [CUTOVER_RESULT, RUN_RESULT, SKIPPED, FAILURE],
  status: [STATUS, FAILURE],
  'dead-letters list': [LETTER, FAILURE],
  'dead-letters show': [LETTER_SHOWN, FAILURE],
  'dead-letters retry': [RETRY_RESULT, SKIPPED, FAILURE],
  'dead-letters discard': [DISCARDED, FAILURE],
  key: [KEY_RESULT, FAILURE],
  emulator: [EMULATOR_READY, FAILURE],
  demo: [DEMO_RESULT, FAILURE],
} as const satisfies Readonly<Record<string, readonly Schema<unknown>[]>>;
