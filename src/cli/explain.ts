/**
 * Turns any error into an explanation for people and scripts: what happened, why, and what the operator can do now.
 * Invariants: each part is one line without secrets, and an unexpected error is reported as a bug in cosmig.
 */
import { inspect } from 'node:util';
import {
  codeOf,
  CosmigError,
  InternalError,
  mapProblem,
  NotReadyError,
  type Problem,
} from '../lib/errors.ts';
import { redactText } from '../lib/log.ts';

/** An error in the form that text and JSON output share. */
export interface Explanation {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly why: string;
  readonly hint: string;
  /** The problems one by one, when the error reports several. */
  readonly problems: readonly Problem[];
}

/** Explains anything that was thrown. */
export function explain(thrown: unknown): Explanation {
  const error = thrown instanceof CosmigError ? thrown : unexpected(thrown);
  return {
    exitCode: error.exitCode,
    code: error.code,
    message: oneLine(error.message),
    why: oneLine(error.why),
    hint: oneLine(error.hint),
    problems: error.problems.map((problem) => mapProblem(problem, oneLine)),
  };
}

/** Returns the error with its stack and causes, for --verbose. Each line is marked, as the error may quote any text. */
export function dissect(thrown: unknown): string {
  return redactText(inspect(thrown, { depth: 6, breakLength: 110 })).replaceAll(/^/gm, '  | ');
}

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
};

function unexpected(thrown: unknown): CosmigError {
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

function oneLine(text: string): string {
  return redactText(text).replaceAll(/\s*[\r\n]+\s*/g, ' ');
}
