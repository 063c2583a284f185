/**
 * The plan of a migration's keys: the key paths of the target, the derived properties, and the treatment of documents
 * without a key value. Invariant: a plan is pure and reads decoded values only.
 */
import { must } from '../lib/assert.ts';
import { orUsageError, UsageError } from '../lib/errors.ts';
import { inOne, problemsOf, replacedPaths, type Draft } from './check-plan.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { existing, asIs } from './strategies/property.ts';
import { keyOfLevels, refusalOf, type KeyRefusal } from './key-levels.ts';
import { parseDerivation, type Derivation } from './strategies/parse.ts';
import { isSamePath, parsePath, printPath } from './path.ts';
import { show } from './show.ts';
import type { Derived, Path, Strategy, Value } from './strategies/strategy.ts';

/** The operator's options, with paths and templates as text. */
export interface PlanOptions {
  /** Key paths of the source; empty if they are unknown (`cosmig key`). */
  readonly sourcePaths: readonly string[];
  /**
   * One to three key paths of the target. If the list is empty, `derive` must have one property, and its path becomes
   * the key.
   */
  readonly partitionKey: readonly string[];
  /** Properties to write, each as '/path=template'. */
  readonly derive: readonly string[];
  readonly missingKey: MissingKey;
  /** The path at which the old key value is kept if a derived property replaces a source key path. */
  readonly keepSourceKeyAs?: string;
  /** The longest key of the target in bytes: 2,048, or 101 for V1 (without large partition keys). */
  readonly keyBytesMax?: number;
}

/**
 * How to treat a document without a key value. For `dead-letter` and for `fail` a plan refuses the document; the mover
 * then keeps it as a dead letter or ends the run.
 */
export type MissingKey = 'keep' | 'dead-letter' | 'fail';

/** A property that is added to the target document. */
export interface Addition {
  readonly path: Path;
  readonly value: string | number | boolean | null;
}

/** The new key of a document, or the reason why it has none. */
export type ComputedKey =
  | {
      readonly kind: 'key';
      /** One component for each level; undefined for a missing value that is allowed. */
      readonly values: readonly KeyComponent[];
      readonly additions: readonly Addition[];
      /** Whether a level is undefined. */
      readonly missing: boolean;
    }
  /** `why` is for the operator. It names paths and never shows values. */
  | KeyRefusal;

/** The longest key value in bytes that the service accepts with version 2. */
const KEY_BYTES_MAX = 2048;

/** Returns the plan for these options. A UsageError reports all their problems at once. */
export function makePlan(options: PlanOptions): KeyPlan {
  const draft = readDraft(options);
  return new KeyPlan(draft, options.missingKey === 'keep', options.keyBytesMax ?? KEY_BYTES_MAX);
}

function readDraft({ sourcePaths, partitionKey, derive, keepSourceKeyAs }: PlanOptions): Draft {
  const mistakes: UsageError[] = [];
  const read = <T>(texts: readonly string[], parse: (text: string) => T): T[] =>
    texts.flatMap((text) => {
      const parsed = orUsageError(() => parse(text));
      if (!(parsed instanceof UsageError)) return [parsed];
      mistakes.push(parsed);
      return [];
    });
  const source = read(sourcePaths, parsePath);
  const named = read(partitionKey, parsePath);
  const derivations = read(derive, parseDerivation);
  const [keep] = read(keepSourceKeyAs === undefined ? [] : [keepSourceKeyAs], parsePath);
  const isDerivedAlone = partitionKey.length === 0 && derivations.length === 1;
  const key = isDerivedAlone ? derivations.map(({ path }) => path) : named;
  const draft: Draft = { source, key, derivations, keep };
  // The rules need readable options, so they are checked only if every option could be read.
  const problems = mistakes.length > 0 ? mistakes : [...problemsOf(draft)];
  if (problems.length > 0) throw inOne(problems);
  return draft;
}

/**
 * One step of a plan. It finds one value of a document: a property to write, or a key level that the document already
 * has.
 */
interface Step {
  readonly path: Path;
  readonly strategy: Strategy;
  /** For each value that the strategy takes, its index in `inputs`. */
  readonly at: readonly number[];
  readonly does: 'derive' | 'keep' | 'read';
}

