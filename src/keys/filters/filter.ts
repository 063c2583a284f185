/**
 * What stands after a bar in a placeholder, `{createdAt|month}`: the contract of a filter. A filter is pure and
 * total: for every value it gives another one, or says why it cannot.
 */

/** A value that is there and is no object or array. */
export type Scalar = string | number | boolean | null;

/** Why a value cannot serve, in words for the operator. */
export interface Unfit {
  readonly why: string;
}

export interface Filter {
  /** Set by the one filter that stands in for a missing value; all others leave a missing value missing. */
  readonly standIn?: Scalar;
  apply(value: Scalar): Scalar | Unfit;
}

/** A filter by its name, with how it is written. */
export interface FilterKind {
  readonly name: string;
  /** The name with an argument that works. */
  readonly example: string;
  /** The filter for this argument (nothing: none was given), or what is wrong with it. */
  make(argument: string | undefined): Filter | Unfit;
}

export function isUnfit(result: Scalar | Filter | Unfit | undefined): result is Unfit {
  return typeof result === 'object' && result !== null && 'why' in result;
}

/**
 * A value as text: strings as they are, all others as JSON writes them (1.0 as 1, -0 as 0, 1e21 as 1e+21, null as
 * null), so that any language can do the same.
 */
export function textOf(value: Scalar): string {
  return typeof value === 'string' ? value : String(value);
}
