/**
 * Before the first test: compiles the kernel where one of its sources is newer. Tests load the one that is shipped,
 * from dist.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const COMPILER = join(ROOT, 'node_modules/assemblyscript/bin/asc.js');
const SOURCES = join(ROOT, 'wasm');
const KERNEL = join(ROOT, 'dist/documents/kernel.wasm');

export function setup(): void {
  const changedMs = Math.max(...readdirSync(SOURCES).map((name) => statSync(join(SOURCES, name)).mtimeMs));
  if (existsSync(KERNEL) && statSync(KERNEL).mtimeMs > changedMs) return;
  // Another run of the tests may be loading the old one.
  const fresh = `${KERNEL}.${process.pid}`;
  const options = ['--config', join(SOURCES, 'asconfig.json'), '--outFile', fresh];
  execFileSync(process.execPath, [COMPILER, ...options], { cwd: ROOT });
  renameSync(fresh, KERNEL);
}
