/**
 * Refuses a release that is not ready. The release workflow runs it with the tag; `prepublishOnly` runs it without a
 * tag, so that it also covers a manual `npm publish`.
 *
 *   npm run check:release -- [TAG]
 *
 * Invariant: it ends with exit code 0 only when the release may be published.
 */
import { readFileSync } from 'node:fs';
import { refusalsOf } from './release-rule.ts';

function main([tag]: readonly string[]): number {
  const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const refusals = refusalsOf({ changelog: read('CHANGELOG.md'), version, tag: tag ?? null });
  for (const refusal of refusals) process.stderr.write(`${refusal}\n`);
  if (refusals.length === 0) process.stdout.write(`cosmig ${version} may be published\n`);
  else process.stderr.write('nothing was published; docs/internals/releasing.md has the steps\n');
  return refusals.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
