/** What has been given, and all that is found wrong with it: checks go on after a complaint and report together. */
import { UsageError, type Problem } from '../lib/errors.ts';
import { fieldOf, type FieldName } from './fields.ts';
import { drop, inPlace, problemWith, sourceOf, Wrong, type Given, type Givens } from './input.ts';
import type { Read } from './values.ts';

/** See the module. */
export class Findings {
  readonly problems: Problem[];
  readonly #givens: Givens;

  constructor(givens: Givens, problems: readonly Problem[] = []) {
    this.#givens = givens;
    this.problems = [...problems];
  }

  given(field: FieldName): Given | undefined {
    return this.#givens.get(field);
  }

  report(from: string, message: string, why: string, hint: string): void {
    this.problems.push({ from, message, why, hint });
  }

  /** The one text of a field that has one; nothing after a complaint. */
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

  /** The texts of a list that are not empty. */
  several(given: Given): readonly string[] {
    if (given.texts.length === 0 || given.texts.some((text) => text.trim() === '')) this.#reportEmpty(given);
    return given.texts.filter((text) => text.trim() !== '');
  }

  #reportEmpty(given: Given): void {
    const hint = `write for instance ${inPlace(given, fieldOf(given.field).example)}`;
    this.report(
      sourceOf(given),
      `${sourceOf(given)} has no value`,
      'it needs one',
      `${hint}, or ${drop(given)}`,
    );
  }

  /** The text as a value; nothing after a complaint. */
  value<T>(given: Given, text: string, read: Read<T>): T | undefined {
    const value = read(text);
    if (!(value instanceof Wrong)) return value;
    this.problems.push(problemWith(given, text, value));
    return undefined;
  }

  /** The value of a field; nothing when it was not given, or after a complaint. */
  one<T>(field: FieldName, read: Read<T>): T | undefined {
    const given = this.given(field);
    const text = given === undefined ? undefined : this.single(given);
    return given === undefined || text === undefined ? undefined : this.value(given, text, read);
  }

  /** Both at once cannot be meant. */
  exclusive(one: FieldName, other: FieldName, why: string): void {
    const [first, second] = [this.given(one), this.given(other)];
    if (first === undefined || second === undefined) return;
    this.report(
      `${sourceOf(first)}, ${sourceOf(second)}`,
      `${sourceOf(first)} and ${sourceOf(second)} were both given`,
      why,
      `${drop(second)}, or ${drop(first)}`,
    );
  }

  /** Throws everything that was found as one error. */
  throwIfAny(): void {
    if (this.problems.length > 0) throw asUsageError(this.problems);
  }
}

/** One error for a list of problems; a single one speaks for itself. */
export function asUsageError(problems: readonly Problem[]): UsageError {
  const [only, ...rest] = problems;
  if (only !== undefined && rest.length === 0) {
    return new UsageError(only.message, { why: only.why, hint: only.hint, problems });
  }
  return new UsageError(`${problems.length} things are wrong with the migration spec`, {
    why: 'nothing was begun: all of them are listed',
    hint: 'mend each of them and run it again',
    problems,
  });
}
