/**
 * The page of the plan, which the demo leaves for the operator to look at. Invariant: it is in a folder that only this user
 * can read, and a demo that was stopped or has failed removes it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class PlanPage implements Disposable {
  readonly path: string;
  /** The folder that was made for the page; undefined: it is in a folder that is kept anyway. */
  readonly #folder: string | undefined;
  #isKept = false;

  constructor(folder?: string) {
    this.#folder = folder === undefined ? mkdtempSync(join(tmpdir(), 'cosmig-plan-')) : undefined;
    this.path = join(folder ?? this.#folder ?? '', 'plan.html');
  }

  keep(): void {
    this.#isKept = true;
  }

  [Symbol.dispose](): void {
    if (!this.#isKept && this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
