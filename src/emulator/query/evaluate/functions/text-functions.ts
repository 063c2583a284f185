/** Functions that test, cut and make strings. Strings are measured in UTF-16 code units. */
import { concatenate, refuseLongText, toJson } from '../text.ts';
import { finite, isInteger, isSqlArray, isSqlObject, type SqlValue } from '../values.ts';
import { parseJson } from '../../../json/json-value.ts';
import { ANY_NUMBER, ofString, type FunctionTable, type ScalarFunction } from './scalar-function.ts';

/** Makes a function that tests two strings. Its optional third argument says whether to ignore case. */
function stringTest(holds: (text: string, part: string) => boolean): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 3,
    apply(text, part, ignoreCase = false) {
      if (typeof text !== 'string' || typeof part !== 'string' || typeof ignoreCase !== 'boolean')
        return undefined;
      return ignoreCase ? holds(text.toLowerCase(), part.toLowerCase()) : holds(text, part);
    },
  };
}

/** Makes a function of a string and a whole number. A negative number counts as 0. */
function stringCut(cut: (text: string, count: number) => SqlValue): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 2,
    apply: (text, count) =>
      typeof text === 'string' && isInteger(count) ? cut(text, Math.max(0, count)) : undefined,
  };
}

function indexOf(text: SqlValue, part: SqlValue, start: SqlValue = 0): SqlValue {
  if (typeof text !== 'string' || typeof part !== 'string' || typeof start !== 'number') return undefined;
  return start < 0 || start > text.length ? undefined : text.indexOf(part, start);
}

function substring(text: SqlValue, start: SqlValue, length: SqlValue): SqlValue {
  if (typeof text !== 'string' || !isInteger(start) || !isInteger(length)) return undefined;
  return start < 0 ? '' : text.slice(start, start + Math.max(0, length));
}

function replace(text: SqlValue, part: SqlValue, by: SqlValue): SqlValue {
  if (typeof text !== 'string' || typeof part !== 'string' || typeof by !== 'string') return undefined;
  if (part === '') return undefined;
  const pieces = text.split(part);
  refuseLongText(text.length + (pieces.length - 1) * (by.length - part.length));
  return pieces.join(by);
}

/** The longest result of REPLICATE. A longer one is undefined, as on the service. */
const REPLICATE_UNITS_MAX = 10_000;

function replicate(text: SqlValue, count: SqlValue): SqlValue {
  if (typeof text !== 'string' || typeof count !== 'number' || count < 0) return undefined;
  return text.length * count > REPLICATE_UNITS_MAX ? undefined : text.repeat(Math.trunc(count));
}

function toText(value: SqlValue): SqlValue {
  if (value === undefined || typeof value === 'string') return value;
  return toJson(value);
}

function toNumber(text: string): SqlValue {
  return /^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(text) ? finite(Number(text)) : undefined;
}

function toBoolean(text: string): SqlValue {
  const word = text.trim();
  return word === 'true' || (word === 'false' ? false : undefined);
}

/** Parses JSON text; undefined if it is not JSON. */
function parsed(text: string): SqlValue {
  return parseJson(text) as SqlValue;
}

function join(items: SqlValue, separator: SqlValue): SqlValue {
  if (!isSqlArray(items) || typeof separator !== 'string') return undefined;
  const parts = items.flatMap((item, index) => (index === 0 ? [item] : [separator, item]));
  return concatenate(...parts);
}

/** Divides a text at each separator. An empty separator divides nothing. */
function split(text: SqlValue, separator: SqlValue): SqlValue {
  if (typeof text !== 'string' || typeof separator !== 'string') return undefined;
  return separator === '' ? [text] : text.split(separator);
}

export const TEXT_FUNCTIONS: FunctionTable = [
  ['STARTSWITH', stringTest((text, part) => text.startsWith(part))],
  ['ENDSWITH', stringTest((text, part) => text.endsWith(part))],
  ['CONTAINS', stringTest((text, part) => text.includes(part))],
  ['STRINGEQUALS', stringTest((text, part) => text === part)],
  ['INDEX_OF', { argsMin: 2, argsMax: 3, apply: indexOf }],
  ['LENGTH', ofString((text) => text.length)],
  ['LOWER', ofString((text) => text.toLowerCase())],
  ['UPPER', ofString((text) => text.toUpperCase())],
  ['TRIM', ofString((text) => text.trim())],
  ['LTRIM', ofString((text) => text.trimStart())],
  ['RTRIM', ofString((text) => text.trimEnd())],
  ['REVERSE', ofString((text) => Array.from(text).toReversed().join(''))],
  ['LEFT', stringCut((text, count) => text.slice(0, count))],
  ['RIGHT', stringCut((text, count) => text.slice(Math.max(0, text.length - count)))],
  ['REPLICATE', { argsMin: 2, argsMax: 2, apply: replicate }],
  ['SUBSTRING', { argsMin: 3, argsMax: 3, apply: substring }],
  ['REPLACE', { argsMin: 3, argsMax: 3, apply: replace }],
  ['CONCAT', { argsMin: 2, argsMax: ANY_NUMBER, apply: concatenate }],
  ['TOSTRING', { argsMin: 1, argsMax: 1, apply: toText }],
  ['STRINGTONUMBER', ofString(toNumber)],
  ['STRINGTOBOOLEAN', ofString(toBoolean)],
  ['STRINGTONULL', ofString((text) => (text.trim() === 'null' ? null : undefined))],
  ['STRINGTOARRAY', ofString((text) => ofKind(isSqlArray, parsed(text)))],
  ['STRINGTOOBJECT', ofString((text) => ofKind(isSqlObject, parsed(text)))],
  ['STRINGJOIN', { argsMin: 2, argsMax: 2, apply: join }],
  ['STRINGSPLIT', { argsMin: 2, argsMax: 2, apply: split }],
];

function ofKind(is: (value: SqlValue) => boolean, value: SqlValue): SqlValue {
  return is(value) ? value : undefined;
}
