/**
 * The errors with which a command can end; there are no others. Each class has its own exit code, which is part of the
 * public contract. The message says what happened, `why` explains it, and `hint` says what the operator can do now.
 */
export interface ErrorParts {
  /** The single problems, if several things are wrong at once. The message then says how many. */
  readonly problems?: readonly Problem[];
  readonly why: string;
  readonly hint: string;
  readonly cause?: unknown;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * One of several problems: what is wrong, why, and what to do about it. `from` says where the wrong value came from.
 */
export interface Problem {
  readonly from: string;
  readonly message: string;
  readonly why: string;
  readonly hint: string;
}

/** Returns the problem with each of its texts changed. */
export function mapProblem({ from, message, why, hint }: Problem, change: (text: string) => string): Problem {
  return { from: change(from), message: change(message), why: change(why), hint: change(hint) };
}

/** An error of cosmig. The message says what happened, `why` explains it, and `hint` says what to do now. */
export abstract class CosmigError extends Error {
  /** The name of the kind of error. Scripts may rely on it. */
  abstract readonly code: string;
  abstract readonly exitCode: number;
  readonly why: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];

  constructor(message: string, parts: ErrorParts) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = new.target.name;
    this.why = parts.why;
    this.hint = parts.hint;
    this.details = parts.details ?? {};
    this.problems = parts.problems ?? [];
  }
}

/** Returns the same error with each of its texts changed. */
export function rephrased(error: CosmigError, change: (text: string) => string): CosmigError {
  const { message, why, hint, problems } = error;
  const copy = Object.create(
    Object.getPrototypeOf(error) as object,
    Object.getOwnPropertyDescriptors(error),
  ) as CosmigError;
  return Object.assign(copy, {
    message: change(message),
    why: change(why),
    hint: change(hint),
    problems: problems.map((problem) => mapProblem(problem, change)),
  });
}

/** The command line or the spec is wrong. */
export class UsageError extends CosmigError {
  readonly code = 'usage';
  readonly exitCode = 2;
}

/** Returns the result of `work`, or the UsageError that it throws. */
export function orUsageError<T>(work: () => T): T | UsageError {
  try {
    return work();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

/**
 * The command is right, but cannot be carried out now: because of the phase, a gate, a deadline, changed settings, a
 * target in use, or another process that works with the ledger.
 */
export class NotReadyError extends CosmigError {
  readonly code = 'not-ready';
  readonly exitCode = 3;
}

/** Verification ran to the end and found differences. */
export class MismatchError extends CosmigError {
  readonly code = 'mismatch';
  readonly exitCode = 4;
}

/** Dead letters are open at the end, or more of them than the spec allows. */
export class DeadLetterError extends CosmigError {
  readonly code = 'dead-letters';
  readonly exitCode = 5;
}

/** Cosmos DB refused a request, or did not answer in spite of every retry. */
export class ServiceError extends CosmigError {
  readonly code = 'service';
  readonly exitCode = 6;
}

/** The ledger is missing, damaged, newer than this cosmig, or its disk is full. */
export class LedgerError extends CosmigError {
  readonly code = 'ledger';
  readonly exitCode = 7;
}

/** The time limit was reached before the work was complete. */
export class BudgetError extends CosmigError {
  readonly code = 'budget';
  readonly exitCode = 8;
}

/** A cutover has committed, so the target is in use, but a step after the commit is left to do. */
export class AfterCommitError extends CosmigError {
  readonly code = 'after-commit';
  readonly exitCode = 9;
}

/** A bug in cosmig: one of its own rules was broken. */
export class InternalError extends CosmigError {
  readonly code = 'internal';
  readonly exitCode = 70;

  constructor(rule: string, parts: Partial<ErrorParts> = {}) {
    super(rule, {
      why: 'this is a bug in cosmig: one of its own rules broke',
      hint: 'run it again with --verbose and report what it prints',
      ...parts,
    });
  }
}

/** Returns the code that Node or SQLite has given an error; an empty text if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The signals that ask a command to end. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** What each signal means, and the exit code after it. */
const STOPS: Readonly<Record<StopSignal, { readonly why: string; readonly exitCode: number }>> = {
  SIGINT: { why: 'Ctrl-C was pressed', exitCode: 130 },
  SIGTERM: { why: 'the system asked it to end', exitCode: 143 },
  SIGHUP: { why: 'the terminal it ran in went away', exitCode: 129 },
};

/** The operator stopped the command. Running it again is safe. */
export class CanceledError extends CosmigError {
  readonly code = 'canceled';
  readonly exitCode: number;
  readonly signal: StopSignal;

  constructor(
    signal: StopSignal,
    { message = `stopped by ${signal}`, ...parts }: Partial<ErrorParts> & { readonly message?: string } = {},
  ) {
    const { why, exitCode } = STOPS[signal];
    super(message, {
      why: `${why}, and the work was left in a state that can be resumed`,
      hint: 'run the same command again to resume',
      ...parts,
    });
    this.exitCode = exitCode;
    this.signal = signal;
  }
}

/** Node cannot find or read a file that a command loads on demand. */
const NOT_LOADED = {
  why: 'the installation of cosmig is incomplete or damaged, or the limit of open files is too low',
  hint: 'repeat the installation, or raise the limit to 1024 or more (ulimit -n 1024), then run the same command again',
};

/** What this machine or its settings can refuse, by the system's error code. Such an error is not a bug in cosmig. */
const EXHAUSTED: Readonly<Record<string, { readonly why: string; readonly hint: string }>> = {
  EMFILE: {
    why: 'this process may not open more files and connections',
    hint: 'raise the limit to 1024 or more (ulimit -n 1024), then run the same command again',
  },
  ENFILE: {
    why: 'this machine may not open more files and connections',
    hint: 'close other programs or raise the limit of this machine, then run the same command again',
  },
  ENOMEM: {
    why: 'the system refused memory',
    hint: 'free some memory or raise the limit (ulimit -v), then run the same command again',
  },
  ERR_MODULE_NOT_FOUND: NOT_LOADED,
  // Node reports these two when it may not open another file.
  ERR_INVALID_PACKAGE_CONFIG: NOT_LOADED,
  ERR_INVALID_PACKAGE_TARGET: NOT_LOADED,
};

/** Returns the error itself if cosmig has thrown it, and otherwise what it means. */
export function asCosmigError(thrown: unknown): CosmigError {
  if (thrown instanceof CosmigError) return thrown;
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const exhausted = EXHAUSTED[codeOf(error)];
    if (exhausted !== undefined) return new NotReadyError(message, { ...exhausted, cause: thrown });
  }
  return new InternalError(message, {
    why: 'this is a bug in cosmig: an unexpected error occurred',
    cause: thrown,
  });
}
