/**
 * The report of a comparison, for whoever has to see what was compared and when. What always holds: whether it can be
 * written is asked before hours of comparing, and a verdict is not lost with it.
 */
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerError, UsageError, type CosmigError } from '../lib/errors.ts';
import { fileTrouble } from '../lib/file-trouble.ts';
import type { Verdict } from '../verify/verdict.ts';

/** Before anything is compared. */
export function refuseReport(path: string): void {
  try {
    // To append nothing changes nothing.
    if (existsSync(path)) closeSync(openSync(path, 'a'));
    else accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new UsageError(`the report cannot be written to ${path}`, {
      why: fileTrouble(error),
      hint: 'give --report a file in a folder that exists, and may be written',
      cause: error,
    });
  }
}

/** What has kept it from being written, if anything has. */
export function writeReport(path: string, verdict: Verdict): CosmigError | undefined {
  const { details, ...told } = verdict;
  const versions = { cosmig: readVersion(), node: process.versions.node };
  try {
    writeFileSync(path, `${JSON.stringify({ versions, ...told, ...details }, null, 2)}\n`);
    return undefined;
  } catch (error) {
    return new LedgerError(`the report cannot be written to ${path}`, {
      why: fileTrouble(error),
      hint: 'what was found is told above; run cosmig verify again with another --report',
      cause: error,
    });
  }
}

/** Who has compared. */
function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}
