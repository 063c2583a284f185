/**
 * The rule for a release: what must be true of the changelog, package.json and the tag before a version is published.
 * Invariant: the newest section of the changelog has a date and names the version in package.json, and the tag
 * agrees.
 */

/** The subsections of a version, in the order in which an operator needs them. */
const SUBSECTIONS = ['Safety', 'Added', 'Changed', 'Fixed'];

/** A semantic version: three numbers, and perhaps a pre-release such as `-rc.1`. */
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

export interface Release {
  readonly changelog: string;
  /** The version in package.json. */
  readonly version: string;
  /** The tag of the release; null when a person publishes from their own machine. */
  readonly tag: string | null;
}

/** Returns the reasons against publishing; an empty list when the release may be published. */
export function refusalsOf({ changelog, version, tag }: Release): string[] {
  const refusals: string[] = [];
  if (!VERSION.test(version)) refusals.push(`package.json: "${version}" is not a version`);
  if (tag !== null && tag !== `v${version}`)
    refusals.push(`the tag is ${tag}, but package.json is at ${version}: the tag must be v${version}`);
  if (/^## +\[?unreleased\b/im.test(changelog))
    refusals.push(`CHANGELOG.md still has an Unreleased section: rename it to "## ${version} - YYYY-MM-DD"`);
  return [...refusals, ...newestProblems(changelog, version), ...sectionProblems(changelog)];
}

function newestProblems(changelog: string, version: string): string[] {
  const heading = changelog.split('\n').find((line) => line.startsWith('## '));
  if (heading === undefined) return ['CHANGELOG.md has no section'];
  const [, name = '', date] = /^## (\S+)(?: - (.+))?$/.exec(heading) ?? [];
  // Another refusal already says what to do with an Unreleased section.
  if (/unreleased/i.test(heading)) return [];
  if (name !== version)
    return [`the newest section of CHANGELOG.md is "${heading}", but package.json is at ${version}`];
  if (date === undefined || !isDate(date))
    return [`the section "${heading}" of CHANGELOG.md has no date: write "## ${version} - YYYY-MM-DD"`];
  return [];
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // Date reads a day that a month does not have as a day of the next month, so the text is compared with the result.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Returns the problems of the sections: every version has only known subsections, in their order, and none is empty. */
export function sectionProblems(changelog: string): string[] {
  const problems: string[] = [];
  for (const section of changelog.split(/^## /m).slice(1)) {
    const name = section.split('\n', 1)[0] ?? '';
    const parts = section.split(/^### /m).slice(1);
    if (parts.length === 0) problems.push(`CHANGELOG.md: "${name}" has no subsection`);
    const titles = parts.map((part) => part.split('\n', 1)[0] ?? '');
    const known = SUBSECTIONS.filter((title) => titles.includes(title));
    if (titles.join() !== known.join())
      problems.push(
        `CHANGELOG.md: "${name}" has ${titles.join(', ')}; it may have ${SUBSECTIONS.join(', ')}, in this order`,
      );
    for (const [at, part] of parts.entries())
      if (!/^- (?!nothing yet)/im.test(part))
        problems.push(`CHANGELOG.md: "${titles[at]}" of "${name}" has no entry: leave the subsection out`);
  }
  return problems;
}
