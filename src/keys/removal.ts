/**
 * Takes derived properties out of the rows of a scan: what the mover writes in a move back, and the form in which
 * documents are compared after the first turn. Invariant: the plan says which values can be derived again; this file
 * only connects it to the bytes.
 */
import { Remover, type RemovedPath } from './remover.ts';
import type { PageScan } from '../documents/page-scan.ts';
import type { Scalar } from '../documents/scalar.ts';
import type { Edits } from '../documents/splice.ts';
import { assert, must } from '../lib/assert.ts';
import { KeyCache } from './key-cache.ts';
import type { ComparedForm, ComparedForms, MovePlan, OwnProperties } from './move-plan.ts';
import { isSamePath } from './path.ts';
import type { Addition } from './plan.ts';
import { valueAt, valuesAt } from './row-inputs.ts';
import type { Path } from './strategies/strategy.ts';

/** What a plan or a form says of the properties to take out. */
type Removals = Pick<MovePlan, 'additionPaths' | 'replacedPaths' | 'keptPath' | 'back'>;

/** Takes derived properties out of documents in a move back, except for what each document had of its own. */
export class DerivedRemoval {
  readonly #remover: Remover;
  readonly #own: OwnProperties | undefined;

  constructor(scan: PageScan, plan: Removals, own: OwnProperties | undefined) {
    this.#remover = removerOf(scan, plan);
    this.#own = own;
  }

  /** `hashes`: the identity of the document. Precondition: `edits` is empty. */
  plan(row: number, { hashes, values, edits }: Removed): void {
    this.#remover.plan(row, values, edits);
    // What a document had of its own is looked up only for one that would lose something.
    const own = edits.count === 0 ? 0 : (this.#own?.of(hashes) ?? 0);
    if (own === 0) return;
    edits.clear();
    this.#remover.plan(row, values, edits, own);
  }
}

interface Removed {
  readonly hashes: Uint32Array;
  readonly values: ReadonlyArray<Scalar | undefined>;
  readonly edits: Edits;
}

/** Returns what takes the properties of a plan out. It needs one value for each of `additionPaths`. */
export function removerOf(scan: PageScan, plan: Removals): Remover {
  return new Remover(scan, removedPaths(plan));
}

function removedPaths({ additionPaths, replacedPaths, keptPath, back }: Removals): RemovedPath[] {
  return additionPaths.map((path) => {
    if (!replacedPaths.some((other) => isSamePath(other, path)))
      return { path, does: path === keptPath ? 'remove-copy' : 'remove' };
    const from = must(keptPath, 'a replaced value is kept at another path');
    return { path, does: back === undefined ? 'respell' : 'restore', from };
  });
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

/** What was computed of a document: the derived values; undefined if it is compared as it is. */
interface Known {
  readonly additions: readonly Addition[] | undefined;
}

/** Plans the edits that bring the documents of a scan into the form in which they are compared. */
export class FormEdits {
  readonly #scan: PageScan;
  readonly #form: ComparedForm;
  readonly #inputs: readonly number[];
  readonly #cache: KeyCache<Known>;
  readonly #remover: Remover;
  /** The value for each addition path, then the one for `ttl`. */
  readonly #values: Array<Scalar | undefined>;
  readonly #ignoresTtl: boolean;

  /** Precondition: the scan looks for the paths of both forms. */
  constructor(scan: PageScan, compared: ComparedForms, side: 'source' | 'target') {
    const form = compared[side];
    this.#scan = scan;
    this.#form = form;
    this.#inputs = form.inputs.map((path) => scan.nodeAt(path));
    this.#cache = new KeyCache(scan, this.#inputs);
    this.#ignoresTtl = compared.ignoresTtl;
    this.#remover = new Remover(scan, [...removedPaths(form), { path: ['ttl'], does: 'remove-copy' }]);
    this.#values = [...form.additionPaths, 'ttl'].map(() => undefined);
  }

  plan(row: number, edits: Edits): void {
    const { additionPaths } = this.#form;
    const { additions } = this.#cache.find(row) ?? this.#cache.remember(this.#compute(row));
    if (additions === undefined) return;
    putValues(additions, additionPaths, this.#values);
    if (this.#ignoresTtl) this.#values[additionPaths.length] = this.#ttlOf(row);
    this.#remover.plan(row, this.#values, edits);
  }

  #compute(row: number): Known {
    return { additions: this.#form.addable(valuesAt(this.#scan, row, this.#inputs)) };
  }

  /** Returns the `ttl` of a document if it expires with it. Any other value of this name is never rewritten. */
  #ttlOf(row: number): number | undefined {
    const ttl = valueAt(this.#scan, row, this.#scan.nodes.ttl);
    return typeof ttl === 'number' && Number.isInteger(ttl) && ttl > 0 ? ttl : undefined;
  }
}
