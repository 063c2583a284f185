/**
 * The contract of filters, which follow a bar in a placeholder: `{createdAt|month}`. Invariant: a filter is pure
 * and total: it returns a value for every value, or the reason why it cannot.
 */
import type { Scalar } from '../../documents/scalar.ts';

/** Why a value cannot be used, in words for the operator. */
export interface Unfit {
  readonly why: string;
}

export interface Filter {
  /** Set by the one filter that replaces a missing value; all others leave it missing. */
  readonly standIn?: Scalar;
  apply(value: Scalar): Scalar | Unfit;
}

/** A filter by its name, with an example. */
export interface FilterKind {
  readonly name: string;
  /** The name with a valid argument. */
  readonly example: string;
  /** The filter for this argument (undefined: none was given), or why the argument is invalid. */
  make(argument: string | undefined): Filter | Unfit;
}

export function isUnfit(result: Scalar | Filter | Unfit | undefined): result is Unfit {
  return typeof result === 'object' && result !== null && 'why' in result;
}

/**
 * A value as text: strings unchanged, others as in JSON (1.0 as 1, -0 as 0, 1e21 as 1e+21, null as null), so that
 * every language can reproduce it.
 */
export function textOf(value: Scalar): string {
  return typeof value === 'string' ? value : String(value);
}
