/**
 * Processes that tests start run compiled JavaScript: loading TypeScript costs each of them a second of a core. The
 * sources and the modules that tests run as processes are compiled into .test-build/, in the same tree; what the
 * product reads from its own folder is linked there.
 *
 * Invariant: a build in use is as new as every source; the first who needs one that is older makes it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUILD = join(ROOT, '.test-build');
const MARK = join(BUILD, '.built');
/** Of the product, read at run time. */
const LINKED = ['dist', 'migrations', 'package.json'];

/** The compiled form of a TypeScript module of this repository, for a process to run or import. */
export function built(source: string | URL): string {
  const path = typeof source === 'string' ? source : fileURLToPath(source);
  return join(BUILD, relative(ROOT, path)).replace(/\.ts$/, '.js');
}

/** Compiles what processes of tests run, where a source is newer than the last build. */
export function buildForProcesses(): void {
  if (existsSync(MARK) && newestMs('src', 'test') < statSync(MARK).mtimeMs) return;
  mkdirSync(BUILD, { recursive: true });
  for (const name of LINKED)
    if (!existsSync(join(BUILD, name))) symlinkSync(join('..', name), join(BUILD, name), 'junction');
  const beganAt = new Date();
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.children.json')], { stdio: 'inherit' });
  writeFileSync(MARK, beganAt.toISOString());
}

function newestMs(...folders: readonly string[]): number {
  const entries = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }),
  );
  return Math.max(...entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs));
}
