/** What hinders reading or writing a file, in words: the system's own repeat the path and the call. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  EEXIST: 'it exists already',
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  EROFS: 'it is on a disk that can only be read',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
  EMFILE: 'this process has too many files open',
};

/** The words for an error of the file system; the error's own where there are none. */
export function fileTrouble(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}
