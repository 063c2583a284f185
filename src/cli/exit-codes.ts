/**
 * What each exit code means, and which of them a command can end with. The numbers come from the error classes in
 * lib/errors.ts, so that help and reference cannot differ from the program.
 */
import {
  AfterCommitError,
  BudgetError,
  CanceledError,
  DeadLetterError,
  InternalError,
  LedgerError,
  MismatchError,
  NotReadyError,
  ServiceError,
  UsageError,
  type CosmigError,
  type ErrorParts,
  type StopSignal,
} from '../lib/errors.ts';
import type { Command, OwnErrorCode } from './command.ts';

export interface ExitCode {
  readonly exitCode: number;
  /** The `error.code` of a result in JSON; null for success. */
  readonly code: string | null;
  /** The meaning in a few words, for help. */
  readonly summary: string;
  /** The meaning in a sentence or two, for the reference. */
  readonly meaning: string;
}

/** The codes that a command can end with only if it says so. */
const OWN: Readonly<Record<OwnErrorCode, true>> = {
  mismatch: true,
  'dead-letters': true,
  service: true,
  ledger: true,
  budget: true,
  'after-commit': true,
};

/** Returns the exit codes with which a command can end, with what each means there. */
export function exitCodesOf({ endsWith }: Pick<Command, 'endsWith'>): readonly ExitCode[] {
  return EXIT_CODES.flatMap((one) => {
    if (!isOwn(one.code)) return [one];
    const words = endsWith[one.code];
    if (words === undefined) return [];
    return [words === true ? one : { ...one, summary: words, meaning: words }];
  });
}

function isOwn(code: string | null): code is OwnErrorCode {
  return code !== null && Object.hasOwn(OWN, code);
}

type ErrorClass = new (message: string, parts: ErrorParts) => CosmigError;

function of(kind: ErrorClass, summary: string, meaning: string): ExitCode {
  const error = new kind(summary, { why: meaning, hint: meaning });
  return { exitCode: error.exitCode, code: error.code, summary, meaning };
}

function ofSignal(signal: StopSignal, what: string): ExitCode {
  const meaning = `${what}; the work was stopped cleanly, and the same command resumes it`;
  const { exitCode, code } = new CanceledError(signal);
  return { exitCode, code, summary: `stopped by ${signal}`, meaning };
}

export const EXIT_CODES: readonly ExitCode[] = [
  {
    exitCode: 0,
    code: null,
    summary: 'done',
    meaning:
      'done; also a planned end: `cosmig tail --for` that had caught up, or a run that `--skip-if-running` skipped',
  },
  of(
    UsageError,
    'wrong usage',
    'the command line, a variable or the config file is wrong; nothing was started; also `cosmig` alone, which prints the usual order of commands',
  ),
  of(
    NotReadyError,
    'not ready',
    'the right command at the wrong moment: another run holds the ledger, a gate of the cutover is closed, a deadline passed and the cutover backed out, a setting of the migration was changed, a container was recreated, or a comparison could not be finished because documents were still in flight',
  ),
  of(
    MismatchError,
    'differences',
    'the comparison ended and found differences; also a cutover after whose commit the source was written to',
  ),
  of(
    DeadLetterError,
    'dead letters',
    'documents could not be moved: dead letters are open at the end, or there are more than `--max-dead-letters`',
  ),
  of(ServiceError, 'service', 'Cosmos DB refused, or was unavailable through every retry'),
  of(
    LedgerError,
    'ledger or data file',
    'the ledger or a data file is missing, damaged or newer than this cosmig, or its disk is full',
  ),
  of(
    BudgetError,
    'time budget over',
    'the time budget (`--for`, `--until`) ended with work left; run the same command again',
  ),
  of(
    AfterCommitError,
    'committed, but not finished',
    'a cutover has committed, so the target is in use, but a later step failed, such as `--on-commit`; run the same command again',
  ),
  of(
    InternalError,
    'bug in cosmig',
    'a bug in cosmig; run the command again with `--verbose` and report what it prints',
  ),
  ofSignal('SIGHUP', 'the terminal went away'),
  ofSignal('SIGINT', 'Ctrl-C was pressed'),
  ofSignal('SIGTERM', 'the system asked the process to end'),
];
