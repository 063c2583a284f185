/**
 * The given settings, and every problem found with them. Checks continue after a problem, so that all problems are
 * reported together.
 */
import { UsageError, type Problem } from '../../lib/errors.ts';
import { exampleOf, type FieldName } from '../fields.ts';
import { howToRemove, asGiven, problemWith, sourceOf, Invalid, type Given, type Givens } from './given.ts';
import type { Read } from './values.ts';

export class ProblemList {
  readonly all: Problem[];
  readonly #givens: Givens;

  constructor(givens: Givens, problems: readonly Problem[] = []) {
    this.#givens = givens;
    this.all = [...problems];
  }

  given(field: FieldName): Given | undefined {
    return this.#givens.get(field);
  }

  report(from: string, message: string, why: string, hint: string): void {
    this.all.push({ from, message, why, hint });
  }

  /** Returns the text of a field that takes one value; undefined after a problem. */
  single(given: Given): string | undefined {
    const [text, ...more] = given.texts;
    const from = sourceOf(given);
    if (more.length > 0) {
      this.report(from, `${from} was given more than once`, 'it has one value', 'keep one of them');
      return undefined;
    }
    if (text === undefined || text.trim() === '') {
      this.#reportEmpty(given);
      return undefined;
    }
    return text;
  }

  /** Returns the texts of a list, without empty texts, which are reported as a problem. */
  several(given: Given): readonly string[] {
    if (given.texts.length === 0 || given.texts.some((text) => text.trim() === '')) this.#reportEmpty(given);
    return given.texts.filter((text) => text.trim() !== '');
  }

  #reportEmpty(given: Given): void {
    const hint = `for example ${asGiven(given, exampleOf(given.field))}`;
    this.report(
      sourceOf(given),
      `${sourceOf(given)} has no value`,
      'it needs one',
      `${hint}, or ${howToRemove(given)}`,
    );
  }

  /** Converts a text into a value; returns undefined after a problem. */
  value<T>(given: Given, text: string, read: Read<T>): T | undefined {
    const value = read(text);
    if (!(value instanceof Invalid)) return value;
    this.all.push(problemWith(given, text, value));
    return undefined;
  }

  /** Returns the value of a field; undefined when it was not given, or after a problem. */
  one<T>(field: FieldName, read: Read<T>): T | undefined {
    const given = this.given(field);
    const text = given === undefined ? undefined : this.single(given);
    return given === undefined || text === undefined ? undefined : this.value(given, text, read);
  }

  /** Reports a problem when two fields that exclude each other are both given. */
  exclusive(one: FieldName, other: FieldName, why: string): void {
    const [first, second] = [this.given(one), this.given(other)];
    if (first === undefined || second === undefined) return;
    this.report(
      `${sourceOf(first)}, ${sourceOf(second)}`,
      `${sourceOf(first)} and ${sourceOf(second)} were both given`,
      why,
      `${howToRemove(second)}, or ${howToRemove(first)}`,
    );
  }

  /** Throws all problems as one error. */
  throwIfAny(): void {
    if (this.all.length > 0) throw asUsageError(this.all);
  }
}

/** Makes one error of a list of problems. The error of a single problem has the message of that problem. */
export function asUsageError(problems: readonly Problem[]): UsageError {
  const [only, ...rest] = problems;
  if (only !== undefined && rest.length === 0) {
    return new UsageError(only.message, { why: only.why, hint: only.hint, problems });
  }
  return new UsageError(`the migration settings have ${problems.length} problems`, {
    why: 'nothing was started; all problems are listed',
    hint: 'fix them and run the command again',
    problems,
  });
}
