/** docs/reference is made from the tables of the program: these tests fail when it is stale. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { referenceFiles } from '../scripts/reference-pages.ts';
import { exportedNames } from '../scripts/reference-library.ts';
import { commands } from '../src/commands/all.ts';
import { EXIT_CODES } from '../src/cli/exit-codes.ts';
import * as errors from '../src/lib/errors.ts';
import { ERROR } from '../src/report/json/run-results.ts';
import * as library from '../src/index.ts';

const FOLDER = fileURLToPath(new URL('../docs/reference/', import.meta.url));
const files = referenceFiles();

/** Without what the formatter decides: blanks, the width of tables, quotes and line breaks of code. */
function words(text: string): string {
  return text.replaceAll(/\s+|-{3,}|["';,]|\|/g, '');
}

describe('docs/reference', () => {
  test.each([...files.keys()])('reference: %s is what npm run docs writes', (name) => {
    const written = readFileSync(`${FOLDER}${name}`, 'utf8');
    const made = files.get(name) ?? '';
    expect(words(written)).toBe(words(made));
  });

  test('reference: holds no file that npm run docs does not write', () => {
    const found = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
    expect(found.filter((name) => /\.\w+$/.test(name)).toSorted()).toEqual([...files.keys()].toSorted());
  });

  test('reference: each command has a page with its examples and links to the guide, and is in the index', () => {
    for (const { name, examples } of commands) {
      const path = `commands/${name.split(' ')[0]}.md`;
      const text = files.get(path) ?? '';
      for (const { line } of examples) expect(text).toContain(`- \`${line}\``);
      expect(text).toMatch(/\nIn the guides: \[.+\]\(\.\.\/\.\.\/.+\)\.\n/);
      expect(files.get('cli.md')).toContain(`(${path})`);
    }
  });

  test('reference: library.md has every export of the package', () => {
    const names = new Set(exportedNames().map(([name]) => name));
    expect([...names]).toEqual(expect.arrayContaining(Object.keys(library)));
    for (const name of names) expect(files.get('library.md')).toContain(`\n## ${name}\n`);
  });

  test('exit codes: the code of each is a value of error.code in the schemas', () => {
    const { enum: codes } = ERROR.members.code.json;
    expect(codes).toEqual(expect.arrayContaining(EXIT_CODES.flatMap(({ code }) => code ?? [])));
  });

  test('exit codes: every error class has its row', () => {
    const codes = Object.values(errors).flatMap((kind) => {
      if (kind === errors.CanceledError)
        return (['SIGHUP', 'SIGINT', 'SIGTERM'] as const).map(
          (name) => new errors.CanceledError(name).exitCode,
        );
      if (!(kind.prototype instanceof errors.CosmigError)) return [];
      const made = new (kind as typeof errors.UsageError)('m', { why: 'w', hint: 'h' });
      return [made.exitCode];
    });
    expect(EXIT_CODES.map(({ exitCode }) => exitCode)).toEqual([0, ...codes].toSorted((a, b) => a - b));
  });
});
