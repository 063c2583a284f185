/**
 * The contract of filters, which follow a bar in a placeholder: `{createdAt|month}`. Invariant: a filter is pure and
 * total: for every value it returns a value, or the reason why it cannot.
 */
import type { Scalar } from '../../documents/scalar.ts';

/** The reason why a value cannot be used, in words for the operator. */
export interface Unfit {
  readonly why: string;
}

/** A part of a time in a text: a token of a pattern, the quarter, the week with its year, or a text as it is. */
export type TimePiece = 'yyyy' | 'MM' | 'dd' | 'HH' | 'mm' | 'ss' | 'SSS' | 'quarter' | 'weekYear' | 'week';

/** What a filter does, as data: the kernel applies filters to the bytes of a page (plan/pass/key-program.ts). */
export type FilterForm =
  | { readonly does: 'lower' | 'upper' | 'trim' }
  | { readonly does: 'slice'; readonly start: number; readonly end: number | undefined }
  | { readonly does: 'default'; readonly text: string }
  | { readonly does: 'time'; readonly pieces: ReadonlyArray<TimePiece | { readonly text: string }> }
  | { readonly does: 'hash'; readonly buckets: number }
  | { readonly does: 'pad'; readonly digits: number };

export interface Filter {
  readonly form: FilterForm;
  /** Replaces a missing value. Only the filter `default` sets it; all others leave a missing value missing. */
  readonly standIn?: Scalar;
  apply(value: Scalar): Scalar | Unfit;
}

/** A kind of filter: its name, an example, and how to make a filter from an argument. */
export interface FilterKind {
  readonly name: string;
  /** The name with a valid argument, for the help. */
  readonly example: string;
  /** Returns the filter for an argument (undefined: none was given), or the reason why the argument is invalid. */
  make(argument: string | undefined): Filter | Unfit;
}

/** Returns the kind of a filter that takes no argument. */
export function withoutArgument(name: string, filter: Filter): FilterKind {
  const make = (argument: string | undefined): Filter | Unfit =>
    argument === undefined ? filter : { why: `${name} takes nothing` };
  return { name, example: name, make };
}

export function isUnfit(result: Scalar | Filter | Unfit | undefined): result is Unfit {
  return typeof result === 'object' && result !== null && 'why' in result;
}

/**
 * Returns a value as text: strings unchanged, others as in JSON (1.0 as 1, -0 as 0, 1e21 as 1e+21, null as null), so
 * that every language can compute the same text.
 */
export function textOf(value: Scalar): string {
  return typeof value === 'string' ? value : String(value);
}
