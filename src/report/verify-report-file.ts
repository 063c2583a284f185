/**
 * The report of a comparison, for whoever has to see what was compared and when. What always holds: whether it can be
 * written is asked before hours of comparing, and a verdict is not lost with it.
 */
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerError, UsageError, type CosmigError } from '../lib/errors.ts';
import { fileTrouble } from '../lib/fs-error.ts';
import type { Named, Verdict } from '../verify/verdict.ts';

const AT_ONCE_CHARACTERS = 64 * 1024;

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
export function writeReport(path: string, verdict: Verdict, named: Named | null): CosmigError | undefined {
  const { details, ...told } = verdict;
  const { listed: _first, ...compared } = details;
  const versions = { cosmig: readVersion(), node: process.versions.node };
  try {
    write(path, JSON.stringify({ versions, ...told, ...compared }, null, 2), named);
    return undefined;
  } catch (error) {
    return new LedgerError(`the report cannot be written to ${path}`, {
      why: fileTrouble(error),
      hint: 'what was found is told above; run cosmig verify again with another --report',
      cause: error,
    });
  }
}

/** Nobody knows how many are named, so they are written one by one: each whole, where `writeSync` may leave off on a full disk. */
function write(path: string, summary: string, named: Named | null): void {
  const file = openSync(path, 'w');
  try {
    if (named === null) {
      writeFileSync(file, `${summary}\n`);
      return;
    }
    writeFileSync(file, `${summary.slice(0, -'\n}'.length)},\n  "listed": {`);
    let before = '\n';
    for (const name of ['differences', 'inFlight', 'waived'] as const) {
      writeFileSync(file, `${before}    "${name}": [`);
      writeEach(file, named[name]);
      before = ',\n';
    }
    writeFileSync(file, '\n  }\n}\n');
  } finally {
    closeSync(file);
  }
}

function writeEach(file: number, all: Iterable<object>): void {
  let text = '';
  let count = 0;
  for (const one of all) {
    text += `${count > 0 ? ',' : ''}\n      ${JSON.stringify(one)}`;
    count += 1;
    if (text.length < AT_ONCE_CHARACTERS) continue;
    writeFileSync(file, text);
    text = '';
  }
  writeFileSync(file, `${text}${count > 0 ? '\n    ' : ''}]`);
}

/** Who has compared. */
function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}
