/**
 * Finds out which properties a query compares with given values. Pure. Invariant: what is returned is true of every
 * document that the query can find. A condition that is not understood is ignored, which can only make a query look
 * wider than it is.
 *
 * Why not a full parser: Microsoft's grammar is not published as a package, and a key is named by the few forms below:
 * `c.a = 'x'`, `c.a = @x`, `c.a IN (...)`, joined by AND and OR.
 */
import type { Path } from '../../../keys/strategies/strategy.ts';
import { tokensOf, type QueryToken } from './tokens.ts';

/** The number of values that each property can have, by its path as JSON. A query finds the documents of any of them. */
export type Alternative = ReadonlyMap<string, number>;

export interface Conditions {
  readonly alternatives: readonly Alternative[];
  /** Properties that are compared with a range of values. */
  readonly ranges: readonly Path[];
  /** Properties in conditions that are not understood, such as the argument of a function. */
  readonly unsure: readonly Path[];
  /** Every property that the query names. */
  readonly named: readonly Path[];
  /** Whether the query may stop before it has asked every partition, because it wants only some results. */
  readonly isLimited: boolean;
}

/** With more alternatives than this, the conditions are no longer distinguished. */
const ALTERNATIVES_MAX = 64;
const ANYTHING: readonly Alternative[] = [new Map()];
/** Parentheses may be nested this deeply. */
const DEPTH_MAX = 50;
const END_OF_FROM = ['WHERE', 'JOIN', 'ORDER', 'GROUP', 'OFFSET'];
const END_OF_WHERE = ['ORDER', 'GROUP', 'OFFSET'];
const CONSTANTS = ['TRUE', 'FALSE', 'NULL'];

/** Reads a query; returns undefined if it is not one that is understood. */
export function conditionsOf(query: string): Conditions | undefined {
  const tokens = tokensOf(query);
  if (tokens === undefined || !isWord(tokens, 0, ['SELECT'])) return undefined;
  const from = findWord(tokens, 0, ['FROM']);
  if (from === tokens.length) return undefined;
  const root = readRoot(tokens, from + 1);
  if (root === undefined) return undefined;
  const where = findWord(tokens, root.end, ['WHERE']);
  const reader = new ConditionReader(root);
  const end = findWord(tokens, where, END_OF_WHERE);
  const condition = where === tokens.length ? [] : tokens.slice(where + 1, end);
  if (!isBalanced(condition)) return undefined;
  return {
    alternatives: condition.length === 0 ? ANYTHING : reader.read(condition, 0),
    ranges: reader.ranges,
    unsure: reader.unsure,
    named: pathsIn(tokens, root),
    isLimited: tokens.some((_token, at) => isWord(tokens, at, ['TOP', 'LIMIT'])),
  };
}

/** What the query calls a document: an alias, and where in the document it points to. */
interface Root {
  readonly alias: string;
  readonly base: Path;
  readonly end: number;
}

/** Reads what follows FROM: `c`, `orders o`, `root AS r`, or `c.address a`. */
function readRoot(tokens: readonly QueryToken[], start: number): Root | undefined {
  const name = tokens[start];
  if (name?.kind !== 'name') return undefined;
  const steps = readSteps(tokens, start + 1);
  if (steps === undefined) return undefined;
  let { end } = steps;
  if (isWord(tokens, end, ['IN'])) return undefined;
  if (isWord(tokens, end, ['AS'])) end += 1;
  const next = tokens[end];
  const isAlias = next?.kind === 'name' && !isWord(tokens, end, END_OF_FROM);
  if (!isAlias && end < tokens.length && !isWord(tokens, end, END_OF_FROM)) return undefined;
  // Without an alias, the last step of a path is its name.
  const alias = isAlias ? next.text : (steps.path.at(-1) ?? name.text);
  return { alias, base: steps.path, end: isAlias ? end + 1 : end };
}

