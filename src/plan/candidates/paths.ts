/**
 * Finds the paths of a sample that could be a key: how often a document has a scalar there, of which kind, how many values
 * there are and how even they are. Objects are followed, arrays are not, since no key lies in an array. Invariant: memory
 * is bounded, whatever the documents look like.
 */
import { SYSTEM_PROPERTIES } from '../../documents/system-properties.ts';
import { printPath } from '../../keys/path.ts';
import type { Path } from '../../keys/strategies/strategy.ts';

/** How many paths are followed; documents with names that are values themselves would have any number. */
const PATHS_MAX = 300;
const DEPTH_MAX = 4;
/** Longer texts, on average, are notes and descriptions. */
const NAME_CHARACTERS_MAX = 100;
/** A whole number under such a name is an identifier; under another name it may as well be an amount or a counter. */
const ID_NAME = /(?:id|key|code|no|nr|num|number)$/i;
/** A text like this is a time, so that a template can make months or days of it. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}|$)/;
/** Numbers in these intervals are seconds or milliseconds since the epoch, between 2001 and 2100. */
const EPOCH_SECONDS = { from: 1e9, to: 4.1e9 };

export interface PathFigures {
  readonly path: Path;
  readonly printed: string;
  /** The share of documents that have a scalar at the path. */
  readonly presence: number;
  readonly distinct: number;
  /** The share of the most frequent value. */
  readonly topShare: number;
  readonly isTime: boolean;
  readonly isText: boolean;
  /** Whether a value could name something: a text that is not long, or a whole number whose property is named like an id. */
  readonly isName: boolean;
}

interface Found {
  readonly path: Path;
  documents: number;
  texts: number;
  times: number;
  characters: number;
  /** Numbers with a fraction, which measure something and name nothing. */
  fractions: number;
  readonly values: Map<string, number>;
}

/** Returns the figures of every path, in the order in which documents have them. */
export function pathsOf(documents: readonly unknown[]): PathFigures[] {
  const found = new Map<string, Found>();
  for (const document of documents) follow(document, [], found);
  return [...found.values()].map(
    ({ path, documents: count, texts, times, characters, fractions, values }) => ({
      path,
      printed: printPath(path),
      presence: count / documents.length,
      distinct: values.size,
      topShare: Math.max(...values.values()) / count,
      isTime: times >= count * 0.95,
      isText: texts >= count * 0.95,
      isName:
        texts >= count * 0.95
          ? characters <= texts * NAME_CHARACTERS_MAX
          : fractions === 0 && ID_NAME.test(path.at(-1) ?? ''),
    }),
  );
}

function follow(value: unknown, path: Path, found: Map<string, Found>): void {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value) || path.length === DEPTH_MAX) return;
    for (const [name, inner] of Object.entries(value))
      if (path.length > 0 || !SYSTEM_PROPERTIES.includes(name)) follow(inner, [...path, name], found);
    return;
  }
  if (path.length === 0 || value === null) return;
  const name = JSON.stringify(path);
  let one = found.get(name);
  if (one === undefined) {
    if (found.size === PATHS_MAX) return;
    one = { path, documents: 0, texts: 0, times: 0, characters: 0, fractions: 0, values: new Map() };
    found.set(name, one);
  }
  one.documents += 1;
  if (typeof value === 'string') {
    one.texts += 1;
    one.characters += value.length;
  } else if (typeof value === 'number' && !Number.isInteger(value)) one.fractions += 1;
  if (isTime(value)) one.times += 1;
  const text = JSON.stringify(value);
  one.values.set(text, (one.values.get(text) ?? 0) + 1);
}

function isTime(value: unknown): boolean {
  if (typeof value === 'string') return TIME.test(value);
  return typeof value === 'number' && value > EPOCH_SECONDS.from && value < EPOCH_SECONDS.to;
}
