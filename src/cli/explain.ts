/**
 * Turns any error into an explanation for people and scripts: what happened, why, and what the operator can do now.
 * Invariants: each part is one line without secrets, and an unexpected error is reported as a bug in cosmig.
 */
import { inspect } from 'node:util';
import { asCosmigError, mapProblem, type Problem } from '../lib/errors.ts';
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
  const error = asCosmigError(thrown);
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

function oneLine(text: string): string {
  return redactText(text).replaceAll(/\s*[\r\n]+\s*/g, ' ');
}
