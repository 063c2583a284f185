/**
 * Writes docs/reference: `npm run docs`. Invariant: a file that is no longer generated is removed, and all written
 * files pass `npm run check`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceFiles } from './reference-pages.ts';

const FOLDER = fileURLToPath(new URL('../docs/reference/', import.meta.url));

rmSync(FOLDER, { recursive: true, force: true });
for (const [name, text] of referenceFiles()) {
  mkdirSync(dirname(`${FOLDER}${name}`), { recursive: true });
  writeFileSync(`${FOLDER}${name}`, text);
}
execFileSync('npx', ['oxfmt', FOLDER], { stdio: 'inherit' });
