/**
 * Checks the subjects of new commits. CI runs it for a pull request or a push; a developer can run it before that:
 *
 *   npm run check:commits -- BASE HEAD    By default BASE is `main` and HEAD is `HEAD`.
 *
 * Invariant: commits that BASE contains are never checked. Correcting them would mean rewriting a shared history, and
 * the oldest ones were made before the rule.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { OTHER_AREAS, problemsOf } from './commit-rule.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

function git(...argv: readonly string[]): string {
  return execFileSync('git', argv, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function exists(revision: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${revision}^{commit}`], { cwd: ROOT }).status === 0;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/**
 * Returns the names of the folders at the top and below src, before and after the commit, since a commit may remove
 * the folder that its subject names.
 */
function areasAt(commit: string): Set<string> {
  const areas = new Set(OTHER_AREAS);
  for (const revision of [commit, `${commit}^`]) {
    if (!exists(revision)) continue;
    const folders = linesOf(git('ls-tree', '-d', '--name-only', revision, '.', 'src/'));
    for (const folder of folders) {
      const name = folder.replace(/^src\//, '');
      if (!name.startsWith('.')) areas.add(name);
    }
  }
  return areas;
}

/**
 * Returns the commits of HEAD that BASE does not contain, except merges and commits of bots, whose subjects are
 * generated. If BASE does not exist, as with a new branch or a forced push, the new commits are unknown and only the
 * newest commit is returned.
 */
function commitsOf(base: string, head: string): { hash: string; subject: string }[] {
  const range = exists(base) ? [head, '--not', base] : ['--max-count=1', head];
  return linesOf(git('log', '--no-merges', '--format=%H%x09%an%x09%s', ...range))
    .map((line) => line.split('\t'))
    .filter(([, author = '']) => !author.endsWith('[bot]'))
    .map(([hash = '', , ...subject]) => ({ hash, subject: subject.join('\t') }));
}

function main([base = 'main', head = 'HEAD']: readonly string[]): number {
  const commits = commitsOf(base, head);
  if (!exists(base))
    process.stdout.write(`commit "${base}" is not in this clone: only the newest commit is checked\n`);
  let wrong = 0;
  for (const { hash, subject } of commits) {
    const problems = problemsOf(subject, areasAt(hash));
    if (problems.length === 0) continue;
    wrong += 1;
    const reasons = problems.map((problem) => `  - ${problem}\n`);
    process.stdout.write(`${hash.slice(0, 10)} ${subject}\n${reasons.join('')}`);
  }
  process.stdout.write(
    `${commits.length} commits checked, ${wrong} against the rule (CONTRIBUTING.md, "Commits")\n`,
  );
  return wrong === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
