/**
 * Files of tests go to one folder, which is deleted when the run ends, however its processes ended. It is in memory
 * where the machine has room: tests sync as often as the product does, and a disk that others use as well makes them
 * wait. What a power cut leaves of a file is tested by cutting it, not by the disk.
 */
import { existsSync, mkdtempSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** A whole run leaves a few hundred MB at the most; a container's default of 64 MB is too small. */
const MEMORY_MIN_BYTES = 2 * 1024 ** 3;

let folder: string;

export function setup(): void {
  // Without symbolic links, which cosmig resolves in the paths that it prints.
  folder = realpathSync(mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'cosmig-tests-')));
  process.env['TMPDIR'] = folder;
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}

function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= MEMORY_MIN_BYTES;
}
