/**
 * Parses expressions. Operator precedence is by binding power (a Pratt parser).
 *
 * Invariant: the tree of an expression is shallow enough to be walked recursively, however long the query is.
 */
import { functionNamed } from '../evaluate/functions/functions.ts';
import type { Token } from './lexer.ts';
import { AGGREGATES, ARITHMETIC, BEYOND, BITWISE, COMPARISONS, CONSTANTS, POWER } from './operators.ts';
import {
  type Expression,
  type NamedExpression,
  type Statement,
  type SubqueryForm,
  unsupported,
} from './syntax.ts';
import type { TokenReader } from './token-reader.ts';
import type { PathStep, SqlValue } from '../evaluate/values.ts';

/** How deep brackets and signs may be nested. Each level takes a few stack frames. Real queries stay far below. */
const NESTING_MAX = 200;
/** How many levels a tree may have. A chain of `+` adds levels without brackets. */
const HEIGHT_MAX = 1000;
/** The binding power of IN, BETWEEN and LIKE. Operators that bind more strongly belong to the operands. */
const RANGE_POWER = 5;

export interface Mention {
  readonly name: string;
  readonly at: number;
}

/** A parsed subquery, and the names in it that only the query around it can know. */
export interface Subquery {
  readonly statement: Statement;
  readonly outer: readonly Mention[];
}

/** Reads the subquery that begins at the next token. */
export type ReadSubquery = () => Subquery;

export class ExpressionParser {
  /**
   * The first name of each path, such as `c` of `c.id`. These names are checked later, because FROM comes after SELECT.
   */
  readonly roots: Mention[] = [];
  readonly aggregates: Mention[] = [];
  readonly #reader: TokenReader;
  readonly #parameters: ReadonlyMap<string, SqlValue>;
  readonly #readSubquery: ReadSubquery;
  readonly #heights = new WeakMap<Expression, number>();
  #nesting = 0;

  constructor(reader: TokenReader, parameters: ReadonlyMap<string, SqlValue>, readSubquery: ReadSubquery) {
    this.#reader = reader;
    this.#parameters = parameters;
    this.#readSubquery = readSubquery;
  }

  /** Reads an expression, up to an operator that binds at most as strongly as `powerMin`. */
  read(powerMin = 0): Expression {
    this.#deeper();
    let left = this.#operand();
    for (;;) {
      const power = this.#powerInView();
      if (power <= powerMin) break;
      left = this.#infix(left, power);
    }
    this.#nesting--;
    return left;
  }

  parameter(token: Token): SqlValue {
    if (!this.#parameters.has(token.text)) {
      throw this.#reader.errorAt(token.at, `The parameter ${token.text} was not given.`);
    }
    return this.#parameters.get(token.text);
  }

