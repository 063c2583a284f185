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
import type { MovePlan } from './move-plan.ts';
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
  /**
   * Whether a derived property that a document already has stays, with any value, and is then the key. After a turn back
   * such a document was written in the target by the application, and its key there is the value that it has. Absent: no.
   */
  readonly presentWins?: boolean;
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
export const KEY_BYTES_MAX = 2048;

/** Returns the plan for these options. A UsageError reports all their problems at once. */
export function makePlan(options: PlanOptions): KeyPlan {
  const draft = readDraft(options);
  return new KeyPlan(draft, {
    mayMiss: options.missingKey === 'keep',
    keyBytesMax: options.keyBytesMax ?? KEY_BYTES_MAX,
    presentWins: options.presentWins ?? false,
  });
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
  /** For each value that the strategy takes, its index in `inputs`; NOWHERE: the value counts as missing. */
  readonly at: readonly number[];
  readonly does: 'derive' | 'keep' | 'read';
  /** The index in `inputs` of the value that wins over the derived one if it is there; NOWHERE: none does. */
  readonly present: number;
}

const NOWHERE = -1;

interface PlanRules {
  readonly mayMiss: boolean;
  readonly keyBytesMax: number;
  readonly presentWins: boolean;
}

/** Computes the new key of a document from its values at `inputs`. */
export class KeyPlan implements MovePlan {
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
  readonly presentPaths: readonly Path[];
  readonly keptPath: Path | undefined;
  readonly mayMiss: boolean;
  readonly #steps: readonly Step[];
  /** For each key level, the index of the step that gives its value. */
  readonly #levels: readonly number[];
  readonly #keyBytesMax: number;

  constructor(draft: Draft, { mayMiss, keyBytesMax, presentWins }: PlanRules) {
    const { source, key, derivations, keep } = draft;
    const replaced = replacedPaths(draft);
    this.sourcePaths = source;
    this.targetPaths = key;
    this.replacedPaths = replaced;
    this.sourcePathsInTarget = source.map((path) => (replaced.includes(path) ? (keep ?? path) : path));
    const inputs: Path[] = [];
    // Where a value that is there wins, a template does not read what templates write, or its own result would be among
    // its inputs. The source key is read, because it is there before it is replaced.
    this.keptPath = keep;
    this.presentPaths = presentWins ? notReplaced(draft) : [];
    const unread = presentWins && keep !== undefined ? [...this.presentPaths, keep] : this.presentPaths;
    const written = derivations.map((derivation) => {
      const made = step(derivation, 'derive', { inputs, unread });
      const wins = this.presentPaths.some((path) => isSamePath(path, derivation.path));
      return wins ? { ...made, present: indexIn(inputs, derivation.path) } : made;
    });
    if (keep !== undefined) {
      const strategy = existing(must(replaced[0], 'a path to keep a value at was checked to have one'));
      written.push(step({ path: keep, strategy }, 'keep', { inputs, unread }));
    }
    const read = key
      .filter((path) => !written.some((one) => isSamePath(one.path, path)))
      .map((path) => step({ path, strategy: asIs(path) }, 'read', { inputs, unread }));
    this.additionPaths = written.map(({ path }) => path);
    this.#steps = [...written, ...read];
    this.#levels = key.map((path) => this.#steps.findIndex((one) => isSamePath(one.path, path)));
    this.levels = this.#levels.map((index) => must(this.#steps[index], 'every level has its step').strategy);
    this.inputs = inputs;
    this.mayMiss = mayMiss;
    this.#keyBytesMax = keyBytesMax;
  }

  /** Returns the key of a document with these values at `inputs`. Never throws. */
  compute(values: readonly Value[]): ComputedKey {
    const found = this.#steps.map((one) =>
      isPresent(one, values) ? asIs(one.path).derive([values[one.present]]) : derive(one, values),
    );
    const levels = this.#levels.map((index) => ({
      path: must(this.#steps[index], 'every level has its step').path,
      derived: must(found[index], 'every step found something'),
    }));
    const key = keyOfLevels(levels, this.mayMiss, this.#keyBytesMax);
    if (key.kind === 'refused') return key;
    const additions: Addition[] = [];
    for (const [index, one] of this.#steps.entries()) {
      // A value that is there stays. Whether it can be a key was found out above.
      if (isPresent(one, values)) continue;
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

  /**
   * Returns the values that `compute` would add to the document if it had none of the properties that the plan adds.
   * Only for a plan in which present values win.
   */
  addable(values: readonly Value[]): readonly Addition[] {
    return this.#steps.flatMap((one) => {
      if (one.does === 'read') return [];
      const derived = derive(one, values);
      if (derived.kind !== 'value' || derived.value === undefined) return [];
      return [{ path: one.path, value: derived.value }];
    });
  }

  /** Returns why a document has no key if this step has found no value; undefined if the value may be missing. */
  #refusalOf(
    { path, does }: Step,
    derived: Exclude<Derived, { readonly kind: 'value' }>,
  ): KeyRefusal | undefined {
    // The source key may be missing in the source, and then there is no old value to keep.
    const mayMiss = does === 'keep' || this.mayMiss;
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

function isPresent({ present }: Step, values: readonly Value[]): boolean {
  return values[present] !== undefined;
}

function derive({ strategy, at }: Step, values: readonly Value[]): Derived {
  return strategy.derive(at.map((index) => values[index]));
}

/** Makes a step, and adds the paths that it reads to `inputs`, each once. Values at `unread` count as missing. */
function step(
  { path, strategy }: Derivation,
  does: Step['does'],
  { inputs, unread }: { readonly inputs: Path[]; readonly unread: readonly Path[] },
): Step {
  const at = strategy.paths.map((input) =>
    unread.some((other) => isSamePath(other, input)) ? NOWHERE : indexIn(inputs, input),
  );
  return { path, strategy, at, does, present: NOWHERE };
}

/** Returns the index of a path in `inputs`, and adds it if it is not there. */
function indexIn(inputs: Path[], path: Path): number {
  const index = inputs.findIndex((known) => isSamePath(known, path));
  return index < 0 ? inputs.push(path) - 1 : index;
}

function notReplaced({ source, derivations }: Draft): readonly Path[] {
  return derivations
    .map(({ path }) => path)
    .filter((path) => !source.some((other) => isSamePath(other, path)));
}
