/** One stored document under a query: its text as it is, and its value, parsed at most once and only if asked. */
import { stepInto } from './values.ts';
import type { PathStep, SqlValue } from './values.ts';

export class QueryRow {
  readonly text: string;
  #value: SqlValue;

  constructor(text: string) {
    this.text = text;
  }

  at(steps: readonly PathStep[]): SqlValue {
    this.#value ??= JSON.parse(this.text) as SqlValue;
    return stepInto(this.#value, steps);
  }
}
