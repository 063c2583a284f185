/**
 * The closed set of ways a command ends badly. Each class is one exit code of the public contract.
 * The message says what happened, `why` explains it, `hint` says what to do now; only a bug may leave
 * both to the code that prints it.
 */
export interface ErrorParts {
  /** When several things are wrong at once; the message then says how many. */
  readonly problems?: readonly Problem[];
  readonly why: string;
  readonly hint: string;
  readonly cause?: unknown;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** One thing that is wrong: what, why, and what to do about it; `from` is where the value came from. */
export interface Problem {
  readonly from: string;
  readonly message: string;
  readonly why: string;
  readonly hint: string;
}

/** What every error of cosmig carries: the message says what happened, `why` explains it, `hint` says what to do now. */
export abstract class CosmigError extends Error {
  /** Stable name of the kind, for scripts. */
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

/** The command line or the spec is wrong. */
export class UsageError extends CosmigError {
  readonly code = 'usage';
  readonly exitCode = 2;
}

/** Right command, wrong moment: phase, gate, deadline, changed fingerprint, target in use, someone else holds it. */
export class NotReadyError extends CosmigError {
  readonly code = 'not-ready';
  readonly exitCode = 3;
}

/** Verification ran to the end and found differences. */
export class MismatchError extends CosmigError {
  readonly code = 'mismatch';
  readonly exitCode = 4;
}

/** Open dead letters at the end, or more than the spec allows. */
export class DeadLetterError extends CosmigError {
  readonly code = 'dead-letters';
  readonly exitCode = 5;
}

/** Cosmos refused, or stayed away through every retry. */
export class ServiceError extends CosmigError {
  readonly code = 'service';
  readonly exitCode = 6;
}

/** The ledger is missing, damaged, newer than this cosmig, or its disk is full. */
export class LedgerError extends CosmigError {
  readonly code = 'ledger';
  readonly exitCode = 7;
}

/** The time budget is over and work is left. */
export class BudgetError extends CosmigError {
  readonly code = 'budget';
  readonly exitCode = 8;
}

/** Our bug: a rule of our own was broken. */
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

/** The signals that ask for an end. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** What each signal means, and its exit code. */
const STOPS: Readonly<Record<StopSignal, { readonly why: string; readonly exitCode: number }>> = {
  SIGINT: { why: 'Ctrl-C was pressed', exitCode: 130 },
  SIGTERM: { why: 'the system asked it to end', exitCode: 143 },
  SIGHUP: { why: 'the terminal it ran in went away', exitCode: 129 },
};

/** The operator stopped it; resuming is safe. */
export class CanceledError extends CosmigError {
  readonly code = 'canceled';
  readonly exitCode: number;
  readonly signal: StopSignal;

  constructor(signal: StopSignal, parts: Partial<ErrorParts> = {}) {
    const { why, exitCode } = STOPS[signal];
    super(`stopped by ${signal}`, {
      why: `${why}, and the work was left in a state that can be resumed`,
      hint: 'run the same command again to go on',
      ...parts,
    });
    this.exitCode = exitCode;
    this.signal = signal;
  }
}
