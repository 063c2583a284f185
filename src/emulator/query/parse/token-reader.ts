/** Reads tokens with one token of lookahead, for the parsers of expressions and statements. */
import { lex, type Token } from './lexer.ts';
import { syntaxError } from './syntax.ts';

export class TokenReader {
  /** The next token; `advance` consumes it. */
  token: Token;
  readonly #source: string;
  readonly #tokens: Generator<Token, never>;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = lex(source);
    this.token = this.#tokens.next().value;
  }

  advance(): Token {
    const passed = this.token;
    this.token = this.#tokens.next().value;
    return passed;
  }

  /** Returns whether the next token is this symbol or keyword. A string with the same text is neither. */
  isAt(text: string): boolean {
    return this.token.text === text && (this.token.kind === 'symbol' || this.token.kind === 'keyword');
  }

  accept(text: string): boolean {
    if (!this.isAt(text)) return false;
    this.advance();
    return true;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw this.unexpected(`Expected ${text}.`);
  }

  expectKind(kind: Token['kind']): Token {
    if (this.token.kind === kind) return this.advance();
    if (kind === 'name' && this.token.kind === 'keyword') {
      throw this.unexpected(`${this.token.text} is a reserved word; as a property write it ["like this"].`);
    }
    throw this.unexpected(`Expected a ${kind}.`);
  }

  /**
   * Returns the text of the query from `at` to the next token. This text may end in a comment, so a new line must
   * follow it.
   */
  textSince(at: number): string {
    return this.#source.slice(at, this.token.at).trim();
  }

  unexpected(hint = ''): Error {
    return this.errorAt(this.token.at, hint);
  }

  errorAt(at: number, hint = ''): Error {
    return syntaxError(this.#source, at, hint);
  }
}
