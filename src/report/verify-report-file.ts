/** The report file of a comparison: what was compared, when, and every difference by name. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { CosmigError } from '../lib/errors.ts';
import { OWNER_ONLY } from '../lib/sqlite/file.ts';
import { safeStringify } from '../lib/json/json.ts';
import { printable } from '../lib/json/printable.ts';
import { readVersion } from '../lib/version.ts';
import type { DifferenceStream, Verdict } from '../verify/verdict.ts';
import { isoTime } from './format.ts';
import { errorOfWriting } from './runs/report-file.ts';

/** Writes the report. Returns the error if it could not be written. */
export function writeReport(
  path: string,
  verdict: Verdict,
  { named, proofMs }: { readonly named: DifferenceStream | null; readonly proofMs: number | null },
): CosmigError | undefined {
  const { details, ...shown } = verdict;
  const { listed: _first, ...compared } = details;
  const versions = { cosmig: readVersion(), node: process.versions.node };
  const lists = named === null ? {} : { listed: { ...named } };
  const hint = 'the result is shown above; run cosmig verify again with another --report';
  return errorOfWriting(path, hint, () => {
    // `cosmig status` names the last proof by the same time.
    const proof = proofMs === null ? null : { at: isoTime(proofMs) };
    writePieces(path, jsonPieces({ versions, proof, ...shown, ...compared, ...lists }));
  });
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
