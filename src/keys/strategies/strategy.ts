/**
 * The contract of a key: which values of a document it reads, and what it makes of them. Invariant: a strategy is
 * pure: the same values give the same key on every machine and in every run; otherwise a replay would write a
 * document twice. It gets only decoded values at the paths that it names, not the document, so the mover can read
 * them from bytes and an application from an object.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';

/** A property path as its steps: '/address/"zip code"' is ['address', 'zip code']. Arrays are not walked into. */
export type Path = readonly string[];

/**
 * A value of a document: numbers as doubles, undefined if it is missing, `composite` for an object or an array,
 * which cannot be a key.
 */
export type Value = KeyComponent | typeof composite;
export const composite: unique symbol = Symbol('object or array');

/** What a strategy makes of a document's values. */
export type Derived =
  | { readonly kind: 'value'; readonly value: KeyComponent }
  /** A value that it needs is missing; `path` names it. */
  | { readonly kind: 'missing'; readonly path: Path }
  /** A value cannot be used; `why` explains it to the operator. */
  | { readonly kind: 'invalid'; readonly path: Path; readonly why: string };

export interface Strategy {
  /** The values it reads, in the order in which `derive` takes them. */
  readonly paths: readonly Path[];
  derive(values: readonly Value[]): Derived;
  /** The computation of the key, step by step, for `cosmig key --explain`. */
  explain(values: readonly Value[]): readonly string[];
}
