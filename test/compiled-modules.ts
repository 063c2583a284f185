/**
 * Tests import the sources as JavaScript that was compiled when its source last changed, and that Node loads. vitest would
 * compile each module in each run, and read every imported name through a getter: 16 % of the time of a test of the engine.
 * `npx vitest`, which waits for edits, and a run with coverage import the sources themselves.
 *
 * Invariant: a compiled module that a test imports was made of the present text of its source.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, version, type Plugin as BuildPlugin } from 'esbuild';
import type { Plugin } from 'vitest/config';
import { BUILD, linkProduct } from './helpers/process/built.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'src');
const COMPILED = join(BUILD, 'modules');
/** The paths of the compiled modules. */
export const COMPILED_MODULES = /[/\\]\.test-build[/\\]modules[/\\]/;
/** The hash of each source when it was compiled. */
const HASHES = join(COMPILED, 'hashes.json');

/** Compiles the sources that have changed since they were last compiled. */
export async function setup(): Promise<void> {
  if (!isCompiled()) return;
  const before = readHashes();
  const now = new Map(sources().map((path) => [path, hashOf(path)]));
  const changed = [...now.keys()].filter(
    (path) => before[path] !== now.get(path) || !existsSync(compiled(path)),
  );
  if (changed.length === 0) return;
  mkdirSync(COMPILED, { recursive: true });
  linkProduct(COMPILED);
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: changed,
    outdir: COMPILED,
    outbase: ROOT,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    plugins: [eachForItself],
    logLevel: 'warning',
  });
  for (const { path, contents } of outputFiles) replace(path, contents);
  replace(HASHES, JSON.stringify(Object.fromEntries(now)));
}

/** Whether tests import compiled modules in this run. */
function isCompiled(): boolean {
  return process.argv.includes('run') && !process.argv.some((argument) => argument.startsWith('--coverage'));
}

/** Answers imports of tests: those of sources with the compiled module. */
export function compiledModules(): Plugin {
  const replaces = new Map<string, boolean>();
  return {
    name: 'compiled-modules',
    enforce: 'pre',
    resolveId(specifier, importer) {
      if (importer === undefined || !specifier.startsWith('.') || !isCompiled()) return null;
      const from = resolve(importer.split('?', 1)[0] ?? '');
      const path = resolve(dirname(from), specifier);
      if (!path.startsWith(SOURCES) || from.startsWith(SOURCES) || !path.endsWith('.ts')) return null;
      // A test can replace only what vitest loads itself.
      if (!replaces.has(from)) replaces.set(from, /\bvi\.(mock|doMock)\(/.test(readFileSync(from, 'utf8')));
      return replaces.get(from) === true ? null : compiled(path);
    },
  };
}

/** A module imports the other modules, instead of containing them. */
const eachForItself: BuildPlugin = {
  name: 'each-for-itself',
  setup(bundling) {
    bundling.onResolve({ filter: /./ }, ({ path, kind }) => {
      if (kind === 'entry-point') return undefined;
      return { path: path.startsWith('.') ? path.replace(/\.ts$/, '.js') : path, external: true };
    });
  },
};

function sources(): string[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => join(SOURCES, path));
}

function compiled(source: string): string {
  return join(COMPILED, relative(ROOT, source)).replace(/\.ts$/, '.js');
}

/** How they are compiled may change, too. */
const HOW = `${version} ${readFileSync(fileURLToPath(import.meta.url), 'utf8')}`;

function hashOf(path: string): string {
  return createHash('sha256').update(HOW).update(readFileSync(path)).digest('base64url');
}

function readHashes(): Record<string, string> {
  return existsSync(HASHES) ? (JSON.parse(readFileSync(HASHES, 'utf8')) as Record<string, string>) : {};
}

/** Another run may read the file at this moment. */
function replace(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
}
