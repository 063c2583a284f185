/**
 * The plan of a move back: documents of the container with the new key get the old key again. A derived property is
 * taken out if it can be derived again from the rest of the document; one with another value was written by the
 * application, and stays. Invariant: `forth` makes of the copy the same document, with the same key. A document for which
 * that is impossible is refused.
 */
import { must } from '../lib/assert.ts';
import { keyOfLevels } from './key-levels.ts';
import type { BackRules, MovedKey, MovePlan } from './move-plan.ts';
import { isSamePath, printPath } from './path.ts';
import { KEY_BYTES_MAX, type Addition, type KeyPlan } from './plan.ts';
import { asIs } from './strategies/property.ts';
import type { RekeyOptions } from './rekey.ts';
import type { Path, Value } from './strategies/strategy.ts';

export class BackPlan implements MovePlan {
  readonly sourcePaths: readonly Path[];
  readonly targetPaths: readonly Path[];
  /**
   * First the inputs of `forth`, as paths in a document with the new key; then the key of the copy, level by level; then
   * the replaced paths.
   */
  readonly inputs: readonly Path[];
  readonly additionPaths: readonly Path[];
  readonly replacedPaths: readonly Path[];
  readonly presentPaths: readonly Path[] = [];
  readonly keptPath: Path | undefined;
  readonly sourcePathsInTarget: readonly Path[];
  readonly identity: KeyPlan | undefined;
  readonly back: BackRules;
  readonly #forth: KeyPlan;
  /** Where a document has the key levels of its copy. */
  readonly #levels: readonly Path[];
  readonly #keyBytesMax: number;

  /** `forth`: the plan of the other direction, in which present values win. `keyBytesMax`: as in `PlanOptions`. */
  constructor(forth: KeyPlan, keyBytesMax = KEY_BYTES_MAX) {
    const { sourcePaths, targetPaths, sourcePathsInTarget, additionPaths, replacedPaths } = forth;
    const kept = (path: Path): Path => {
      const level = sourcePaths.findIndex((old) => isSamePath(old, path));
      return level < 0 ? path : must(sourcePathsInTarget[level], 'every level of the old key is in the copy');
    };
    this.sourcePaths = targetPaths;
    this.targetPaths = sourcePaths;
    this.inputs = [...forth.inputs.map(kept), ...sourcePathsInTarget, ...replacedPaths];
    this.additionPaths = additionPaths;
    this.replacedPaths = replacedPaths;
    this.sourcePathsInTarget = targetPaths;
    this.identity = additionPaths.length === 0 ? undefined : forth;
    this.keptPath = forth.keptPath;
    this.back = { refusesMissing: !forth.mayMiss };
    this.#forth = forth;
    this.#levels = sourcePathsInTarget;
    this.#keyBytesMax = keyBytesMax;
  }

  /** Returns the old key of a document with these values at `inputs`, and the properties to take out. Never throws. */
  compute(values: readonly Value[]): MovedKey {
    const forth = this.#forth;
    const levelsAt = forth.inputs.length;
    const replacedAt = levelsAt + this.#levels.length;
    const again = forth.compute(values.slice(0, levelsAt));
    if (again.kind === 'refused') return again;
    for (const { path, value } of again.additions) {
      const replaced = this.replacedPaths.findIndex((other) => isSamePath(other, path));
      if (path === this.keptPath || (replaced >= 0 && values[replacedAt + replaced] === value)) continue;
      const why =
        replaced < 0
          ? `${printPath(path)} is missing, although the rest of the document derives a value for it`
          : `${printPath(path)} has another value than the rest of the document derives, and the old key needs its place`;
      return { kind: 'refused', reason: 'key-conflict', why };
    }
    // The old key may have been missing all along, whatever the rule for the new one says.
    const levels = this.#levels.map((path, level) => ({
      path,
      derived: asIs(path).derive([values[levelsAt + level]]),
    }));
    const key = keyOfLevels(levels, true, this.#keyBytesMax);
    if (key.kind === 'refused') return key;
    return { ...key, additions: forth.addable(values.slice(0, levelsAt)) };
  }

  /** Returns the properties that `compute` takes out; undefined if it refuses the document. */
  addable(values: readonly Value[]): readonly Addition[] | undefined {
    const computed = this.compute(values);
    return computed.kind === 'refused' ? undefined : computed.additions;
  }
}

interface TurnRules {
  readonly direction: 'back' | 'forth';
  readonly ignoresTtl: boolean;
  /** For a move back. */
  readonly keyBytesMax?: number | undefined;
}

/**
 * Returns the plan of a turn after the first, and the forms in which documents are then compared. `forth` is the plan by
 * which documents get the new key, in which present values win.
 */
export function turnedPlans(
  forth: KeyPlan,
  { direction, ignoresTtl, keyBytesMax }: TurnRules,
): Pick<RekeyOptions, 'plan' | 'compared'> {
  const back = new BackPlan(forth, keyBytesMax);
  const plan = direction === 'back' ? back : forth;
  if (forth.additionPaths.length === 0 && !ignoresTtl) return { plan };
  const [source, target] = direction === 'back' ? [back, forth] : [forth, back];
  return { plan, compared: { source, target, ignoresTtl } };
}
