/** Describes errors of the file system. The system's own messages repeat the path and name the system call. */
import { codeOf } from './errors.ts';
import { existsSync, statSync } from 'node:fs';

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  EEXIST: 'it exists already',
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  EROFS: 'it is on a read-only disk',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
  ENXIO: 'no process reads from this pipe',
};

/**
 * Describes a path that leads to something other than a file or a folder, such as a named pipe, whose opening would
 * wait for ever. Returns undefined for a file, a folder or a path that leads to nothing.
 */
export function describeSpecialFile(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const stats = statSync(path);
  if (stats.isFIFO()) return 'it is a named pipe';
  if (stats.isSocket()) return 'it is a socket';
  return stats.isFile() || stats.isDirectory() ? undefined : A_DEVICE;
}

/** For a device such as /dev/null, which can be opened like a file but cannot contain a database. */
export const A_DEVICE = 'it is a device';

/** Returns what an error of the file system means. An unknown error keeps its own message. */
export function describeFsError(error: unknown): string {
  return WORDS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
}
