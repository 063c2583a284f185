/**
 * The rule for commit subjects: `area: imperative subject`. check-commits.ts applies it to a range of commits.
 * Invariant: the result depends only on the text of the subject and the names of the areas, so that the rule can be
 * tested as a table.
 */

/** The maximum length of a subject, which `git log --oneline` and GitHub show without cutting it. */
const LENGTH_MAX = 72;

/**
 * Areas that are not a single folder: `src` for several folders below src, `ci` for everything under .github, and
 * `package` for package.json with the lock file and the settings of tools.
 */
export const OTHER_AREAS = ['src', 'ci', 'package'];

/** Words that cannot be a verb. A subject that begins with one of them is a statement or a fragment. */
const NOT_VERBS = new Set(
  `a an the no not now it its he she they we you i this that these those which what who where when why how one all some
  any every each here there only also so than then after before with without for from of in on at by to`.split(
    /\s+/,
  ),
);

/** Irregular past forms that occur in subjects. Regular past forms are found by their ending. */
const PAST = new Set(
  `made wrote did was were took gave went kept began chose found got held lost ran said saw sent told brought built
  came became broke drove fell felt knew meant rewrote stood taught thought threw understood woke wore`.split(
    /\s+/,
  ),
);

/** Imperatives that look like a past form, an -ing form or a third person. */
const IMPERATIVES = new Set(
  `bleed breed embed exceed feed need proceed seed shed speed succeed weed bring ping ring sing sling spring string
  swing wing alias bias canvas focus`.split(/\s+/),
);

/** Returns what is wrong with a subject; an empty list when it follows the rule. */
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

/**
 * Returns the problem with the first word, if there is one. The check is small: it finds only words that are
 * obviously not imperatives.
 */
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
