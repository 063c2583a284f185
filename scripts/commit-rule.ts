/**
 * The rule for commit subjects: `area: imperative subject`. check-commits.ts applies it to the commits of a range.
 * Invariant: a subject is accepted or refused by its text and the areas alone, so that the rule can be tested as a table.
 */

/** `git log --oneline` and GitHub show this much without cutting the line. */
const LENGTH_MAX = 72;

/**
 * Areas that are not one folder: several folders of src at once; everything under .github; package.json with the lock
 * file and the settings of the tools.
 */
export const OTHER_AREAS = ['src', 'ci', 'package'];

/** A verb cannot be any of these, so a subject that begins with one is a statement or a fragment. */
const NOT_VERBS = new Set(
  `a an the no not now it its he she they we you i this that these those which what who where when why how one all some
  any every each here there only also so than then after before with without for from of in on at by to`.split(
    /\s+/,
  ),
);

/** Irregular past forms that occur in subjects; regular ones are found by their ending. */
const PAST = new Set(
  `made wrote did was were took gave went kept began chose found got held lost ran said saw sent told brought built
  came became broke drove fell felt knew meant rewrote stood taught thought threw understood woke wore`.split(
    /\s+/,
  ),
);

/** Imperatives that look like a past, an -ing or a third-person form. */
const IMPERATIVES = new Set(
  `bleed breed embed exceed feed need proceed seed shed speed succeed weed bring ping ring sing sling spring string
  swing wing alias bias canvas focus`.split(/\s+/),
);

/** What is wrong with a subject; nothing when it follows the rule. */
export function problemsOf(subject: string, areas: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  if (subject.length > LENGTH_MAX)
    problems.push(`it has ${subject.length} characters; at most ${LENGTH_MAX} are allowed`);
  if (subject.endsWith('.')) problems.push('it ends with a period');
  const { area, text = '' } = /^(?<area>[^\s:]+): (?<text>\S.*)$/.exec(subject)?.groups ?? {};
  if (area === undefined) problems.push('it is not of the form "area: imperative subject"');
  else {
    if (!areas.has(area))
      problems.push(`"${area}" is not an area; the areas are ${[...areas].toSorted().join(', ')}`);
    const mood = moodProblem(text.split(' ', 1)[0] ?? '');
    if (mood !== undefined) problems.push(mood);
  }
  return problems;
}

/** A small check of the first word: it finds what is obviously not an imperative, and lets everything else pass. */
function moodProblem(word: string): string | undefined {
  if (!/^[a-z][a-z'-]*$/.test(word)) return `it begins with "${word}", not with a verb in lower case`;
  if (NOT_VERBS.has(word)) return `it begins with "${word}", not with a verb`;
  if (IMPERATIVES.has(word)) return undefined;
  if (PAST.has(word) || word.endsWith('ed')) return `"${word}" looks like a past form; use the imperative`;
  if (word.endsWith('ing')) return `"${word}" looks like an -ing form; use the imperative`;
  if (word.endsWith('s') && !word.endsWith('ss'))
    return `"${word}" looks like a third-person form or a plural; use the imperative`;
  return undefined;
}
