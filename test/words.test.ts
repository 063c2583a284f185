/**
 * Holds the words that people read to docs/internals/words.md: comments and names of the sources, test names, messages
 * and documents use standard words. A word is listed here when it once hid who acts, or meant several things.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** These spell the words out; commit-rule.ts lists past forms of verbs, among them "told". */
const ABOUT_WORDS = ['test/words.test.ts', 'docs/internals/words.md', 'scripts/commit-rule.ts'];

/** What is not written, and what is written instead. */
const WORDS: ReadonlyArray<readonly [pattern: RegExp, instead: string]> = [
  [/\b(?:tell|tells|telling|told)\b/i, 'print, report, return, distinguish, detect'],
  [/\b(?:nobody|somebody|whoever)\b/i, 'the actor: the application, another process, you, the caller'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix, repair'],
  [/\b(?:bring|brings|brought|bringing)\b(?: \w+){0,2} (?:right|over)\b/i, 'repair; replicate, apply'],
  [/\banew\b/i, 'again, from scratch'],
  [/\bonce more\b/i, 'again'],
  [/\bbeside\b/i, 'alongside, next to, while X runs'],
  [/\b(?:let|lets|letting)\b(?: \w+){0,2} on\b(?! (?:the|a|this|one))/i, 'let writers resume'],
  [/\bcall(?:s|ed|ing)? off\b/i, 'cancel'],
  [/\breckon(?:s|ed|ing)?\b/i, 'compute, classify'],
  [/\b(?:go|goes|gone|going|went) on with\b/i, 'continue, resume'],
  [/\bin good order\b/i, 'cleanly'],
  [/\bunder way\b/i, 'in flight, in progress'],
  [/\bany more\b/i, 'no longer'],
  [/\bhow-?many/i, 'a number with a name'],
  [/\bWhat always holds\b/, 'Invariant'],
  // "There is no ledger at PATH" is correct English; "a page is no page" is a riddle.
  [
    /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|older\b|newer\b|less\b|larger\b|later\b)[a-z]/i,
    'is not a',
  ],
];

/** The same words as parts of names. */
const NAMES =
  /\b(?:tell|told|mend|anew|reckon|nobody|whoever)(?=[A-Z])|(?<=[a-z])(?:Told|Anew|UnderWay)\b|\bTOLD_|_TOLD\b/;

/** What no name of the sources has as a part, and the word of words.md that says it. */
const PARTS: ReadonlyArray<readonly [part: string, instead: string]> = [
  ['place', 'effective key, position, bucket, index, address'],
  ['places', 'positions, buckets, offsets'],
  ['room', 'page budget, bytes, capacity'],
  ['lane', 'range queue, requests'],
  ['held', 'lock, turn; `isHeld` of a lock'],
  ['who', 'identity'],
];
/** Names that the rule above does not mean. */
const FINE = new Set(['isHeld']);

/** Where `settle` may be a name: it resolves what an earlier run left without a commit. */
const SETTLING = /^src\/(?:engine\/(?:unit\/|run\.ts)|state\/(?:units|unit-records)\.ts)/;

/** Comments say "in place of" and "take place"; any other place is a position, a bucket or an effective key. */
const PLACE = /(?<!\b(?:in|in one|only|takes?|took) )\bplaces?\b/i;
const LANE = /\blanes?\b/i;

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)) && !ABOUT_WORDS.includes(file));

/** What is made of a file, made once: each of a hundred tests reads every file. */
function once<T>(make: (file: string) => T): (file: string) => T {
  const made = new Map<string, T>();
  return (file) => {
    const known = made.get(file) ?? make(file);
    made.set(file, known);
    return known;
  };
}

const linesOf = once((file): readonly string[] => readFileSync(join(ROOT, file), 'utf8').split('\n'));

test.each(WORDS)('%s is not written: %s', (pattern) => {
  const texts = tracked.filter((file) => /\.(?:ts|js|sql|md|ya?ml)$/.test(file));
  expect(texts.length).toBeGreaterThan(500);
  const found = texts.flatMap((file) =>
    linesOf(file).flatMap((line, index) =>
      pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    ),
  );
  expect(found).toEqual([]);
});

test('names of the sources use none of these words', () => {
  const found = tracked
    .filter((file) => /^(?:src|wasm|scripts)\/.*\.ts$/.test(file))
    .flatMap((file) =>
      linesOf(file).flatMap((line, index) =>
        NAMES.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
      ),
    );
  expect(found).toEqual([]);
});

const TOKENS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g;

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

/** The code of a file without comments and texts, and its comments alone; every line keeps its number. */
const splitCode = once((file): { readonly code: string; readonly comments: string } => {
  const source = readFileSync(join(ROOT, file), 'utf8');
  // The code inside of a template is code; the text around it is not.
  const inTemplate = (token: string): string =>
    token.replaceAll(/\$\{[^}]*\}|[^\n]/g, (part) => (part.length > 1 ? part : ' '));
  const code = source.replaceAll(TOKENS, (token) => (token.startsWith('`') ? inTemplate : blank)(token));
  let [comments, end] = ['', 0];
  for (const { 0: token, index } of source.matchAll(TOKENS)) {
    comments += blank(source.slice(end, index)) + (token.startsWith('/') ? token : blank(token));
    end = index + token.length;
  }
  return { code, comments };
});

function partsOf(name: string): string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((part) => part.toLowerCase());
}

function foundIn(text: string, file: string, isWrong: (line: string) => boolean): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (isWrong(line) ? [`${file}:${index + 1}: ${line.trim()}`] : []));
}

const sources = tracked.filter((file) => /^(?:src|wasm)\/.*\.ts$/.test(file));

test.each(PARTS)('names of the sources: the part "%s" -> one precise word: %s', (part) => {
  const isWrong = (line: string): boolean =>
    (line.match(/[A-Za-z_$][\w$]*/g) ?? []).some((name) => !FINE.has(name) && partsOf(name).includes(part));
  expect(sources.flatMap((file) => foundIn(splitCode(file).code, file, isWrong))).toEqual([]);
});

test('names of the units in the ledger: page, which is what a feed returns -> unit', () => {
  const isWrong = (line: string): boolean => /page/i.test(line);
  const files = sources.filter((file) => /^src\/state\/(?:units|unit-records|intent-group)\.ts$/.test(file));
  expect(files).toHaveLength(3);
  expect(files.flatMap((file) => foundIn(splitCode(file).code, file, isWrong))).toEqual([]);
});

test('names of the sources: settle outside of the crash rule -> another word', () => {
  const isWrong = (line: string): boolean => /\b(?:is)?settle[a-z]*(?=[A-Z]|\b)/i.test(line);
  const found = sources
    .filter((file) => !SETTLING.test(file))
    .flatMap((file) => foundIn(splitCode(file).code, file, isWrong));
  expect(found.filter((line) => !line.includes('Promise.allSettled'))).toEqual([]);
});

test.each([
  ['place', PLACE],
  ['lane', LANE],
])('comments of the sources: %s -> one precise word', (_word, pattern) => {
  const isWrong = (line: string): boolean => pattern.test(line);
  expect(sources.flatMap((file) => foundIn(splitCode(file).comments, file, isWrong))).toEqual([]);
});
