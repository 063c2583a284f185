/** What is new in a journal: nothing of the past is notified again, whatever state the ledger was found in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JournalReader } from '../../../../src/notify/events/journal-reader.ts';
import { openLedger, NOW_MS } from '../../state/making.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-journal-'));
  path = join(folder, 'ledger.db');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function append(event: 'writers resumed' | 'application switched'): void {
  using ledger = openLedger(path);
  ledger.journal.append({ event }, NOW_MS);
}

const read = (reader: JournalReader): string[] => reader.next().map(({ event }) => event);

test('journal reader: a ledger with a past -> only what is new, once', () => {
  append('writers resumed');
  const reader = new JournalReader(path);
  expect(read(reader)).toEqual([]);
  append('application switched');
  expect(read(reader)).toEqual(['application switched']);
  expect(read(reader)).toEqual([]);
});

test('journal reader: no ledger yet -> everything that the run writes into it', () => {
  const reader = new JournalReader(path);
  expect(read(reader)).toEqual([]);
  append('writers resumed');
  expect(read(reader)).toEqual(['writers resumed']);
});

test('journal reader: a ledger that cannot be read at first, as of an older cosmig -> its past is not new', () => {
  writeFileSync(path, 'not a ledger');
  const reader = new JournalReader(path);
  expect(read(reader)).toEqual([]);
  rmSync(path);
  append('writers resumed');
  expect(read(reader)).toEqual([]);
  append('application switched');
  expect(read(reader)).toEqual(['application switched']);
});
