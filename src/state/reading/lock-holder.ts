/** Takes the mover's lock of a ledger, or says which command holds it. */
import { NotReadyError } from '../../lib/errors.ts';
import { openToRead, type Database } from '../../lib/sqlite/sqlite.ts';
import { Transactions } from '../../lib/sqlite/transaction.ts';
import { MoverLock } from '../lock.ts';
import { isEndless, RunStore, type Run } from '../runs.ts';

/** Takes the mover's lock. A refusal names the command that holds it, if the ledger says which. */
export function takeLock(path: string): MoverLock {
  try {
    return MoverLock.take(path);
  } catch (error) {
    const holder = MoverLock.isRefusal(error) ? runningIn(path) : null;
    if (holder === null || !MoverLock.isRefusal(error)) throw error;
    const { command, pid } = holder;
    // In quotes a command stays as it is where the words of a turn that leads back are swapped.
    throw new NotReadyError(error.message, {
      why: `"cosmig ${command}" (process ${pid}) works with it, and only one process at a time may`,
      hint: isEndless(holder)
        ? 'stop that one with Ctrl-C in its terminal, since it does not end by itself; then this command again'
        : 'wait for that one to end, then this command again',
      cause: error.cause,
    });
  }
}

/** Returns the run that works with a ledger; null: the ledger does not say. */
function runningIn(path: string): Run | null {
  let database: Database | undefined;
  try {
    database = openToRead(path);
    const last = new RunStore(database, new Transactions(database)).last();
    return last?.endedAtMs === null ? last : null;
  } catch {
    // The other process may be creating the ledger, or the file is damaged. Without the name the refusal stands as well.
    return null;
  } finally {
    database?.close();
  }
}