/** Computes the new key of a document from its values at `inputs`. */
export class KeyPlan {
  readonly sourcePaths: readonly Path[];
  readonly targetPaths: readonly Path[];
  /** The paths of the values that `compute` takes, in this order. Each path occurs once. */
  readonly inputs: readonly Path[];
  /**
   * The paths at which `compute` may add a value. A document that already has a different value there would seem to
   * have another key, so it is refused (key-conflict). So is a document that has any value there if `compute` adds
   * none. At `replacedPaths` the existing value is replaced instead.
   */
  readonly additionPaths: readonly Path[];
  /** Source key paths whose value is replaced. The old value is added at another path. */
  readonly replacedPaths: readonly Path[];
  /**
   * The paths of the source key in a target document, level by level: `sourcePaths`, or the paths that keep the old
   * values.
   */
  readonly sourcePathsInTarget: readonly Path[];
  /** How each key level is made. */
  readonly levels: readonly Strategy[];
  readonly #steps: readonly Step[];
  /** For each key level, the index of the step that gives its value. */
  readonly #levels: readonly number[];
  readonly #mayMiss: boolean;
  readonly #keyBytesMax: number;

  constructor(draft: Draft, mayMiss: boolean, keyBytesMax: number) {
    const { source, key, derivations, keep } = draft;
    const replaced = replacedPaths(draft);
    this.sourcePaths = source;
    this.targetPaths = key;
    this.replacedPaths = replaced;
    this.sourcePathsInTarget = source.map((path) => (replaced.includes(path) ? (keep ?? path) : path));
    const inputs: Path[] = [];
    const written = derivations.map((derivation) => step(derivation, 'derive', inputs));
    if (keep !== undefined) {
      const strategy = existing(must(replaced[0], 'a path to keep a value at was checked to have one'));
      written.push(step({ path: keep, strategy }, 'keep', inputs));
    }
    const read = key
      .filter((path) => !written.some((one) => isSamePath(one.path, path)))
      .map((path) => step({ path, strategy: asIs(path) }, 'read', inputs));
    this.additionPaths = written.map(({ path }) => path);
    this.#steps = [...written, ...read];
    this.#levels = key.map((path) => this.#steps.findIndex((one) => isSamePath(one.path, path)));
    this.levels = this.#levels.map((index) => must(this.#steps[index], 'every level has its step').strategy);
    this.inputs = inputs;
    this.#mayMiss = mayMiss;
    this.#keyBytesMax = keyBytesMax;
  }

  /** Returns the key of a document with these values at `inputs`. Never throws. */
  compute(values: readonly Value[]): ComputedKey {
    const found = this.#steps.map(({ strategy, at }) => strategy.derive(at.map((index) => values[index])));
    const levels = this.#levels.map((index) => ({
      path: must(this.#steps[index], 'every level has its step').path,
      derived: must(found[index], 'every step found something'),
    }));
    const key = keyOfLevels(levels, this.#mayMiss, this.#keyBytesMax);
    if (key.kind === 'refused') return key;
    const additions: Addition[] = [];
    for (const [index, one] of this.#steps.entries()) {
      const derived = must(found[index], 'every step found something');
      if (derived.kind !== 'value') {
        const refusal = this.#refusalOf(one, derived);
        if (refusal !== undefined) return refusal;
      } else if (one.does !== 'read' && derived.value !== undefined) {
        additions.push({ path: one.path, value: derived.value });
      }
    }
    return { kind: 'key', values: key.values, additions, missing: key.missing };
  }

  /** Returns why a document has no key if this step has found no value; undefined if the value may be missing. */
  #refusalOf(
    { path, does }: Step,
    derived: Exclude<Derived, { readonly kind: 'value' }>,
  ): KeyRefusal | undefined {
    // The source key may be missing in the source, and then there is no old value to keep.
    const mayMiss = does === 'keep' || this.#mayMiss;
    const refusal = refusalOf(path, derived, mayMiss);
    if (refusal !== undefined || does !== 'derive') return refusal;
    if (!this.replacedPaths.some((replaced) => isSamePath(replaced, path))) return undefined;
    const why = `${printPath(derived.path)} is missing, and the old value at ${printPath(path)} would pass for the new one`;
    return { kind: 'refused', reason: 'missing-key', why };
  }

  /** Explains how `compute` gets its result, step by step. */
  explain(values: readonly Value[]): readonly string[] {
    const computed = this.compute(values);
    const lines = this.#steps.flatMap(({ strategy, at }) =>
      strategy.explain(at.map((index) => values[index])),
    );
    if (computed.kind === 'refused') return [...lines, `${computed.reason}: ${computed.why}`];
    return [
      ...lines,
      ...computed.additions.map(({ path, value }) => `${printPath(path)} is written as ${show(value)}`),
      ...this.targetPaths.map(
        (path, level) => `the key at ${printPath(path)} is ${show(computed.values[level])}`,
      ),
    ];
  }
}

/** Makes a step, and adds the paths that it reads to `inputs`, each once. */
function step({ path, strategy }: Derivation, does: Step['does'], inputs: Path[]): Step {
  const at = strategy.paths.map((input) => {
    const index = inputs.findIndex((known) => isSamePath(known, input));
    return index < 0 ? inputs.push(input) - 1 : index;
  });
  return { path, strategy, at, does };
}
