/**
 * Parses statements: SELECT, FROM, WHERE, ORDER BY, TOP and OFFSET/LIMIT.
 *
 * Invariant: a feature that only the service supports is refused by name. A client therefore never takes an empty
 * answer for a correct one.
 */
import { aggregatesIn, isMadeOfAggregates } from '../evaluate/aggregate.ts';
import { ExpressionParser, type Mention } from './expression.ts';
import {
  type Expression,
  type OrderBy,
  type SelectedExpression,
  type Selection,
  type Statement,
  syntaxError,
  unsupported,
} from './syntax.ts';
import { TokenReader } from './token-reader.ts';
import type { SqlValue } from '../evaluate/values.ts';

interface SelectItem {
  readonly of: Expression;
  readonly alias: string | undefined;
  readonly at: number;
  readonly text: string;
}

type Selected =
  | { readonly kind: 'star'; readonly at: number }
  | { readonly kind: 'value'; readonly of: Expression; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly SelectItem[] };

export function parse(source: string, parameters: ReadonlyMap<string, SqlValue>): Statement {
  return new StatementParser(source, parameters).read();
}

class StatementParser {
  readonly #source: string;
  readonly #reader: TokenReader;
  readonly #expressions: ExpressionParser;

  constructor(source: string, parameters: ReadonlyMap<string, SqlValue>) {
    this.#source = source;
    this.#reader = new TokenReader(source);
    this.#expressions = new ExpressionParser(this.#reader, parameters);
  }

  read(): Statement {
    const reader = this.#reader;
    reader.expect('SELECT');
    this.#refuse('DISTINCT', 'DISTINCT');
    const topAt = reader.token.at;
    const top = reader.accept('TOP') ? this.#count('TOP') : undefined;
    const selected = this.#selected();
    const alias = reader.accept('FROM') ? this.#from() : undefined;
    const hasWhere = reader.accept('WHERE');
    const whereAt = reader.token.at;
    const where = hasWhere ? this.#expressions.read() : undefined;
    const whereText = hasWhere ? reader.textSince(whereAt) : undefined;
    this.#refuse('GROUP', 'GROUP BY');
    const orderAt = reader.token.at;
    const orderBy = reader.accept('ORDER') ? this.#orderBy(alias) : undefined;
    const sliceAt = reader.token.at;
    const slice = reader.accept('OFFSET') ? this.#slice() : undefined;
    if (reader.token.kind !== 'end') throw reader.unexpected();

    this.#checkRoots(alias);
    if (slice !== undefined && top !== undefined)
      throw syntaxError(this.#source, sliceAt, 'TOP is there already.');
    if (selected.kind === 'star' && alias === undefined) {
      throw syntaxError(this.#source, selected.at, 'SELECT * needs FROM.');
    }
    if (this.#checkAggregates(selected)) {
      if (top !== undefined) throw unsupported('TOP with an aggregate', topAt);
      if (orderBy !== undefined) throw unsupported('ORDER BY with an aggregate', orderAt);
      if (slice !== undefined) throw unsupported('OFFSET LIMIT with an aggregate', sliceAt);
    }
    return {
      selection: this.#named(selected, alias),
      alias,
      where,
      whereText,
      orderBy,
      top,
      offset: slice?.offset ?? 0,
      limit: slice?.limit ?? top ?? Infinity,
    };
  }

  #refuse(keyword: string, feature: string): void {
    if (this.#reader.isAt(keyword)) throw unsupported(feature, this.#reader.token.at);
  }

  #selected(): Selected {
    const reader = this.#reader;
    const at = reader.token.at;
    if (reader.accept('*')) return { kind: 'star', at };
    if (reader.accept('VALUE')) {
      const valueAtPath = reader.token.at;
      return { kind: 'value', of: this.#expressions.read(), text: reader.textSince(valueAtPath) };
    }
    const items: SelectItem[] = [];
    do {
      const itemAt = reader.token.at;
      const of = this.#expressions.read();
      const text = reader.textSince(itemAt);
      const hasAlias = reader.accept('AS') || reader.token.kind === 'name';
      items.push({ of, alias: hasAlias ? reader.expectKind('name').text : undefined, at: itemAt, text });
    } while (reader.accept(','));
    return { kind: 'list', items };
  }

  /** Reads FROM and returns the alias. Any container name is accepted: the request's path selects the container. */
  #from(): string {
    const reader = this.#reader;
    if (reader.isAt('(')) throw unsupported('A subquery', reader.token.at);
    const container = reader.expectKind('name').text;
    if (reader.isAt('.') || reader.isAt('['))
      throw unsupported('FROM a part of the document', reader.token.at);
    this.#refuse('IN', 'FROM ... IN');
    const alias =
      reader.accept('AS') || reader.token.kind === 'name' ? reader.expectKind('name').text : container;
    this.#refuse('IN', 'FROM ... IN');
    this.#refuse('JOIN', 'JOIN');
    return alias;
  }

  #orderBy(alias: string | undefined): OrderBy {
    const reader = this.#reader;
    reader.expect('BY');
    const { at, kind, text } = reader.token;
    if (kind === 'name' && text.toUpperCase() === 'RANK' && text !== alias)
      throw unsupported('ORDER BY RANK', at);
    const of = this.#expressions.read();
    if (of.kind !== 'path' || of.steps.length === 0)
      throw unsupported('ORDER BY anything but a property', at);
    const orderedBy = reader.textSince(at);
    const descending = reader.accept('DESC');
    if (!descending) reader.accept('ASC');
    this.#refuse(',', 'ORDER BY with several keys');
    return { steps: of.steps, descending, text: orderedBy };
  }

