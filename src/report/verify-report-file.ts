/**
 * The report file of a comparison: what was compared, when, and every difference by name. Invariants: a path that
 * cannot be written is refused before hours of comparing, and a report that cannot be written does not lose the
 * verdict.
 */
import { accessSync, closeSync, constants, existsSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerError, UsageError, type CosmigError } from '../lib/errors.ts';
import { OWNER_ONLY } from '../lib/sqlite/file.ts';
import { describeFsError } from '../lib/fs-error.ts';
import { safeStringify } from '../lib/json/json.ts';
import { printable } from '../lib/json/printable.ts';
import { readVersion } from '../lib/version.ts';
import type { DifferenceStream, Verdict } from '../verify/verdict.ts';

/** Throws if the file cannot be written. Called before the comparison begins, or before the probes are asked. */
export function refuseReport(path: string): void {
  try {
    // Opening a file to append does not change it. Without O_NONBLOCK, opening a named pipe would wait for a reader.
    // Windows has no such named pipes; O_NONBLOCK is undefined there and has no effect.
    const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants;
    if (existsSync(path)) closeSync(openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK));
    else accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new UsageError(`the report cannot be written to ${path}`, {
      why: describeFsError(error),
      hint: 'give --report a file in an existing folder that you may write to',
      cause: error,
    });
  }
}

/** Writes the report. Returns the error if it could not be written. */
export function writeReport(
  path: string,
  verdict: Verdict,
  named: DifferenceStream | null,
): CosmigError | undefined {
  const { details, ...shown } = verdict;
  const { listed: _first, ...compared } = details;
  const versions = { cosmig: readVersion(), node: process.versions.node };
  const lists = named === null ? {} : { listed: { ...named } };
  const hint = 'the result is shown above; run cosmig verify again with another --report';
  return errorOfWriting(path, hint, () => {
    writePieces(path, jsonPieces({ versions, ...shown, ...compared, ...lists }));
  });
}

/** Runs `write`; returns the error if the report could not be written. */
export function errorOfWriting(path: string, hint: string, write: () => void): CosmigError | undefined {
  try {
    write();
    return undefined;
  } catch (cause) {
    const why = describeFsError(cause);
    return new LedgerError(`the report cannot be written to ${path}`, { why, hint, cause });
  }
}

/**
 * Renders JSON with two spaces of indentation, piece by piece. An iterable that is not an array becomes a list with
 * one item per line, so that a list of differences that does not fit into memory can be written from the store.
 */
function* jsonPieces(value: unknown, indent = ''): Generator<string> {
  const inner = `${indent}  `;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    yield printable(JSON.stringify(value, null, 2)).replaceAll('\n', `\n${indent}`);
    return;
  }
  const isList = Symbol.iterator in value;
  yield isList ? '[' : '{';
  let separator = '';
  for (const item of isList ? (value as Iterable<unknown>) : Object.entries(value)) {
    if (isList) {
      yield `${separator}\n${inner}${safeStringify(item)}`;
    } else {
      const [name, member] = item as [string, unknown];
      if (member === undefined) continue;
      yield `${separator}\n${inner}${JSON.stringify(name)}: `;
      yield* jsonPieces(member, inner);
    }
    separator = ',';
  }
  yield `${separator === '' ? '' : `\n${indent}`}${isList ? ']' : '}'}`;
}

const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Writes the pieces to an open file. It uses `writeFileSync`, since `writeSync` may write only a part when the disk
 * is full.
 */
function writePieces(path: string, pieces: Iterable<string>): void {
  const file = openSync(path, 'w', OWNER_ONLY);
  try {
    let text = '';
    for (const piece of pieces) {
      text += piece;
      if (text.length < CHUNK_CHARACTERS) continue;
      writeFileSync(file, text);
      text = '';
    }
    writeFileSync(file, `${text}\n`);
  } finally {
    closeSync(file);
  }
}
