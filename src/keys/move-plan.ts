/**
 * What the mover and the verifier need of a plan in either direction. Forth, documents of the source get their new key
 * (`KeyPlan`); back, documents of what was the target get the old key again (`BackPlan`). Invariant: in a plan, `source`
 * is always the container whose documents are read, and `target` the one into which their copies are written.
 */
import type { Addition, ComputedKey, KeyPlan } from './plan.ts';
import type { Path, Value } from './strategies/strategy.ts';

export interface MovePlan {
  readonly sourcePaths: readonly Path[];
  readonly targetPaths: readonly Path[];
  /** The paths of the values that `compute` takes, in this order. */
  readonly inputs: readonly Path[];
  /** The properties that only the documents of one container must have. Back they are taken out. */
  readonly additionPaths: readonly Path[];
  /** Source key paths whose value is replaced when documents move forth. */
  readonly replacedPaths: readonly Path[];
  /** The addition paths at which any existing value stays, and counts. */
  readonly presentPaths: readonly Path[];
  /** The path at which the old value of the replaced path is kept; undefined: none is replaced. */
  readonly keptPath: Path | undefined;
  /** The paths of the source key in a target document, level by level, unless `identity` computes the key. */
  readonly sourcePathsInTarget: readonly Path[];
  /** Computes the source key from a target document that lacks a part of it. Undefined: the document has it. */
  readonly identity?: KeyPlan | undefined;
  /** The rules of a move back; undefined: documents move forth. */
  readonly back?: BackRules | undefined;
  /** Returns the key of a document in the target, and what is added to it or taken out of it. Never throws. */
  compute(values: readonly Value[]): MovedKey;
}

/** The new key of a document, or the reason why it has none or cannot have it. */
export type MovedKey =
  | ComputedKey
  | { readonly kind: 'refused'; readonly reason: 'key-conflict'; readonly why: string };

/** In a move back the properties that were added are taken out, and a replaced one gets its old value back. */
export interface BackRules {
  /** Whether a document without a value in the key of the container that it leaves is refused. */
  readonly refusesMissing: boolean;
}

/**
 * Says which derived properties a document had before they were derived, as bits of `Remover.own`. `hashes`: its identity,
 * as in `Rekey.hashes`.
 */
export interface OwnProperties {
  of(hashes: Uint32Array): number;
}

/**
 * Says what to take out of a document of one container before it is compared with its counterpart. After the first turn
 * documents are compared in the form that they have where no property is derived: the mover has written a part of
 * the documents in one container, and the application a part of those in the other.
 */
export interface ComparedForm extends Pick<
  MovePlan,
  'inputs' | 'additionPaths' | 'replacedPaths' | 'keptPath' | 'back'
> {
  /** Returns the derived properties with their values; undefined if the document is compared as it is. */
  addable(values: readonly Value[]): readonly Addition[] | undefined;
}

export interface ComparedForms {
  readonly source: ComparedForm;
  readonly target: ComparedForm;
  /**
   * Whether the time to live of a document is not compared. With `--ttl remaining` the first copy has rewritten it, and
   * the default of one container may be paused, so after the first turn it differs although nothing is wrong.
   */
  readonly ignoresTtl: boolean;
}
