/**
 * The contract of a strategy: which values of a document it reads, and which key it makes of them. Invariant: a
 * strategy is pure: the same values give the same key on every machine and in every run. Otherwise a replay would
 * write a document twice. A strategy gets only decoded values at the paths that it names, not the document, so the
 * mover can read the values from bytes and an application from an object.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';
import type { Filter } from '../filters/filter.ts';

/** The steps of a property path: '/address/"zip code"' is ['address', 'zip code']. A path does not lead into arrays. */
export type Path = readonly string[];

/**
 * A value of a document: numbers are doubles, undefined is a missing value, and `composite` is an object or an array,
 * which is never a key value: at a key path it counts as missing, and nothing can be derived from it.
 */
export type Value = KeyComponent | typeof composite;
export const composite: unique symbol = Symbol('object or array');

/** What a strategy makes of the values of a document. */
export type Derived =
  | { readonly kind: 'value'; readonly value: KeyComponent }
  /** A value that the strategy needs is missing; `path` names it. `composite`: an object or an array stands there. */
  | { readonly kind: 'missing'; readonly path: Path; readonly composite?: true }
  /** A value cannot be used; `why` gives the operator the reason. */
  | { readonly kind: 'invalid'; readonly path: Path; readonly why: string };

/** A filter, with its text in the template. */
export interface NamedFilter {
  readonly text: string;
  readonly filter: Filter;
}

/** A part of a template that is replaced by a value. */
export interface Placeholder {
  readonly path: Path;
  readonly filters: readonly NamedFilter[];
}

/** A template: literal texts and placeholders, in order. */
export type Template = ReadonlyArray<string | Placeholder>;

export interface Strategy {
  /**
   * The template from which the strategy makes a value. A placeholder alone, without filters, gives its value unchanged.
   * Undefined: the strategy reads a value that the document already has at the key path.
   */
  readonly template?: Template;
  /** The paths of the values that the strategy reads, in the order in which `derive` takes the values. */
  readonly paths: readonly Path[];
  derive(values: readonly Value[]): Derived;
  /** Explains how the key is computed, step by step, for `cosmig key --explain`. */
  explain(values: readonly Value[]): readonly string[];
}
