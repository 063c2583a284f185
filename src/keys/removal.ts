/**
 * Takes derived properties out of the rows of a scan: what the mover writes in a move back, and the form in which
 * documents are compared after the first turn. Invariant: the plan says which values can be derived again; this file
 * only connects it to the bytes.
 */
import { Remover, type RemovedPath } from './remover.ts';
import type { PageScan } from '../documents/page-scan.ts';
import type { Scalar } from '../documents/scalar.ts';
import type { Edits } from '../documents/splice.ts';
import { assert } from '../lib/assert.ts';
import type { ComparedForm, MovePlan } from './move-plan.ts';
import { isSamePath } from './path.ts';
import type { Addition } from './plan.ts';
import { valuesAt } from './row-inputs.ts';
import type { Path } from './strategies/strategy.ts';

/** Returns what takes the properties of a plan out. It needs one value for each of `additionPaths`. */
export function removerOf(
  scan: PageScan,
  {
    additionPaths,
    replacedPaths,
    keptPath,
    back,
  }: Pick<MovePlan, 'additionPaths' | 'replacedPaths' | 'keptPath' | 'back'>,
): Remover {
  const removed = additionPaths.map((path): RemovedPath => {
    if (!replacedPaths.some((other) => isSamePath(other, path)))
      return { path, does: path === keptPath ? 'remove-copy' : 'remove' };
    return back === undefined || keptPath === undefined
      ? { path, does: 'leave' }
      : { path, does: 'restore', from: keptPath };
  });
  return new Remover(scan, removed);
}

/** Puts the value of each addition at the index of its path, and undefined everywhere else. */
export function putValues(
  additions: readonly Addition[],
  paths: readonly Path[],
  values: Array<Scalar | undefined>,
): void {
  values.fill(undefined, 0, paths.length);
  for (const { path, value } of additions) {
    const index = paths.indexOf(path);
    assert(index >= 0, 'a plan adds values at its addition paths');
    values[index] = value;
  }
}

/** Plans the edits that bring the documents of a scan into the form in which they are compared. */
export class FormEdits {
  readonly #scan: PageScan;
  readonly #form: ComparedForm;
  readonly #inputs: readonly number[];
  readonly #remover: Remover;
  readonly #values: Array<Scalar | undefined>;

  /** Precondition: the scan looks for the paths of the form. */
  constructor(scan: PageScan, form: ComparedForm) {
    this.#scan = scan;
    this.#form = form;
    this.#inputs = form.inputs.map((path) => scan.nodeAt(path));
    this.#remover = removerOf(scan, form);
    this.#values = form.additionPaths.map(() => undefined);
  }

  plan(row: number, edits: Edits): void {
    const additions = this.#form.addable(valuesAt(this.#scan, row, this.#inputs));
    if (additions === undefined) return;
    putValues(additions, this.#form.additionPaths, this.#values);
    this.#remover.plan(row, this.#values, edits);
  }
}
