/** Checks of this machine: the runtime, the protection of connections, and the folder of the ledger. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { existingFolder, freeBytesFor, gigabytes } from '../lib/sqlite/disk.ts';
import { LedgerError } from '../lib/errors.ts';
import { describeFsError } from '../lib/fs-error.ts';
import { readVersion } from '../lib/version.ts';
import { Ledger } from '../state/ledger.ts';
import type { Checklist, Found, FoundValue } from './check.ts';

/** All permissions of a file that are not those of its owner. */
const OTHERS = 0o077;

export interface MachineParts {
  readonly ledger: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What the ledger says of the migration. `ledgerName` is the name that the reservation in the target contains. */
export type LedgerState = ReturnType<(typeof Ledger)['peek']>;

/** Returns the state of the ledger; undefined if it cannot be used. */
export async function checkMachine(
  list: Checklist,
  { ledger, env }: MachineParts,
): Promise<LedgerState | undefined> {
  await list.make('machine', 'node', async () => ({
    message: `cosmig ${readVersion()} on Node.js ${process.versions.node}, ${process.platform} ${process.arch}`,
  }));
  await list.make('machine', 'tls', async () => tlsOf(env));
  return list.make('machine', 'ledger', async () => ledgerAt(ledger));
}

function tlsOf(env: MachineParts['env']): Found {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0')
    return { message: 'certificates of the service are checked' };
  return {
    message: 'certificates of the service are not checked',
    warning: {
      why: 'the variable NODE_TLS_REJECT_UNAUTHORIZED is 0, so another server could answer in place of the account',
      hint: 'unset it; for a proxy, set NODE_EXTRA_CA_CERTS to its certificate',
    },
  };
}

function ledgerAt(path: string): FoundValue<LedgerState> {
  if (existsSync(path)) {
    const value = Ledger.peek(path);
    const state = value.hasBegun ? 'holds a migration that has begun' : 'holds no migration yet';
    const run = Ledger.isRunning(path) ? ', and cosmig is running with it' : '';
    return { message: `the ledger ${path} ${state}${run}`, value, ...othersMayRead(path) };
  }
  const folder = existingFolder(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new LedgerError(`the ledger ${path} cannot be created`, {
      why: describeFsError(error),
      hint: `allow your user to write to ${folder}, or choose another --ledger`,
      cause: error,
    });
  }
  return { message: `the ledger ${path} can be created`, value: { hasBegun: false, ledgerName: undefined } };
}

/** Returns a warning if other users may read the ledger. cosmig does not change the permissions of a file that exists. */
function othersMayRead(path: string): Pick<Found, 'warning'> {
  // Windows keeps its permissions elsewhere, and Node reports that every user may read every file.
  if (process.platform === 'win32' || (statSync(path).mode & OTHERS) === 0) return {};
  return {
    warning: {
      why: 'other users of this machine may read it, and it contains ids and key values of documents',
      hint: `run chmod 600 ${path}, unless you have allowed it`,
    },
  };
}

/**
 * Checks whether the disk has space for a ledger of about `bytes` bytes. It needs twice as many while its index is
 * built.
 */
export function diskFor(path: string, bytes: number | null): Found {
  const freeBytes = freeBytesFor(path);
  const free = `${gigabytes(freeBytes)} are free for the ledger`;
  if (bytes === null) return { message: free };
  const needed = bytes * 2;
  const message = `${free}, which needs up to ${gigabytes(needed)}`;
  if (freeBytes > needed) return { message };
  return {
    message,
    warning: {
      why: 'a copy stops cleanly when the disk of its ledger is full, and resumes when there is room again',
      hint: 'free some disk space, or choose a --ledger on another disk',
    },
  };
}
