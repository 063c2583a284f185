/**
 * Chooses the version of better-sqlite3 that works with this version of Node, and is the only file that loads it.
 * Invariant: a process never loads the version that would end it. Version 13 needs Node-API 10 (Node 22.14 and newer)
 * and crashes with a segmentation fault without it. Version 12 aborts on Node 24.19, 26.4 and newer when the garbage
 * collector frees a statement. Neither crash is an error that can be caught, so the choice is made before anything is
 * loaded. See docs/internals/node-versions.md.
 */
import { createRequire } from 'node:module';
import type SqliteDatabase from 'better-sqlite3';
import { NotReadyError } from '../errors.ts';

/** An open database. */
export type Database = SqliteDatabase.Database;

/** A prepared statement. */
export type PreparedStatement = SqliteDatabase.Statement;

/** The constructor of a database, and the class of the errors that it throws. */
export type SqliteDriver = typeof SqliteDatabase;

/**
 * The packages of version 12 and 13, by their names in package.json. npm does not install the second one if Node is too
 * old for it.
 */
export type DriverName = 'better-sqlite3' | 'better-sqlite3-13';

const NODE_API_OF_13 = 10;

const require = createRequire(import.meta.url);

/** Returns the package to use with this version of Node-API (`process.versions.napi`). */
export function driverFor(nodeApi: string | undefined): DriverName {
  return Number(nodeApi) >= NODE_API_OF_13 ? 'better-sqlite3-13' : 'better-sqlite3';
}

/** The package that this process uses. */
export const DRIVER_NAME: DriverName = driverFor(process.versions['napi']);

/** Loads the driver of this process; throws MODULE_NOT_FOUND if npm has not installed the package. */
export function loadDriver(): SqliteDriver {
  return require(DRIVER_NAME) as SqliteDriver;
}

/**
 * Returns the error for a driver that does not load. Usually cosmig was installed with another version of Node than the
 * one that runs it now.
 */
export function driverMissing(name: DriverName, cause: unknown): NotReadyError {
  const { version, platform, arch } = process;
  const missing = {
    'better-sqlite3': {
      why: `its install script did not run here, failed, or ran under another Node than ${version}`,
      hint:
        'run: npm rebuild better-sqlite3 (a newer npm first wants: npm install-scripts approve better-sqlite3); ' +
        'if that changes nothing, npm has removed the package because it could not be built: repeat the installation ' +
        'with --foreground-scripts to see why; with Node 22.14 or newer nothing needs to be built',
    },
    'better-sqlite3-13': {
      why: `the package better-sqlite3-13 is not installed, or has no binary for ${platform} on ${arch}`,
      hint:
        `repeat the installation with Node ${version} and with optional dependencies; there are binaries for ` +
        'Linux, macOS and Windows on x64 and arm64',
    },
  }[name];
  return new NotReadyError('better-sqlite3 is not built for this Node', { ...missing, cause });
}
