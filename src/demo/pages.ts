/**
 * The pages that the demo leaves for the operator to look at: that of the plan, and the report of the migration.
 * Invariant: they are in a folder that only this user can read, and a demo that was stopped or has failed removes them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class DemoPages implements Disposable {
  readonly plan: string;
  readonly report: string;
  /** The folder that was made for the pages; undefined: they are in a folder that is kept anyway. */
  readonly #folder: string | undefined;
  #isKept = false;

  constructor(kept?: string) {
    this.#folder = kept === undefined ? mkdtempSync(join(tmpdir(), 'cosmig-pages-')) : undefined;
    const folder = kept ?? this.#folder ?? '';
    [this.plan, this.report] = [join(folder, 'plan.html'), join(folder, 'migration.html')];
  }

  keep(): void {
    this.#isKept = true;
  }

  [Symbol.dispose](): void {
    if (!this.#isKept && this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
