/**
 * The words `source` and `target` in what a turn that leads back says. The engine calls the container that it reads the
 * source. In such a turn this is the target of the migration, so the two words are swapped on their way to the operator.
 * Invariant: names of containers, paths, and what documents contain stay as they are.
 */

/** Members of results that hold names and values of documents, or names that the operator has chosen. */
const NAMES = new Set([
  'id',
  'ids',
  'deletedIds',
  'sourceKey',
  'targetKey',
  'targetKeys',
  'ledger',
  'migration',
  'name',
  'document',
]);

const OPPOSITE: Readonly<Record<string, string>> = {
  source: 'target',
  target: 'source',
  Source: 'Target',
  Target: 'Source',
  SOURCE: 'TARGET',
  TARGET: 'SOURCE',
};
/** The commands that do the same in a turn of the other direction. A table may break a line after `cosmig`. */
const COMMANDS: Readonly<Record<string, string>> = {
  copy: 'reverse',
  tail: 'reverse',
  cutover: 'rollback',
  verify: 'verify --reverse',
  reverse: 'tail',
  rollback: 'cutover',
  'verify --reverse': 'verify',
};

/**
 * The name of a command, the cutover of the turn, a text in quotes, a path or the name of a container (these have a slash),
 * or one of the two words.
 */
const TOKENS =
  /(?<=cosmig\s+)(?:verify --reverse|copy|tail|cutover|verify|reverse|rollback)(?![a-z-])|cutover(?= (?:was interrupted|did not finish))|"(?:[^"\\]|\\.)*"|\S*\/\S*|(?<![A-Za-z])(?:source|target)(?=s?(?![A-Za-z]))/gi;

/** Returns a text for people in which the two words are swapped. */
export function swapWords(text: string): string {
  const swapped = text.replaceAll(TOKENS, (token) => COMMANDS[token] ?? OPPOSITE[token] ?? token);
  // One command does what the copy and the tail do.
  return swapped.replaceAll(/cosmig reverse(?: until it ends)?(?: or|, then) (?=cosmig reverse)/g, '');
}

/** Returns a value of a result in which the two words are swapped, in the names of its members as well. */
export function swapValues(value: unknown): unknown {
  if (typeof value === 'string') return swapWords(value);
  if (Array.isArray(value)) return value.map(swapValues);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [swapName(name), NAMES.has(name) ? one : swapValues(one)]),
  );
}

function swapName(name: string): string {
  return name.replaceAll(/source|target|Source|Target/g, (word) => OPPOSITE[word] ?? word);
}
