/** Describes errors of the file system. The system's own messages repeat the path and name the system call. */

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
};

/** Returns what an error of the file system means. An unknown error keeps its own message. */
export function describeFsError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}
