/**
 * A parsed query as plain data, with its parameters inserted as literals, and the two ways to refuse a query.
 *
 * Invariant: a refusal names the position at which parsing stopped.
 */
import { Refusal } from '../../http/refusal.ts';
import type { ScalarFunction } from '../evaluate/functions/scalar-function.ts';
import type { ComparisonOperator, PathStep, SqlValue } from '../evaluate/values.ts';

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';
export type AggregateName = 'COUNT' | 'SUM' | 'MIN' | 'MAX' | 'AVG';

export type Expression =
  | { readonly kind: 'literal'; readonly value: SqlValue }
  /** A part of what a name of FROM or JOIN stands for. Without steps it is the whole value. */
  | PathExpression
  | { readonly kind: 'member'; readonly of: Expression; readonly steps: readonly PathStep[] }
  | { readonly kind: 'array'; readonly items: readonly Expression[] }
  | { readonly kind: 'object'; readonly entries: readonly NamedExpression[] }
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: 'sign'; readonly sign: 1 | -1; readonly of: Expression }
  /** All terms in one list, so that a generated query with ten thousand ORs is not ten thousand levels deep. */
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | {
      readonly kind: 'compare';
      readonly operator: ComparisonOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'concat' | 'coalesce'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'in'; readonly of: Expression; readonly candidates: readonly Expression[] }
  | { readonly kind: 'between'; readonly of: Expression; readonly low: Expression; readonly high: Expression }
  | {
      readonly kind: 'like';
      readonly of: Expression;
      readonly pattern: Expression;
      readonly escape: string | undefined;
    }
  | {
      readonly kind: 'conditional';
      readonly condition: Expression;
      readonly whenTrue: Expression;
      readonly otherwise: Expression;
    }
  | { readonly kind: 'call'; readonly called: ScalarFunction; readonly args: readonly Expression[] }
  /**
   * A query within a query. Its form decides what it stands for: its only result, whether it has results, or an array
   * of its results.
   */
  | { readonly kind: 'subquery'; readonly form: SubqueryForm; readonly statement: Statement }
  | AggregateExpression;

export type SubqueryForm = 'value' | 'exists' | 'array';

export interface PathExpression {
  readonly kind: 'path';
  readonly root: string;
  readonly steps: readonly PathStep[];
}

export interface AggregateExpression {
  readonly kind: 'aggregate';
  readonly name: AggregateName;
  readonly of: Expression;
  /** The text of the whole call, as the query has it. */
  readonly text: string;
}

export interface NamedExpression {
  readonly name: string;
  readonly of: Expression;
}

/** A selected expression and its text, from which a plan composes the query for each range. */
export interface SelectedExpression extends NamedExpression {
  readonly text: string;
}

export type Selection =
  /** `*`: the value of the only source. */
  | { readonly kind: 'star'; readonly root: string }
  | { readonly kind: 'value'; readonly of: Expression; readonly text: string }
  | { readonly kind: 'list'; readonly entries: readonly SelectedExpression[] };

/** One key of ORDER BY. */
export interface OrderBy {
  readonly of: PathExpression;
  readonly descending: boolean;
  readonly text: string;
}

/** An expression of GROUP BY. */
export interface GroupKey {
  readonly of: Expression;
  readonly text: string;
}

/** One source of FROM or JOIN. */
export interface Source {
  /** The name by which the rest of the query refers to a value of this source. */
  readonly alias: string;
  readonly of: Expression;
  /** Whether each item of an array makes a row of its own. Each result of a subquery does so anyway. */
  readonly each: boolean;
}

export interface Statement {
  readonly selection: Selection;
  /** Whether equal results count once. */
  readonly distinct: boolean;
  /** Empty without FROM: such a query has one result, from no document. */
  readonly sources: readonly Source[];
  /** FROM and its JOINs, as the query has them. */
  readonly fromText: string;
  /** The name of the whole document; undefined without FROM, or if FROM names only a part of the document. */
  readonly alias: string | undefined;
  readonly where: Expression | undefined;
  readonly whereText: string | undefined;
  readonly groupBy: readonly GroupKey[];
  readonly orderBy: readonly OrderBy[];
  readonly top: number | undefined;
  readonly offset: number;
  /** The number in TOP or LIMIT; Infinity if the query has neither. */
  readonly limit: number;
}

/** How many characters of the query an error message quotes. */
const NEAR_CHARACTERS = 24;

export function syntaxError(source: string, at: number, hint = ''): Refusal {
  const near = at < source.length ? `'${source.slice(at, at + NEAR_CHARACTERS)}'` : 'the end of the query';
  return new Refusal(
    400,
    `Syntax error at position ${at}, incorrect syntax near ${near}.${hint && ` ${hint}`}`,
  );
}

export function unsupported(feature: string, at: number): Refusal {
  return new Refusal(400, `${feature} is not supported by this emulator (at position ${at}).`);
}
