/**
 * Divides the text of a query into tokens, one at a time.
 *
 * Invariant: a token knows the position at which it starts. The text of a string token has no escapes, and that of a
 * keyword is in capitals.
 */
import { parseJson } from '../../json/json-value.ts';
import { syntaxError } from './syntax.ts';

export interface Token {
  readonly kind: 'name' | 'keyword' | 'string' | 'number' | 'parameter' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

/** The words that the service reserves everywhere. There, too, `c.value` is a syntax error and `c["value"]` is not. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'AND ARRAY AS ASC BETWEEN BY DESC DISTINCT ESCAPE EXISTS FALSE FROM GROUP IN JOIN LIKE LIMIT NOT NULL ' +
    'OFFSET OR ORDER SELECT TOP TRUE UDF UNDEFINED VALUE WHERE'
  ).split(' '),
);

const BLANK = /\s+|--[^\r\n]*/y;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?/iy;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const PARAMETER = /@[\p{L}\p{N}_]+/uy;
const SYMBOL = /\?\?|\|\||<>|<=|>=|!=|<<|>>>?|[-+*/%=<>()[\]{},.:?&|^~]/y;

export function* lex(source: string): Generator<Token, never> {
  let at = 0;
  for (;;) {
    at = skipBlank(source, at);
    if (at >= source.length) for (;;) yield { kind: 'end', text: '', at };
    const first = source[at];
    if (first === "'" || first === '"') {
      const end = closingQuote(source, at);
      yield { kind: 'string', text: unescape(source, at + 1, end), at };
      at = end + 1;
      continue;
    }
    const token = word(source, at);
    yield token;
    at += token.text.length;
  }
}

function word(source: string, at: number): Token {
  const number = match(NUMBER, source, at);
  if (number !== undefined) {
    // `12abc` is an error, not a number and a name. A number beyond double precision is refused: JSON has no infinity.
    if (match(NAME, source, at + number.length) !== undefined || !Number.isFinite(Number(number))) {
      throw syntaxError(source, at);
    }
    return { kind: 'number', text: number, at };
  }
  const name = match(NAME, source, at);
  if (name !== undefined) {
    // Only ASCII letters are capitalized: capitals of a ligature are two letters, which could make the name a keyword.
    const upper = name.replace(/[a-z]/g, (letter) => letter.toUpperCase());
    return KEYWORDS.has(upper) ? { kind: 'keyword', text: upper, at } : { kind: 'name', text: name, at };
  }
  const parameter = match(PARAMETER, source, at);
  if (parameter !== undefined) return { kind: 'parameter', text: parameter, at };
  const symbol = match(SYMBOL, source, at);
  if (symbol !== undefined) return { kind: 'symbol', text: symbol, at };
  throw syntaxError(source, at);
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function skipBlank(source: string, from: number): number {
  let at = from;
  for (;;) {
    const blank = match(BLANK, source, at);
    if (blank === undefined) return at;
    at += blank.length;
  }
}

function closingQuote(source: string, open: number): number {
  const quote = source.charCodeAt(open);
  for (let at = open + 1; at < source.length; at++) {
    const unit = source.charCodeAt(at);
    if (unit === quote) return at;
    if (unit === 0x5c) at++;
  }
  throw syntaxError(source, open, 'The string has no end.');
}

const ESCAPE = /\\(?:u([0-9a-f]{4})|([^]))/gi;

function unescape(source: string, start: number, end: number): string {
  const body = source.slice(start, end);
  if (!body.includes('\\')) return body;
  return body.replace(ESCAPE, (_all, hex: string | undefined, letter: string | undefined, offset: number) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    // The escapes are those of JSON, and \'.
    const meant = letter === "'" ? letter : parseJson(`"\\${letter}"`);
    if (typeof meant !== 'string') throw syntaxError(source, start + offset, 'Unknown escape in a string.');
    return meant;
  });
}
