/**
 * How one migration's documents get their new key: the target's key paths, the properties that are derived and
 * written, and what is done about documents without a value. A plan is pure and reads decoded values only.
 */
import type { KeyComponent } from './effective-key.ts';
import type { Path, Value } from './strategy.ts';

/** What the operator asks for; paths and templates as text. */
export interface PlanOptions {
  /** The source's key paths; none when they are not known (`cosmig key`). */
  readonly sourcePaths: readonly string[];
  /** The target's key paths, one to three; none: the one derived path is the key. */
  readonly partitionKey: readonly string[];
  /** Properties to write, each as '/path=template'. */
  readonly derive: readonly string[];
  readonly missingKey: MissingKey;
  /** Where the old key value goes when a derived path is a source key path. */
  readonly keepSourceKeyAs?: string;
  /** The longest key the target takes: 2,048 bytes, or 101 for V1 (no large partition keys). */
  readonly keyBytesMax?: number;
}

/** What becomes of a document without a key value; `dead-letter` and `fail` are both refusals to a plan. */
export type MissingKey = 'keep' | 'dead-letter' | 'fail';

/** A property that the target document gets. */
export interface Addition {
  readonly path: Path;
  readonly value: string | number | boolean | null;
}

/** A document's new key, or why it has none. */
export type ComputedKey =
  | {
      readonly kind: 'key';
      /** One component a level; undefined where the document has none and that is allowed. */
      readonly values: readonly KeyComponent[];
      readonly additions: readonly Addition[];
      /** True when a level is undefined. */
      readonly missing: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly reason: 'missing-key' | 'invalid-key' | 'key-too-long';
      readonly why: string;
    };

/** See the module. */
export interface KeyPlan {
  readonly sourcePaths: readonly Path[];
  readonly targetPaths: readonly Path[];
  /** Every path whose value `compute` wants, each once, in the order of its argument. */
  readonly inputs: readonly Path[];
  /**
   * Every path at which `compute` may add a value. A document that holds anything else there (or anything at
   * all, when no value is added for it) would read as another key: key-conflict. `replacedPaths` are exempt.
   */
  readonly additionPaths: readonly Path[];
  /** Source key paths whose value the addition replaces; the old value is among the additions, elsewhere. */
  readonly replacedPaths: readonly Path[];
  /** Where a target document holds the source key, level by level: `sourcePaths`, or where they are kept. */
  readonly sourcePathsInTarget: readonly Path[];
  /** The key of a document with these values at `inputs`. Never throws. */
  compute(values: readonly Value[]): ComputedKey;
  /** How that key comes about, step by step. */
  explain(values: readonly Value[]): readonly string[];
}
