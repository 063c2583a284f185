/**
 * Parses templates, as in `--derive '/pk={tenantId}-{createdAt|month}'`. A template is literal text with placeholders
 * in braces; a literal brace is written twice. A placeholder names a value, as `a.b` or as the path `/a/b`, followed
 * by filters, each after a bar. Steps and arguments with special characters are quoted.
 */
import type { UsageError } from '../../lib/errors.ts';
import { concat } from './template.ts';
import { isUnfit, type FilterKind } from '../filters/filter.ts';
import { hash } from '../filters/hash.ts';
import { readPath, readQuoted, readStep, wrongAt } from '../path.ts';
import type { NamedFilter, Path, Placeholder, Strategy } from './strategy.ts';
import { byDefault, lower, pad, slice, trim, upper } from '../filters/text-filters.ts';
import { date, day, month, quarter, week, year } from '../filters/times.ts';

/** All filters, in the order in which the help lists them. */
export const FILTERS: readonly FilterKind[] = [
  lower,
  upper,
  trim,
  slice,
  byDefault,
  date,
  day,
  week,
  month,
  quarter,
  year,
  hash,
  pad,
];

/** A property that is written into each document. */
export interface Derivation {
  readonly path: Path;
  readonly strategy: Strategy;
}

const EXAMPLE = "for example '/pk={tenantId}-{createdAt|month}'";
const BRACES = 'write {{ and }} for braces of the text itself';
const FILTER_HINT = `the filters are ${FILTERS.map(({ example }) => example).join(', ')}`;

/** Reads a derivation from its text: '/path=template'. */
export function parseDerivation(text: string): Derivation {
  if (!text.startsWith('/'))
    throw wrongAt(text === '' ? 'an empty derivation' : text, 0, 'it begins with the path to write', EXAMPLE);
  const { path, end } = readPath(text, 0, '=');
  if (text[end] !== '=') throw wrongAt(text, end, 'an equals sign and a template follow the path', EXAMPLE);
  const start = end + 1;
  const template = readTemplate(text, start);
  if (template.length === 0) throw wrongAt(text, start, 'the template is empty', EXAMPLE);
  return { path, strategy: concat(template, text.slice(start)) };
}

function readTemplate(text: string, start: number): Array<string | Placeholder> {
  const parts: Array<string | Placeholder> = [];
  let literal = '';
  let at = start;
  while (at < text.length) {
    const character = text.charAt(at);
    if ((character === '{' || character === '}') && text[at + 1] === character) {
      literal += character;
      at += 2;
    } else if (character === '{') {
      if (literal !== '') parts.push(literal);
      literal = '';
      const read = readPlaceholder(text, at);
      parts.push(read.placeholder);
      at = read.end;
    } else if (character === '}') {
      throw wrongAt(text, at, 'this brace closes nothing', BRACES);
    } else {
      literal += character;
      at += 1;
    }
  }
  if (literal !== '') parts.push(literal);
  return parts;
}

/** Reads the placeholder whose opening brace is at `start`. */
function readPlaceholder(text: string, start: number): { placeholder: Placeholder; end: number } {
  let at = skipSpaces(text, start + 1);
  if (text[at] === '}' || text[at] === undefined) {
    throw wrongAt(
      text,
      start,
      at < text.length ? 'the braces are empty' : 'this brace is never closed',
      BRACES,
    );
  }
  const read = text[at] === '/' ? readPath(text, at, STOPS) : readDotted(text, at);
  const filters: NamedFilter[] = [];
  at = skipSpaces(text, read.end);
  while (text[at] === '|') {
    const filter = readFilter(text, skipSpaces(text, at + 1));
    filters.push(filter.named);
    at = skipSpaces(text, filter.end);
  }
  if (text[at] === undefined) throw wrongAt(text, start, 'this brace is never closed', BRACES);
  if (text[at] !== '}') throw wrongAt(text, at, 'a bar or a closing brace is expected here', BRACES);
  return { placeholder: { path: read.path, filters }, end: at + 1 };
}

/** Characters that end a name in a placeholder. A name that contains such a character is quoted. */
const STOPS = ' |{}:';

function readDotted(text: string, start: number): { path: Path; end: number } {
  const path: string[] = [];
  let at = start - 1;
  do {
    const step = readStep(text, at + 1, `./${STOPS}`);
    path.push(step.name);
    at = step.end;
  } while (text[at] === '.');
  return { path, end: at };
}

function readFilter(text: string, start: number): { named: NamedFilter; end: number } {
  let at = start;
  while (/\w/.test(text.charAt(at))) at += 1;
  const name = text.slice(start, at);
  const kind = FILTERS.find((filter) => filter.name === name);
  if (kind === undefined) {
    throw wrongAt(
      text,
      start,
      name === '' ? 'a filter is missing here' : `there is no filter ${name}`,
      FILTER_HINT,
    );
  }
  let argument: string | undefined;
  if (text[at] === ':') ({ argument, end: at } = readArgument(text, at + 1));
  const filter = kind.make(argument);
  if (isUnfit(filter)) throw wrongFilter(text, start, filter.why, kind);
  return { named: { text: text.slice(start, at), filter }, end: at };
}

function wrongFilter(text: string, at: number, why: string, { example }: FilterKind): UsageError {
  return wrongAt(text, at, why, `for example ${example}`);
}

/**
 * Reads an argument: everything up to a bar or a brace, or a text in double quotes. Spaces before the bar or brace
 * are ignored, as after a name: at the end of a key they would be invisible. An empty argument counts as missing.
 */
function readArgument(text: string, start: number): { argument: string | undefined; end: number } {
  if (text[start] === '"') {
    const quoted = readQuoted(text, start);
    if (quoted === undefined) throw wrongAt(text, start, 'this quote is never closed', BRACES);
    return { argument: quoted.text, end: quoted.end };
  }
  let end = start;
  while (end < text.length && !'|{}'.includes(text.charAt(end))) end += 1;
  const argument = text.slice(start, end).replace(/ +$/, '');
  return { argument: argument === '' ? undefined : argument, end: start + argument.length };
}

function skipSpaces(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ') at += 1;
  return at;
}
