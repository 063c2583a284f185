import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { refusalsOf, sectionProblems } from '../../../scripts/release-rule.ts';

/** A changelog whose newest section has this heading. */
function changelog(heading: string, body = '### Added\n\n- A command.\n'): string {
  return `# Changelog\n\nWords about versions.\n\n${heading}\n\n${body}\n## 0.0.9 - 2026-01-31\n\n### Fixed\n\n- A bug.\n`;
}

const SECTION = '## 1.2.0 - 2026-03-04';
const PARTS = 'it may have Safety, Added, Changed, Fixed, in this order';

describe('release rule', () => {
  test.each([
    ['by tag', { changelog: changelog(SECTION), version: '1.2.0', tag: 'v1.2.0' }],
    ['by hand', { changelog: changelog(SECTION), version: '1.2.0', tag: null }],
    [
      'of a pre-release',
      { changelog: changelog('## 1.2.0-rc.1 - 2026-03-04'), version: '1.2.0-rc.1', tag: null },
    ],
  ])('a dated section of this version, published %s -> accepted', (_what, release) => {
    expect(refusalsOf(release)).toEqual([]);
  });

  test.each([
    [
      'Unreleased',
      '## Unreleased',
      'CHANGELOG.md still has an Unreleased section: rename it to "## 1.2.0 - YYYY-MM-DD"',
    ],
    [
      'no date',
      '## 1.2.0',
      'the section "## 1.2.0" of CHANGELOG.md has no date: write "## 1.2.0 - YYYY-MM-DD"',
    ],
    [
      'a day that does not exist',
      '## 1.2.0 - 2026-02-30',
      'the section "## 1.2.0 - 2026-02-30" of CHANGELOG.md has no date: write "## 1.2.0 - YYYY-MM-DD"',
    ],
    [
      'another version',
      '## 1.1.0 - 2026-03-04',
      'the newest section of CHANGELOG.md is "## 1.1.0 - 2026-03-04", but package.json is at 1.2.0',
    ],
  ])('a newest section with %s -> refused', (_what, heading, refusal) => {
    expect(refusalsOf({ changelog: changelog(heading), version: '1.2.0', tag: 'v1.2.0' })).toEqual([refusal]);
  });

  test.each([
    [
      'a tag of another version',
      'v1.3.0',
      '1.2.0',
      'the tag is v1.3.0, but package.json is at 1.2.0: the tag must be v1.2.0',
    ],
    [
      'a tag without v',
      '1.2.0',
      '1.2.0',
      'the tag is 1.2.0, but package.json is at 1.2.0: the tag must be v1.2.0',
    ],
  ])('%s -> refused', (_what, tag, version, refusal) => {
    expect(refusalsOf({ changelog: changelog(SECTION), version, tag })).toEqual([refusal]);
  });

  test('an Unreleased section below the dated one -> refused', () => {
    const text = `${changelog(SECTION)}\n## Unreleased\n\n### Added\n\n- More.\n`;
    expect(refusalsOf({ changelog: text, version: '1.2.0', tag: null })).toHaveLength(1);
  });
});

describe('changelog sections', () => {
  test.each([
    ['no subsection', '', ['CHANGELOG.md: "1.2.0 - 2026-03-04" has no subsection']],
    [
      'an empty subsection',
      '### Added\n\n- A.\n\n### Fixed\n',
      ['CHANGELOG.md: "Fixed" of "1.2.0 - 2026-03-04" has no entry: leave the subsection out'],
    ],
    [
      '"Nothing yet."',
      '### Changed\n\n- Nothing yet.\n',
      ['CHANGELOG.md: "Changed" of "1.2.0 - 2026-03-04" has no entry: leave the subsection out'],
    ],
    ['an unknown one', '### Removed\n\n- A.\n', [`CHANGELOG.md: "1.2.0 - 2026-03-04" has Removed; ${PARTS}`]],
    [
      'another order',
      '### Fixed\n\n- A.\n\n### Added\n\n- B.\n',
      [`CHANGELOG.md: "1.2.0 - 2026-03-04" has Fixed, Added; ${PARTS}`],
    ],
  ])('%s -> reported', (_what, body, problems) => {
    expect(sectionProblems(changelog(SECTION, body))).toEqual(problems);
  });

  test('those of CHANGELOG.md -> all known, in order, and not empty', () => {
    expect(sectionProblems(readFileSync(new URL('../../../CHANGELOG.md', import.meta.url), 'utf8'))).toEqual(
      [],
    );
  });
});
