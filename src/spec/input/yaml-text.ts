/**
 * Parses text in YAML, which includes JSON. Invariants: reasons repeat nothing from the text, since it may contain a
 * secret; aliases and tags are refused, so that a small text cannot become a large value.
 *
 * Why the package yaml: it has no dependencies, reports lines and duplicate keys, and returns nodes before it builds
 * objects. js-yaml loses the lines, and the messages of JSON.parse repeat content.
 */
import { LineCounter, isMap, isScalar, isSeq, parseDocument, type ParsedNode } from 'yaml';

/** Why a text cannot be read, and the line where that was noticed; null: it is about the whole text. */
export interface YamlProblem {
  readonly line: number | null;
  readonly why: string;
}

/** The nodes of a text; null: it is empty or contains only comments. */
export interface YamlNodes {
  readonly contents: ParsedNode | null;
  readonly lineOf: (offset: number | undefined) => number;
}

/**
 * A level of nesting begins with one of these marks, or with a line that is indented deeper than the line above. The
 * parser recurses for each level, and a stack that overflows inside a regular expression ends the Node process (seen
 * with 32,000 dashes). So the caller limits the marks, and the size of the text, which bounds the indented lines.
 */
const MARKS = /[[{]|(?:^|\s)[-?](?=\s)/gm;

const REASONS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this name occurs a second time',
  MULTIPLE_DOCS: 'a second document begins there',
  TAB_AS_INDENT: 'it is indented with a tab',
  BAD_INDENT: 'its indentation does not fit',
  MISSING_CHAR: 'a quote, a bracket or a colon is missing',
  UNEXPECTED_TOKEN: 'unexpected text; values with { } [ ] : # need quotes',
  TAG_RESOLVE_FAILED: 'it has a tag, and tags are not accepted',
  NON_STRING_KEY: 'a name is not text',
};

/** Parses a text. `marksMax` limits the brackets, dashes and question marks, and with them how deep it is nested. */
export function parseYaml(text: string, marksMax: number): YamlNodes | YamlProblem {
  if ((text.match(MARKS)?.length ?? 0) > marksMax)
    return { line: null, why: `it has more than ${marksMax} brackets, braces and dashes` };
  const lines = new LineCounter();
  const lineOf = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    stringKeys: true,
    uniqueKeys: true,
    merge: false,
    // With true, the messages of the parser would quote the text.
    prettyErrors: false,
    // At a lower level, the parser would silently ignore a second YAML document in the text.
    logLevel: 'error',
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    const why = REASONS[error.code] ?? error.code.toLowerCase().replaceAll('_', ' ');
    return { line: lineOf(error.pos[0]), why };
  }
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  return { contents: isEmpty ? null : contents, lineOf };
}

/** Reads a text as plain objects, lists, texts, numbers, booleans and nulls. */
export function readPlainYaml(text: string, marksMax: number): { readonly value: unknown } | YamlProblem {
  const nodes = parseYaml(text, marksMax);
  if ('why' in nodes) return nodes;
  try {
    return { value: plainOf(nodes.contents) };
  } catch (error) {
    if (error instanceof AliasFound) return { line: nodes.lineOf(error.offset), why: 'it has an alias' };
    throw error;
  }
}

class AliasFound extends Error {
  readonly offset: number | undefined;

  constructor(offset: number | undefined) {
    super('an alias');
    this.offset = offset;
  }
}

function plainOf(node: ParsedNode | null): unknown {
  if (node === null) return null;
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map((item) => plainOf(item));
  if (isMap(node))
    return Object.fromEntries(
      node.items.map(({ key, value }) => [
        isScalar(key) && typeof key.value === 'string' ? key.value : '',
        plainOf(value),
      ]),
    );
  throw new AliasFound(node.range?.[0]);
}
