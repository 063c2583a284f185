/**
 * The contract of a key: which values of a document it reads, and what it makes of them. A strategy is pure:
 * the same values give the same key on every machine and in every run, or a replay would write a document
 * twice. It never sees the document itself, only decoded values at the paths it names, so that the mover can
 * read them out of bytes and an application out of an object.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';

/** A property path as its steps: '/address/"zip code"' is ['address', 'zip code']. Arrays are not walked into. */
export type Path = readonly string[];

/**
 * A value as it stands in a document: numbers as doubles, undefined when it is not there, `composite` for an
 * object or an array, which can never be a key and whose content nobody needs.
 */
export type Value = KeyComponent | typeof composite;
export const composite: unique symbol = Symbol('object or array');

/** What a strategy makes of a document's values. */
export type Derived =
  | { readonly kind: 'value'; readonly value: KeyComponent }
  /** A value it needs is not there; `path` says which. */
  | { readonly kind: 'missing'; readonly path: Path }
  /** A value is there that cannot serve; `why` says so in words for the operator. */
  | { readonly kind: 'invalid'; readonly path: Path; readonly why: string };

export interface Strategy {
  /** The values it reads, in the order in which `derive` takes them. */
  readonly paths: readonly Path[];
  derive(values: readonly Value[]): Derived;
  /** How the key comes about, step by step, for `cosmig key --explain`. */
  explain(values: readonly Value[]): readonly string[];
}
