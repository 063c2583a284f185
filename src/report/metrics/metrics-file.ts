/**
 * A file with the figures of a migration, for the textfile collector of the node exporter. Invariants: a reader finds
 * the whole file or the one before it; a file of another program is not replaced; and a file that cannot be written
 * costs one warning, never the migration.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { describeFsError, describeSpecialFile } from '../../lib/fs-error.ts';
import type { Log } from '../../lib/log.ts';
import { realPath } from '../../lib/sqlite/file.ts';

/** The collector runs as another user. The file has figures only, no ids and no key values. */
const FOR_ALL = 0o644;
/** With what each of these files begins. */
const BEGIN = '# HELP cosmig_';

export class MetricsFile {
  readonly #path: string;
  readonly #log: Log;
  #hasWarned = false;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  write(make: () => string): void {
    try {
      this.#replace(make());
    } catch (error) {
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      this.#log.warn(`the metrics cannot be written to ${this.#path}`, {
        why: describeFsError(error),
        now: 'the migration continues; --metrics-file needs a file in an existing folder that you may write to',
      });
    }
  }

  #replace(text: string): void {
    const path = realPath(this.#path);
    refuseOthers(path);
    // In the same folder, because a rename between two disks is not atomic. Its name does not end in .prom, so that the
    // collector does not read it, and is known to no other process: two commands may write the file at the same time, in
    // containers that give both the same pid.
    const temporary = `${path}.${randomBytes(6).toString('hex')}`;
    try {
      writeFileSync(temporary, text, { flag: 'wx', mode: FOR_ALL });
      // The mask of the process may have taken permissions away.
      chmodSync(temporary, FOR_ALL);
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }
}

/** A rename would replace whatever has the name: a ledger, or a device. */
function refuseOthers(path: string): void {
  if (!existsSync(path)) return;
  const special = describeSpecialFile(path);
  if (special !== undefined) throw new Error(special);
  if (!statSync(path).isFile()) throw new Error('it is a folder');
  const file = openSync(path, 'r');
  try {
    const begin = Buffer.alloc(BEGIN.length);
    const length = readSync(file, begin);
    if (length > 0 && begin.toString() !== BEGIN) throw new Error('it is a file of another program');
  } finally {
    closeSync(file);
  }
}
