/** The kernel is another language: its constants are written there a second time, and compared with ours here. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENTRY } from '../../../src/documents/comparison-entries.ts';
import { DOCUMENT, NODE_FIELDS, NAME_BUCKETS, ROOT, SYSTEM } from '../../../src/documents/name-tree.ts';
import { FAULTS } from '../../../src/documents/page-error.ts';
import { DEPTH_MAX, IDENTITY_BYTES_MAX, ROW_HEAD } from '../../../src/documents/wasm-kernel.ts';
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE } from '../../../src/epk/encoding.ts';

const SOURCE = readFileSync(new URL('../../../wasm/kernel.ts', import.meta.url), 'utf8');
const CONSTANTS = new Map(
  [...SOURCE.matchAll(/^const ([A-Z_]+)(?:: \w+)? = (\d+);/gm)].map(([, name, value]) => [
    name,
    Number(value),
  ]),
);

test.each([
  ['DEPTH_MAX', DEPTH_MAX],
  ['ROW_HEAD', ROW_HEAD * 4],
  ['NODE_BYTES', NODE_FIELDS * 4],
  ['FLAG_DOCUMENT', DOCUMENT],
  ['FLAG_SYSTEM', SYSTEM],
  ['ROOT', ROOT],
  ['NAME_BUCKETS', NAME_BUCKETS],
  ['IDENTITY_BYTES_MAX', IDENTITY_BYTES_MAX],
  ['ENTRY_HEAD', ENTRY.name * 4],
  ['TYPE_MISSING', MISSING],
  ['TYPE_NULL', NULL],
  ['TYPE_FALSE', FALSE],
  ['TYPE_TRUE', TRUE],
  ['TYPE_NUMBER', NUMBER],
  ['TYPE_TEXT', TEXT],
])('kernel: %s -> equal to that of src/documents', (name, value) => {
  expect(CONSTANTS.get(name)).toBe(value);
});

test('kernel: fault numbers -> one for each text', () => {
  const start = SOURCE.indexOf('\nconst END = 1;');
  const faults = SOURCE.slice(start, SOURCE.indexOf('\n\n', start)).matchAll(/= (\d+);/g);
  const numbers = Array.from(faults, ([, number]) => Number(number));
  expect(numbers).toEqual(FAULTS.map((_text, number) => number).slice(1));
});
