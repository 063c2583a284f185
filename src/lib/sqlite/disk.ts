/** The disk on which a database is: its folder, and how much space is left there. */
import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns how many bytes are free on the disk of a file, which may be missing, like its folders. */
export function freeBytesFor(path: string): number {
  const { bavail, bsize } = statfsSync(existingFolder(path));
  return bavail * bsize;
}

/** Returns the folder of a file, or the first folder above it that exists. */
export function existingFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === dirname(folder) ? folder : existingFolder(folder);
}

/** Returns a size on a disk, rounded up: `3 MB`, `1.2 GB`. */
export function gigabytes(bytes: number): string {
  return bytes < 1e8 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
