/** The package as users install it, built in a folder of its own, so that no test depends on an older build in the clone. */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export class Packaged {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(folder: string): Promise<Packaged> {
    for (const part of ['bin', 'migrations', 'package.json']) {
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const project = join(ROOT, 'tsconfig.build.json');
    // Types are checked once, for the repository.
    const options = ['--noCheck', '--declaration', 'false', '--outDir', join(folder, 'dist')];
    await promisify(execFile)(process.execPath, [tsc, '-p', project, ...options]);
    // The build of the kernel is not part of tsc.
    cpSync(join(ROOT, 'dist', 'documents', 'kernel.wasm'), join(folder, 'dist', 'documents', 'kernel.wasm'));
    return new Packaged(folder);
  }

  /** Makes it a later version, whose databases of this name have one migration more. */
  addMigration(database: 'ledger', sql: string): void {
    const folder = join(this.folder, 'migrations', database);
    const number = String(readdirSync(folder).length + 1).padStart(4, '0');
    writeFileSync(join(folder, `${number}_later.sql`), sql);
  }

  start(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcessWithoutNullStreams {
    return spawn(process.execPath, [join(this.folder, 'bin', 'cosmig.js'), ...argv], { env });
  }
}