/** Reads `.a` and `["a"]` as long as they follow; undefined for a step that has no fixed name. */
function readSteps(tokens: readonly QueryToken[], start: number): { path: Path; end: number } | undefined {
  const path: string[] = [];
  let at = start;
  for (;;) {
    const [mark, step, close] = [tokens[at], tokens[at + 1], tokens[at + 2]];
    if (isMark(mark, '.')) {
      if (step?.kind !== 'name') return undefined;
      path.push(step.text);
      at += 2;
    } else if (isMark(mark, '[')) {
      if (step?.kind !== 'text' || !isMark(close, ']')) return undefined;
      path.push(step.text);
      at += 3;
    } else return { path, end: at };
  }
}

/** Reads a path of a document; undefined if there is none at this token. */
function readPath(
  tokens: readonly QueryToken[],
  start: number,
  { alias, base }: Root,
): { path: Path; end: number } | undefined {
  const first = tokens[start];
  if (first?.kind !== 'name' || first.text !== alias || isMark(tokens[start - 1], '.')) return undefined;
  const steps = readSteps(tokens, start + 1);
  return steps === undefined || steps.path.length === 0
    ? undefined
    : { path: [...base, ...steps.path], end: steps.end };
}

function pathsIn(tokens: readonly QueryToken[], root: Root): Path[] {
  return tokens.flatMap((_token, at) => {
    const read = readPath(tokens, at, root);
    return read === undefined ? [] : [read.path];
  });
}

class ConditionReader {
  readonly ranges: Path[] = [];
  readonly unsure: Path[] = [];
  readonly #root: Root;

  constructor(root: Root) {
    this.#root = root;
  }

  read(tokens: readonly QueryToken[], depth: number): readonly Alternative[] {
    // `a ? b : c` and `a ?? b` bind in ways that are not worth knowing.
    if (depth > DEPTH_MAX || hasMark(tokens, ['?', '??'])) return this.#ignore(tokens);
    const choices = split(tokens, 'OR');
    if (choices.length > 1) {
      const all = choices.flatMap((choice) => this.read(choice, depth));
      return all.length > ALTERNATIVES_MAX ? this.#ignore(tokens) : all;
    }
    const conditions = split(tokens, 'AND');
    if (conditions.length > 1) {
      return conditions
        .map((condition) => this.read(condition, depth))
        .reduce((one, other) => both(one, other), ANYTHING);
    }
    if (isMark(tokens[0], '(') && closing(tokens, 0) === tokens.length - 1)
      return this.read(tokens.slice(1, -1), depth + 1);
    return this.#comparison(tokens) ?? this.#ignore(tokens);
  }

