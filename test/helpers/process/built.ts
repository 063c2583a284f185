/**
 * Processes that tests start run bundled JavaScript: finding and loading some hundred modules one by one costs each of
 * them 0.4 seconds of a core, and the bundle 0.15. The modules `*-child.ts`, and those of the product that processes
 * import, are bundled into .test-build/, in the same tree; what the product reads from its own folder is linked there.
 *
 * Invariant: a build in use is as new as every source; the first who needs one that is older makes it.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The folder of all that tests build. */
export const BUILD = join(ROOT, '.test-build');
const MARK = join(BUILD, '.built');
/** Of the product, read at run time. */
const LINKED = ['dist', 'migrations', 'package.json'];
/** Of the product, imported by processes. */
const IMPORTED = ['src/cli/main.ts', 'src/index.ts', 'src/lib/heap.ts', 'src/workflows/hooks.ts'];
/** Packages of CommonJS in a bundle need it. */
const REQUIRE =
  "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);";

/** Links what modules read at run time, from where the sources have it, into a folder of compiled modules. */
export function linkProduct(folder: string): void {
  for (const name of LINKED)
    if (!existsSync(join(folder, name)))
      symlinkSync(join(relative(folder, ROOT), name), join(folder, name), 'junction');
}

/** The bundled form of a TypeScript module of this repository, for a process to run or import. */
export function built(source: string | URL): string {
  const path = typeof source === 'string' ? source : fileURLToPath(source);
  return join(BUILD, relative(ROOT, path)).replace(/\.ts$/, '.js');
}

/** Bundles what processes of tests run, where a source is newer than the last build. */
export async function buildForProcesses(): Promise<void> {
  if (existsSync(MARK) && newestMs('src', 'test') < statSync(MARK).mtimeMs) return;
  mkdirSync(BUILD, { recursive: true });
  linkProduct(BUILD);
  const beganAt = new Date();
  const children = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('-child.ts'))
    .map((path) => join('test', path));
  await build({
    absWorkingDir: ROOT,
    entryPoints: [...IMPORTED, ...children],
    outdir: BUILD,
    outbase: ROOT,
    chunkNames: 'chunks/[hash]',
    bundle: true,
    // What is loaded only when it is needed stays in files of its own.
    splitting: true,
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['better-sqlite3', 'better-sqlite3-13'],
    banner: { js: REQUIRE },
    plugins: [inSameTree],
    logLevel: 'warning',
  });
  writeFileSync(MARK, beganAt.toISOString());
}

/** In a bundle, a module still has the address that it has in the tree of .test-build/. */
const inSameTree: Plugin = {
  name: 'in-same-tree',
  setup(bundling) {
    bundling.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8');
      const address = JSON.stringify(pathToFileURL(built(path)).href);
      return { contents: contents.replaceAll('import.meta.url', address), loader: 'ts' };
    });
  },
};

function newestMs(...folders: readonly string[]): number {
  const entries = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }),
  );
  return Math.max(...entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs));
}