  #powerInView(): number {
    const { kind, text, at } = this.#reader.token;
    if (kind !== 'symbol' && kind !== 'keyword') return -1;
    if (BITWISE.has(text)) throw unsupported(`The operator ${text}`, at);
    return POWER.get(text) ?? -1;
  }

  #infix(left: Expression, power: number): Expression {
    const passed = this.#reader.advance();
    const { text } = passed;
    const comparison = COMPARISONS.get(text);
    if (comparison !== undefined) {
      const right = this.read(power);
      return this.#made({ kind: 'compare', operator: comparison, left, right }, [left, right]);
    }
    const arithmetic = ARITHMETIC.get(text);
    if (arithmetic !== undefined) {
      const right = this.read(power);
      return this.#made({ kind: 'arithmetic', operator: arithmetic, left, right }, [left, right]);
    }
    switch (text) {
      case 'AND':
      case 'OR': {
        const terms = [left, this.read(power)];
        while (this.#reader.accept(text)) terms.push(this.read(power));
        return this.#made({ kind: text === 'AND' ? 'and' : 'or', terms }, terms);
      }
      case '||':
      case '??': {
        const right = this.read(power);
        return this.#made({ kind: text === '||' ? 'concat' : 'coalesce', left, right }, [left, right]);
      }
      case '?': {
        const whenTrue = this.read();
        this.#reader.expect(':');
        // The power is one less, so that `a ? b : c ? d : e` is right-associative.
        const otherwise = this.read(power - 1);
        const parts = [left, whenTrue, otherwise];
        return this.#made({ kind: 'conditional', condition: left, whenTrue, otherwise }, parts);
      }
      case 'NOT': {
        const of = this.#range(left, this.#reader.advance());
        return this.#made({ kind: 'not', of }, [of]);
      }
      default:
        return this.#range(left, passed);
    }
  }

  #range(of: Expression, word: Token): Expression {
    switch (word.kind === 'keyword' ? word.text : '') {
      case 'IN': {
        this.#reader.expect('(');
        const candidates = this.#list(')');
        return this.#made({ kind: 'in', of, candidates }, [of, ...candidates]);
      }
      case 'BETWEEN': {
        const low = this.read(RANGE_POWER);
        this.#reader.expect('AND');
        const high = this.read(RANGE_POWER);
        return this.#made({ kind: 'between', of, low, high }, [of, low, high]);
      }
      case 'LIKE': {
        const pattern = this.read(RANGE_POWER);
        const escape = this.#reader.accept('ESCAPE') ? this.#escape() : undefined;
        return this.#made({ kind: 'like', of, pattern, escape }, [of, pattern]);
      }
      default:
        throw this.#reader.errorAt(word.at, 'Expected IN, BETWEEN or LIKE.');
    }
  }

  #escape(): string {
    const token = this.#reader.expectKind('string');
    if (token.text.length === 1) return token.text;
    throw this.#reader.errorAt(token.at, 'ESCAPE takes one character.');
  }

  #operand(): Expression {
    const { kind, text } = this.#reader.token;
    if (kind === 'symbol' && (text === '-' || text === '+')) {
      const of = this.#signed();
      const sign = text === '-' ? -1 : 1;
      return of.kind === 'literal' && typeof of.value === 'number'
        ? this.#made({ kind: 'literal', value: sign * of.value })
        : this.#made({ kind: 'sign', sign, of }, [of]);
    }
    if (this.#reader.isAt('NOT')) {
      const of = this.#signed();
      return this.#made({ kind: 'not', of }, [of]);
    }
    const of = this.#primary();
    const steps = this.steps();
    if (steps.length === 0) return of;
    if (of.kind === 'path') return this.#made({ ...of, steps: [...of.steps, ...steps] });
    return this.#made({ kind: 'member', of, steps }, [of]);
  }

  #signed(): Expression {
    this.#reader.advance();
    this.#deeper();
    const of = this.#operand();
    this.#nesting--;
    return of;
  }

  #primary(): Expression {
    const reader = this.#reader;
    const { kind, text, at } = reader.token;
    switch (kind) {
      case 'string':
      case 'number':
        reader.advance();
        return this.#made({ kind: 'literal', value: kind === 'number' ? Number(text) : text });
      case 'parameter':
        return this.#made({ kind: 'literal', value: this.parameter(reader.advance()) });
      case 'name':
        reader.advance();
        if (reader.accept('(')) return this.#call(text, at);
        this.roots.push({ name: text, at });
        return this.#made({ kind: 'path', root: text, steps: [] });
      case 'keyword':
      case 'symbol': {
        const beyond = BEYOND.get(text);
        if (beyond !== undefined) throw unsupported(beyond, at);
        if (CONSTANTS.has(text)) {
          reader.advance();
          return this.#made({ kind: 'literal', value: CONSTANTS.get(text) });
        }
        return this.#bracketed();
      }
      default:
        throw reader.unexpected('Expected a value.');
    }
  }

  #bracketed(): Expression {
    if (this.#reader.accept('EXISTS')) return this.#afterWord('exists');
    if (this.#reader.accept('ARRAY')) return this.#afterWord('array');
    if (this.#reader.accept('(')) {
      const inner = this.#reader.isAt('SELECT') ? this.subquery('value') : this.read();
      this.#reader.expect(')');
      return inner;
    }
    if (this.#reader.accept('[')) {
      const items = this.#reader.accept(']') ? [] : this.#list(']');
      return this.#made({ kind: 'array', items }, items);
    }
    if (this.#reader.accept('{')) return this.#object();
    throw this.#reader.unexpected();
  }

  #afterWord(form: SubqueryForm): Expression {
    this.#reader.expect('(');
    const inner = this.subquery(form);
    this.#reader.expect(')');
    return inner;
  }

  /** Reads a subquery, without the brackets around it. */
  subquery(form: SubqueryForm): Expression {
    const { statement, outer } = this.#readSubquery();
    this.roots.push(...outer);
    return this.#made({ kind: 'subquery', form, statement });
  }

  #object(): Expression {
    const entries: NamedExpression[] = [];
    const names = new Set<string>();
    while (!this.#reader.accept('}')) {
      if (entries.length > 0) this.#reader.expect(',');
      const { text: name, at } = this.#reader.expectKind(
        this.#reader.token.kind === 'string' ? 'string' : 'name',
      );
      if (names.has(name)) throw this.#reader.errorAt(at, `The name '${name}' is given twice.`);
      names.add(name);
      this.#reader.expect(':');
      entries.push({ name, of: this.read() });
    }
    return this.#made(
      { kind: 'object', entries },
      entries.map((entry) => entry.of),
    );
  }

  #call(name: string, at: number): Expression {
    const aggregate = AGGREGATES.get(name.toUpperCase());
    const called = functionNamed(name);
    if (aggregate === undefined && called === undefined) throw unsupported(`The function ${name}`, at);
    const args = this.#reader.accept(')') ? [] : this.#list(')');
    const [first] = args;
    if (aggregate !== undefined && first !== undefined && args.length === 1) {
      this.aggregates.push({ name: aggregate, at });
      const text = this.#reader.textSince(at);
      return this.#made({ kind: 'aggregate', name: aggregate, of: first, text }, args);
    }
    if (called === undefined || args.length < called.argsMin || args.length > called.argsMax) {
      throw this.#reader.errorAt(at, `${name} does not take ${args.length} arguments.`);
    }
    return this.#made({ kind: 'call', called, args }, args);
  }

  /** Reads at least one expression, and the closing bracket. */
  #list(close: string): readonly Expression[] {
    const items = [this.read()];
    while (this.#reader.accept(',')) items.push(this.read());
    this.#reader.expect(close);
    return items;
  }

  /** Reads the steps of a path, such as `.a[0]`. */
  steps(): readonly PathStep[] {
    const steps: PathStep[] = [];
    for (;;) {
      if (this.#reader.accept('.')) steps.push(this.#reader.expectKind('name').text);
      else if (this.#reader.accept('[')) {
        steps.push(this.#index());
        this.#reader.expect(']');
      } else return steps;
    }
  }

  #index(): PathStep {
    const token = this.#reader.advance();
    let step: SqlValue = token.text;
    if (token.kind === 'number') step = Number(token.text);
    else if (token.kind === 'parameter') step = this.parameter(token);
    else if (token.kind !== 'string') throw unsupported('A computed property name', token.at);
    if (typeof step === 'string' || (typeof step === 'number' && Number.isSafeInteger(step) && step >= 0)) {
      return step;
    }
    throw this.#reader.errorAt(token.at, 'A property name is a string, an index a whole number.');
  }

  #made(expression: Expression, parts: readonly Expression[] = []): Expression {
    let height = 1;
    for (const part of parts) height = Math.max(height, 1 + (this.#heights.get(part) ?? 0));
    if (height > HEIGHT_MAX) throw this.#tooDeep();
    this.#heights.set(expression, height);
    return expression;
  }

  #deeper(): void {
    this.#nesting++;
    if (this.#nesting > NESTING_MAX) throw this.#tooDeep();
  }

  #tooDeep(): Error {
    return this.#reader.unexpected('The query is nested too deeply.');
  }
}
