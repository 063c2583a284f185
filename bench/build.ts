/**
 * Compiles the program, as it is shipped, into a temporary folder. Each benchmark makes a new build, since a figure
 * for old code is misleading. The code is compiled in advance, as users get it. The folder is not `dist`, which
 * another process may be using.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

export class Build implements Disposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static make(): Build {
    const build = new Build(mkdtempSync(join(tmpdir(), 'cosmig-bench-')));
    try {
      build.#fill();
      return build;
    } catch (error) {
      build[Symbol.dispose]();
      throw error;
    }
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * Fills the folder with the compiled sources and benchmarks, and with the files that the program reads from its own
   * folder.
   */
  #fill(): void {
    for (const shared of ['node_modules', 'migrations']) symlinkSync(join(ROOT, shared), this.path(shared));
    for (const copied of ['package.json', 'bin/cosmig.js']) {
      mkdirSync(dirname(this.path(copied)), { recursive: true });
      copyFileSync(join(ROOT, copied), this.path(copied));
    }
    // Types are not checked, since `npm run check` does that.
    this.#run('typescript/bin/tsc', ['-p', join(ROOT, 'bench'), '--outDir', this.#folder, '--noCheck']);
    symlinkSync('src', this.path('dist'));
    const kernel = this.path('dist/documents/kernel.wasm');
    this.#run('assemblyscript/bin/asc.js', [
      '--config',
      join(ROOT, 'wasm/asconfig.json'),
      '--outFile',
      kernel,
    ]);
  }

  #run(script: string, args: readonly string[]): void {
    const [name = '', ...path] = script.split('/');
    const file = join(dirname(require.resolve(`${name}/package.json`)), ...path);
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${script} failed: ${stdout}${stderr}`);
  }
}
