/** One stored document under a query: its text as it is, and its value, parsed at most once and only if asked. */
import { stepInto } from './values.ts';
import type { Step, Value } from './values.ts';

export class Row {
  readonly text: string;
  #value: Value;

  constructor(text: string) {
    this.text = text;
  }

  at(steps: readonly Step[]): Value {
    this.#value ??= JSON.parse(this.text) as Value;
    return stepInto(this.#value, steps);
  }
}
