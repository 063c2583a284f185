/** Whatever tests leave in the folder of temporary files is gone when the run ends, however its processes ended. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;

export function setup(): void {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-tests-'));
  process.env['TMPDIR'] = folder;
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
