/**
 * Reads a workload file: an export of logs as CSV or JSON, or a YAML that was written by hand. Memory is bounded by the
 * number of different queries, and not by the size of the file.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { TextDecoder } from 'node:util';
import { CosmigError, UsageError } from '../../../lib/errors.ts';
import { A_DEVICE, describeFsError, describeSpecialFile } from '../../../lib/fs-error.ts';
import type { Workload } from '../workload.ts';
import { columnOf, rowOf, type Column } from './columns.ts';
import { readCsv } from './csv.ts';
import { readJson } from './json-rows.ts';
import { WorkloadTally, type ContainerOfPlan } from './tally.ts';
import { readYamlCalls } from './yaml-calls.ts';

const CHUNK_BYTES = 64 * 1024;
/** The portal cuts its exports at this many rows without a word. */
const PORTAL_ROWS_MAX = 30_000;
const HINT = 'give an export as CSV or JSON of the query of cosmig plan --print-kql, or a YAML with queries';

/** Reads the file at a path. `of` is the container of the plan. */
export function readWorkload(path: string, of: ContainerOfPlan): Workload {
  let file: number | undefined;
  try {
    const special = describeSpecialFile(path);
    if (special !== undefined && special !== A_DEVICE) throw refused(path, special);
    file = openSync(path, 'r');
    return parseWorkload(textOf(file), { of, name: path });
  } catch (error) {
    if (error instanceof CosmigError) throw error;
    // The decoder throws a TypeError for bytes that are not text.
    throw refused(path, error instanceof TypeError ? NOT_TEXT : describeFsError(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const NOT_TEXT = 'it is not text in UTF-8 or UTF-16';

/** Returns the pieces of a text file. Windows tools write UTF-16, with a mark at its beginning. */
function* textOf(file: number): Generator<string> {
  const bytes = Buffer.alloc(CHUNK_BYTES);
  let decoder: TextDecoder | undefined;
  for (;;) {
    const length = readSync(file, bytes, 0, CHUNK_BYTES, null);
    decoder ??= new TextDecoder(encodingOf(bytes.subarray(0, length)), { fatal: true });
    yield decoder.decode(bytes.subarray(0, length), { stream: length > 0 });
    if (length === 0) return;
  }
}

function encodingOf(start: Buffer): string {
  return start[0] === 0xff && start[1] === 0xfe ? 'utf-16le' : 'utf-8';
}

/** Reads the pieces of a text; `name` is its name in messages. */
export function parseWorkload(
  chunks: Iterable<string>,
  { of, name }: { readonly of: ContainerOfPlan; readonly name: string },
): Workload {
  const { start, all } = peek(chunks);
  if (start === '') throw refused(name, 'it is empty');
  if (start.includes('\0')) throw refused(name, NOT_TEXT);
  const tally = new WorkloadTally(of, name);
  switch (formatOf(start, name)) {
    case 'yaml':
      return readYamlCalls([...all].join(''), { of, name });
    case 'json':
      addJson(tally, all, name);
      break;
    case 'csv':
    default:
      addCsv(tally, all, name);
  }
  return tally.finish();
}

/** Returns the beginning of a text up to its first characters that are not spaces, and all of the text. */
function peek(chunks: Iterable<string>): { start: string; all: Iterable<string> } {
  const iterator = chunks[Symbol.iterator]();
  let start = '';
  let next = iterator.next();
  while (next.done !== true) {
    start += next.value;
    if (start.trim() !== '') break;
    next = iterator.next();
  }
  const text = start.replace(/^[\uFEFF\s]+/, '');
  const all = function* (): Generator<string> {
    yield text;
    for (let more = iterator.next(); more.done !== true; more = iterator.next()) yield more.value;
  };
  return { start: text, all: all() };
}

function formatOf(start: string, name: string): 'yaml' | 'json' | 'csv' {
  if (/\.ya?ml$/i.test(name)) return 'yaml';
  if (start.startsWith('{') || start.startsWith('[')) return 'json';
  return /^(?:#|---|queries\s*:|container\s*:)/.test(start) ? 'yaml' : 'csv';
}

function addJson(tally: WorkloadTally, chunks: Iterable<string>, name: string): void {
  for (const read of readJson(chunks)) {
    if ('row' in read) tally.add(read.row);
    else if (read.unread === 'whole')
      throw new UsageError(`${name} cannot be read`, {
        why: 'it is JSON that is cut in the middle, damaged, or larger than 64 MB',
        hint: 'export it again, and wait for the end of the download',
      });
    else {
      tally.skipped += 1;
      if (read.unread === 'cut') tally.notes.push(CUT);
    }
  }
}

const CUT = 'the export is cut in the middle: its last line is not complete, so export it again';

function addCsv(tally: WorkloadTally, chunks: Iterable<string>, name: string): void {
  let columns: ReadonlyArray<Column | undefined> | undefined;
  let rows = 0;
  let isLastShort = false;
  for (const { fields, isCut } of readCsv(chunks)) {
    if (columns === undefined) {
      columns = fields.map(columnOf);
      if (
        isCut ||
        !columns.some((column) => column === 'query' || column === 'operation' || column === 'key')
      )
        throw refused(name, 'its first line names no column QueryText, OperationName or PartitionKey');
      continue;
    }
    rows += 1;
    isLastShort = isCut || fields.length < columns.length;
    if (isCut || fields.length !== columns.length) tally.skipped += 1;
    else tally.add(rowOf(columns, fields));
  }
  if (isLastShort) tally.notes.push(CUT);
  if (rows === PORTAL_ROWS_MAX)
    tally.notes.push('the file has 30,000 rows, at which the portal cuts exports: some rows may be missing');
}

function refused(name: string, why: string): UsageError {
  return new UsageError(`${name} is not a workload file`, { why, hint: HINT });
}
