/**
 * Parses statements: SELECT, FROM with JOIN, WHERE, GROUP BY, ORDER BY, TOP and OFFSET/LIMIT, and the subqueries in them.
 *
 * Invariant: a feature that only the service supports is refused by name. A client therefore never takes an empty
 * answer for a correct one.
 */
import { aggregatesIn, isMadeOfAggregates } from '../evaluate/aggregate.ts';
import { ExpressionParser, type Subquery } from './expression.ts';
import {
  type Expression,
  type GroupKey,
  type OrderBy,
  type PathExpression,
  type SelectedExpression,
  type Selection,
  type Source,
  type Statement,
  syntaxError,
  unsupported,
} from './syntax.ts';
import { TokenReader } from './token-reader.ts';
import { DOCUMENT, type SqlValue } from '../evaluate/values.ts';

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

/** How deeply subqueries may be nested. */
const SUBQUERIES_MAX = 8;
/** How many keys ORDER BY may have, as many as a composite index of the service. */
const ORDER_KEYS_MAX = 8;

export function parse(source: string, parameters: ReadonlyMap<string, SqlValue>): Statement {
  const reader = new TokenReader(source);
  const parser = new StatementParser({ source, reader, parameters, depth: 0 });
  const { statement, outer } = parser.read();
  if (reader.token.kind !== 'end') throw reader.unexpected();
  const [unknown] = outer;
  if (unknown === undefined) return statement;
  throw syntaxError(source, unknown.at, `Identifier '${unknown.name}' could not be resolved.`);
}

interface Around {
  readonly source: string;
  readonly reader: TokenReader;
  readonly parameters: ReadonlyMap<string, SqlValue>;
  /** 0 for the query itself, 1 for a subquery in it, and so on. */
  readonly depth: number;
}

class StatementParser {
  readonly #source: string;
  readonly #reader: TokenReader;
  readonly #expressions: ExpressionParser;
  readonly #depth: number;
  readonly #sources: Source[] = [];

