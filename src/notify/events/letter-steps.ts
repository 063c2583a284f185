/** Detects that a run opens dead letters. Invariant: they are notified at 1, 2, 4, 8 and so on, never one by one. */
import { pluralize } from '../../lib/counting.ts';
import { runKey, type Happening, type NamedRun } from './happening.ts';

export class LetterSteps {
  /** Open dead letters that are not new; null: not known yet. */
  #before: number | null;
  #notified = -1;

  constructor(before: number | null) {
    this.#before = before;
  }

  /** `run`: returns the run that opens them. */
  look(open: number, run: () => NamedRun | null): Happening | null {
    this.#before ??= open;
    if (open <= this.#before) return null;
    const step = Math.floor(Math.log2(open));
    if (step <= this.#notified) return null;
    this.#notified = step;
    const text = `${pluralize(open, 'dead letter')} ${open === 1 ? 'is' : 'are'} open; see cosmig dead-letters list`;
    return { event: 'dead-letters', text, key: runKey(run(), `letters ${step}`) };
  }
}