  #slice(): { readonly offset: number; readonly limit: number } {
    const offset = this.#count('OFFSET');
    this.#reader.expect('LIMIT');
    return { offset, limit: this.#count('LIMIT') };
  }

  #count(clause: string): number {
    const token = this.#reader.advance();
    let count: SqlValue;
    if (token.kind === 'number') count = Number(token.text);
    else if (token.kind === 'parameter') count = this.#expressions.parameter(token);
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
    throw syntaxError(this.#source, token.at, `${clause} takes a whole number.`);
  }

  #checkRoots(alias: string | undefined): void {
    const unknown: Mention | undefined = this.#expressions.roots.find((root) => root.name !== alias);
    if (unknown === undefined) return;
    throw syntaxError(this.#source, unknown.at, `Identifier '${unknown.name}' could not be resolved.`);
  }

  /** Returns whether the query aggregates. It may then select only aggregates, and have them nowhere else. */
  #checkAggregates(selected: Selected): boolean {
    const [first] = this.#expressions.aggregates;
    if (first === undefined) return false;
    let items: readonly Expression[] = [];
    if (selected.kind === 'value') items = [selected.of];
    else if (selected.kind === 'list') items = selected.items.map((item) => item.of);
    if (items.flatMap(aggregatesIn).length !== this.#expressions.aggregates.length) {
      throw unsupported(`${first.name} inside an expression or a filter`, first.at);
    }
    if (!items.every(isMadeOfAggregates)) {
      throw unsupported(`${first.name} alongside a property (GROUP BY)`, first.at);
    }
    return true;
  }

  #named(selected: Selected, alias: string | undefined): Selection {
    if (selected.kind !== 'list') return selected;
    const names = new Set<string>();
    let unnamed = 0;
    const entries = selected.items.map((item): SelectedExpression => {
      const name = item.alias ?? ownName(item.of, alias) ?? `$${++unnamed}`;
      if (names.has(name)) {
        throw syntaxError(this.#source, item.at, `The property name '${name}' is specified more than once.`);
      }
      names.add(name);
      return { name, of: item.of, text: item.text };
    });
    return { kind: 'list', entries };
  }
}

/**
 * Returns the name of a selected expression: of a path its last property, of the whole document its alias. undefined
 * for anything else, which gets a number.
 */
function ownName(of: Expression, alias: string | undefined): string | undefined {
  if (of.kind !== 'path' && of.kind !== 'member') return undefined;
  if (of.steps.length === 0) return alias;
  const last = of.steps.at(-1);
  return typeof last === 'string' ? last : undefined;
}
