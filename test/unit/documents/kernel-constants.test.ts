/** The kernel is another language: its constants are written there a second time, and compared with ours here. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENTRY } from '../../../src/documents/comparison-entries.ts';
import { DOCUMENT, NODE_FIELDS, NAME_BUCKETS, ROOT, SYSTEM } from '../../../src/documents/name-tree.ts';
import { KEYS_MAX } from '../../../src/documents/kernel/pack-kernel.ts';
import { FAULTS } from '../../../src/documents/page-error.ts';
import { DEPTH_MAX, IDENTITY_BYTES_MAX, ROW_HEAD } from '../../../src/documents/kernel/scan-kernel.ts';
import { INDEX_BYTES } from '../../../src/state/index/entry.ts';
import { SEGMENT_ENTRIES_MAX } from '../../../src/state/segments/segment.ts';
import { FILTER, LEVEL, PART } from '../../../src/plan/pass/key-program.ts';
import { ROW_STATE } from '../../../src/plan/pass/key-columns.ts';
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE } from '../../../src/epk/encoding.ts';

const KERNEL = new URL('../../../wasm/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, KERNEL), 'utf8');
const CONSTANTS = new Map(
  readdirSync(KERNEL)
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...read(name).matchAll(/^(?:export )?const ([A-Z_]+)(?:: \w+)? = (\d+);/gm)])
    .map(([, name, value]) => [name, Number(value)]),
);

test.each<readonly [string, number]>([
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
  ['SEGMENT_ENTRIES_MAX', SEGMENT_ENTRIES_MAX],
  ['KEYS_MAX', KEYS_MAX],
  ['ENTRY', INDEX_BYTES],
  ['LEVEL_STORED', LEVEL.stored],
  ['LEVEL_COPIED', LEVEL.copied],
  ['PART_END', PART.end],
  ['PART_TEXT', PART.text],
  ...Object.entries(FILTER).map(([name, number]) => [`FILTER_${name.toUpperCase()}`, number] as const),
  ['ODD', ROW_STATE.odd],
  ['KEY', ROW_STATE.key],
  ['KEY_WITHOUT_VALUE', ROW_STATE.keyWithoutValue],
  ...['YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE', 'SECOND', 'MILLISECOND', 'QUARTER', 'WEEK_YEAR', 'WEEK'].map(
    (name, number) => [`PIECE_${name}`, number] as const,
  ),
])('kernel: %s -> equal to that of src/documents', (name, value) => {
  expect(CONSTANTS.get(name)).toBe(value);
});

test('kernel: fault numbers -> one for each text', () => {
  const source = read('page.ts');
  const start = source.indexOf('\nexport const END = 1;');
  const faults = source.slice(start, source.indexOf('\n\n', start)).matchAll(/= (\d+);/g);
  const numbers = Array.from(faults, ([, number]) => Number(number));
  expect(numbers).toEqual(FAULTS.map((_text, number) => number).slice(1));
});