  constructor({ source, reader, parameters, depth }: Around) {
    this.#source = source;
    this.#reader = reader;
    this.#depth = depth;
    this.#expressions = new ExpressionParser(reader, parameters, () => {
      if (depth >= SUBQUERIES_MAX) throw reader.unexpected('The query is nested too deeply.');
      return new StatementParser({ source, reader, parameters, depth: depth + 1 }).read();
    });
  }

  read(): Subquery {
    const reader = this.#reader;
    reader.expect('SELECT');
    const distinct = reader.accept('DISTINCT');
    const topAt = reader.token.at;
    const top = reader.accept('TOP') ? this.#count('TOP') : undefined;
    const selected = this.#selected();
    const fromAt = reader.token.at;
    if (reader.accept('FROM')) this.#from();
    const fromText = reader.textSince(fromAt);
    const hasWhere = reader.accept('WHERE');
    const whereAt = reader.token.at;
    const where = hasWhere ? this.#expressions.read() : undefined;
    const whereText = hasWhere ? reader.textSince(whereAt) : undefined;
    const groupAt = reader.token.at;
    const groupBy = reader.accept('GROUP') ? this.#groupBy() : [];
    const orderAt = reader.token.at;
    const orderBy = reader.accept('ORDER') ? this.#orderBy() : [];
    const sliceAt = reader.token.at;
    const slice = reader.accept('OFFSET') ? this.#slice() : undefined;

    if (slice !== undefined && top !== undefined)
      throw syntaxError(this.#source, sliceAt, 'TOP is there already.');
    if (selected.kind === 'star' && this.#sources.length !== 1 && this.#isAtEnd()) {
      const needed = this.#sources.length === 0 ? 'FROM' : 'a FROM without JOIN';
      throw syntaxError(this.#source, selected.at, `SELECT * needs ${needed}.`);
    }
    const gathers = this.#checkAggregates(selected, groupBy);
    const company = groupBy.length > 0 ? 'GROUP BY' : 'an aggregate';
    if (gathers) {
      if (orderBy.length > 0) throw unsupported(`ORDER BY with ${company}`, orderAt);
      if (distinct) throw unsupported(`DISTINCT with ${company}`, groupAt);
      if (groupBy.length === 0 && top !== undefined) throw unsupported('TOP with an aggregate', topAt);
      if (groupBy.length === 0 && slice !== undefined)
        throw unsupported('OFFSET LIMIT with an aggregate', sliceAt);
    }
    if (this.#depth > 0 && (orderBy.length > 0 || groupBy.length > 0)) {
      throw unsupported('ORDER BY or GROUP BY in a subquery', groupBy.length > 0 ? groupAt : orderAt);
    }
    const [first] = this.#sources;
    const statement: Statement = {
      selection: this.#named(selected),
      distinct,
      sources: this.#sources,
      fromText,
      alias: first !== undefined && isWholeDocument(first) ? first.alias : undefined,
      where,
      whereText,
      groupBy,
      orderBy,
      top,
      offset: slice?.offset ?? 0,
      limit: slice?.limit ?? top ?? Infinity,
    };
    const own = new Set(this.#sources.map(({ alias }) => alias));
    return { statement, outer: this.#expressions.roots.filter(({ name }) => !own.has(name)) };
  }

  #isAtEnd(): boolean {
    return this.#reader.token.kind === 'end' || this.#reader.isAt(')');
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

  #from(): void {
    do this.#readSource();
    while (this.#reader.accept('JOIN'));
  }

  /** Reads `c`, `c AS x`, `c.part AS x`, `x IN c.list`, and in a JOIN also a subquery. */
  #readSource(): void {
    const reader = this.#reader;
    if (reader.isAt('(')) return this.#add({ of: this.#subquerySource(), each: false, alias: this.#alias() });
    const { text: name, at } = reader.expectKind('name');
    if (reader.accept('IN')) {
      if (reader.isAt('(')) return this.#add({ alias: name, of: this.#subquerySource(), each: true });
      const { text: container, at: containerAt } = reader.expectKind('name');
      return this.#add({ alias: name, of: this.#part(container, containerAt), each: true });
    }
    const of = this.#part(name, at);
    const last = of.steps.at(-1);
    const isNamed = reader.accept('AS') || reader.token.kind === 'name';
    const alias = isNamed ? reader.expectKind('name').text : (last ?? name);
    if (typeof alias !== 'string') throw reader.unexpected('A source that ends with an index needs AS.');
    // `FROM c AS x IN ...` would give the items of the array two names.
    if (reader.isAt('IN')) throw reader.unexpected();
    return this.#add({ alias, of, each: false });
  }

  #add(source: Source): void {
    if (this.#sources.some(({ alias }) => alias === source.alias)) {
      throw this.#reader.unexpected(`The name '${source.alias}' is given twice.`);
    }
    this.#sources.push(source);
  }

  #subquerySource(): Expression {
    if (this.#sources.length === 0 && this.#depth === 0)
      throw unsupported('FROM a subquery', this.#reader.token.at);
    this.#reader.expect('(');
    const of = this.#expressions.subquery('array');
    this.#reader.expect(')');
    return of;
  }

  /** Reads the name of a subquery. A subquery without a name gets one that no path can have. */
  #alias(): string {
    const isNamed = this.#reader.accept('AS') || this.#reader.token.kind === 'name';
    return isNamed ? this.#reader.expectKind('name').text : `#${this.#sources.length}`;
  }

  /**
   * Reads the steps behind the name of a source. The first source of a query is the container, under any name: the path
   * of the request selects it. Every other source is a part of an earlier source, or of a source of the query around
   * it.
   */
  #part(name: string, at: number): PathExpression {
    const steps = this.#expressions.steps();
    if (this.#sources.some(({ alias }) => alias === name)) return { kind: 'path', root: name, steps };
    if (this.#depth > 0) {
      this.#expressions.roots.push({ name, at });
      return { kind: 'path', root: name, steps };
    }
    if (this.#sources.length === 0) return { kind: 'path', root: DOCUMENT, steps };
    throw syntaxError(this.#source, at, `Identifier '${name}' could not be resolved.`);
  }

  #groupBy(): readonly GroupKey[] {
    const reader = this.#reader;
    reader.expect('BY');
    const keys: GroupKey[] = [];
    do {
      const { at } = reader.token;
      const before = this.#expressions.aggregates.length;
      const of = this.#expressions.read();
      if (this.#expressions.aggregates.length > before) throw unsupported('An aggregate in GROUP BY', at);
      keys.push({ of, text: reader.textSince(at) });
    } while (reader.accept(','));
    return keys;
  }

  #orderBy(): readonly OrderBy[] {
    const reader = this.#reader;
    reader.expect('BY');
    const keys: OrderBy[] = [];
    do {
      const { at, kind, text } = reader.token;
      if (
        kind === 'name' &&
        text.toUpperCase() === 'RANK' &&
        !this.#sources.some(({ alias }) => alias === text)
      )
        throw unsupported('ORDER BY RANK', at);
      const of = this.#expressions.read();
      const isValue = of.kind === 'path' && (of.steps.length > 0 || this.#isItem(of.root));
      if (of.kind !== 'path' || !isValue) throw unsupported('ORDER BY anything but a property', at);
      const orderedBy = reader.textSince(at);
      const descending = reader.accept('DESC');
      if (!descending) reader.accept('ASC');
      if (keys.length === ORDER_KEYS_MAX)
        throw unsupported(`ORDER BY with more than ${ORDER_KEYS_MAX} keys`, at);
      keys.push({ of, descending, text: orderedBy });
    } while (reader.accept(','));
    return keys;
  }

  #isItem(name: string): boolean {
    return this.#sources.some(({ alias, of, each }) => alias === name && (each || of.kind === 'subquery'));
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

  /**
   * Returns whether the query aggregates or groups. Throws if such a query selects anything but aggregates and the
   * expressions of GROUP BY, or has aggregates anywhere else.
   */
  #checkAggregates(selected: Selected, groupBy: readonly GroupKey[]): boolean {
    const [first] = this.#expressions.aggregates;
    if (first === undefined && groupBy.length === 0) return false;
    if (selected.kind === 'star' && groupBy.length > 0)
      throw unsupported('SELECT * with GROUP BY', selected.at);
    const items =
      selected.kind === 'star'
        ? []
        : selected.kind === 'value'
          ? [selected.of]
          : selected.items.map((item) => item.of);
    if (first !== undefined && items.flatMap(aggregatesIn).length !== this.#expressions.aggregates.length) {
      throw unsupported(`${first.name} inside an expression or a filter`, first.at);
    }
    const keys = groupBy.map(({ of }) => of);
    if (items.every((item) => isMadeOfAggregates(item, keys))) return true;
    const at = first?.at ?? 0;
    if (groupBy.length === 0) throw unsupported(`${first?.name} alongside a property (GROUP BY)`, at);
    throw unsupported('Selecting anything but aggregates and the expressions of GROUP BY', at);
  }

  #named(selected: Selected): Selection {
    if (selected.kind === 'star') return { kind: 'star', root: this.#sources[0]?.alias ?? DOCUMENT };
    if (selected.kind !== 'list') return selected;
    const names = new Set<string>();
    let unnamed = 0;
    const entries = selected.items.map((item): SelectedExpression => {
      const name = item.alias ?? ownName(item.of) ?? `$${++unnamed}`;
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
 * Returns the name of a selected expression. A path has the name of its last property, or that of its source if it has
 * no steps. Returns undefined for anything else, which is named by a number.
 */
function ownName(of: Expression): string | undefined {
  if (of.kind !== 'path' && of.kind !== 'member') return undefined;
  if (of.steps.length === 0) return of.kind === 'path' ? of.root : undefined;
  const last = of.steps.at(-1);
  return typeof last === 'string' ? last : undefined;
}

function isWholeDocument({ of, each }: Source): boolean {
  return of.kind === 'path' && of.root === DOCUMENT && of.steps.length === 0 && !each;
}