  /** Reads `path = value`, `value = path`, `path IN (values)` and comparisons with ranges. */
  #comparison(tokens: readonly QueryToken[]): readonly Alternative[] | undefined {
    const first = readPath(tokens, 0, this.#root);
    if (first === undefined) {
      const end = readConstant(tokens, 0);
      if (end === undefined || !isMark(tokens[end], '=')) return undefined;
      const path = readPath(tokens, end + 1, this.#root);
      return path?.end === tokens.length ? [fixed(path.path, 1)] : undefined;
    }
    const { path, end } = first;
    if (isMark(tokens[end], '='))
      return readConstant(tokens, end + 1) === tokens.length ? [fixed(path, 1)] : undefined;
    if (isWord(tokens, end, ['IN'])) {
      const count = readList(tokens, end + 1);
      return count === undefined ? undefined : [fixed(path, count)];
    }
    const isRange = ['<', '>', '<=', '>=', '!=', '<>'].some((mark) => isMark(tokens[end], mark));
    const isBetween = isWord(tokens, end, ['BETWEEN']);
    if (!isBetween && !(isRange && readConstant(tokens, end + 1) === tokens.length)) return undefined;
    this.ranges.push(path);
    return ANYTHING;
  }

  #ignore(tokens: readonly QueryToken[]): readonly Alternative[] {
    this.unsure.push(...pathsIn(tokens, this.#root));
    return ANYTHING;
  }
}

function fixed(path: Path, values: number): Alternative {
  return new Map([[JSON.stringify(path), values]]);
}

/** What holds if one of the first alternatives holds, and one of the others. */
function both(one: readonly Alternative[], other: readonly Alternative[]): readonly Alternative[] {
  // Without the others, the query only looks wider.
  if (one.length * other.length > ALTERNATIVES_MAX) return one.length > 1 || one[0]?.size !== 0 ? one : other;
  return one.flatMap((first) =>
    other.map((second) => {
      const joined = new Map(first);
      for (const [path, values] of second)
        joined.set(path, Math.min(values, joined.get(path) ?? Number.POSITIVE_INFINITY));
      return joined;
    }),
  );
}

/** Returns the end of the constant or parameter at a token; undefined if there is none. */
function readConstant(tokens: readonly QueryToken[], start: number): number | undefined {
  const token = tokens[start];
  if (isMark(token, '-')) return tokens[start + 1]?.kind === 'number' ? start + 2 : undefined;
  if (token?.kind === 'text' || token?.kind === 'number' || token?.kind === 'parameter') return start + 1;
  return isWord(tokens, start, CONSTANTS) && !isMark(tokens[start + 1], '.') ? start + 1 : undefined;
}

/** Returns how many constants a list has that ends with the last token; undefined if it is another thing. */
function readList(tokens: readonly QueryToken[], start: number): number | undefined {
  if (!isMark(tokens[start], '(')) return undefined;
  let at = start;
  let count = 0;
  do {
    const end = readConstant(tokens, at + 1);
    if (end === undefined) return undefined;
    count += 1;
    at = end;
  } while (isMark(tokens[at], ','));
  return isMark(tokens[at], ')') && at === tokens.length - 1 ? count : undefined;
}

function isMark(token: QueryToken | undefined, text: string): boolean {
  return token?.kind === 'mark' && token.text === text;
}

/** Whether a keyword is at this token. After a dot, the same word is a property. */
function isWord(tokens: readonly QueryToken[], at: number, words: readonly string[]): boolean {
  const token = tokens[at];
  return token?.kind === 'name' && words.includes(token.text.toUpperCase()) && !isMark(tokens[at - 1], '.');
}

const OPENING = ['(', '[', '{'];
const CLOSING = [')', ']', '}'];

function step(token: QueryToken | undefined): number {
  if (token?.kind !== 'mark') return 0;
  return OPENING.includes(token.text) ? 1 : CLOSING.includes(token.text) ? -1 : 0;
}

/** Returns the index of the first of these words outside of parentheses, or the number of tokens. */
function findWord(tokens: readonly QueryToken[], start: number, words: readonly string[]): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    depth += step(tokens[at]);
    if (depth === 0 && isWord(tokens, at, words)) return at;
  }
  return tokens.length;
}

function isBalanced(tokens: readonly QueryToken[]): boolean {
  let depth = 0;
  return tokens.every((token) => (depth += step(token)) >= 0) && depth === 0;
}

function hasMark(tokens: readonly QueryToken[], marks: readonly string[]): boolean {
  let depth = 0;
  return tokens.some((token) => {
    depth += step(token);
    return depth === 0 && token.kind === 'mark' && marks.includes(token.text);
  });
}

/** Splits at a word outside of parentheses. The AND of a BETWEEN does not split. */
function split(tokens: readonly QueryToken[], word: 'AND' | 'OR'): QueryToken[][] {
  const parts: QueryToken[][] = [[]];
  let depth = 0;
  let between = 0;
  for (const [at, token] of tokens.entries()) {
    depth += step(token);
    const isHere = depth === 0 && isWord(tokens, at, [word]);
    if (depth === 0 && isWord(tokens, at, ['BETWEEN'])) between += 1;
    if (isHere && (word === 'OR' || between === 0)) parts.push([]);
    else parts.at(-1)?.push(token);
    if (isHere && word === 'AND' && between > 0) between -= 1;
  }
  return parts;
}

/** Returns the index of the parenthesis that closes the one at `start`. */
function closing(tokens: readonly QueryToken[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    depth += step(tokens[at]);
    if (depth === 0) return at;
  }
  return -1;
}
