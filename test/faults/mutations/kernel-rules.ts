/** The rules of the kernel (wasm/): what keeps what it knows of earlier documents from being taken for others. */
import type { Rule } from './rule.ts';

const KEYS = 'wasm/known-keys.ts';
const NAMES = 'wasm/known-names.ts';
const PACK = 'wasm/pack.ts';
const NAMES_TEST = 'test/unit/documents/page-blocks.test.ts';
const PACKED_TEST = 'test/unit/engine/copy/packed-documents.test.ts';

export const KERNEL_RULES: readonly Rule[] = [
  {
    name: 'name-of-another-object',
    edits: [{ file: NAMES, find: 'load<u32>(entry, OBJECT) == object && !', replace: '!' }],
    test: NAMES_TEST,
    by: 'documents that repeat names in any order and object',
  },
  {
    name: 'name-equal-at-its-start',
    edits: [{ file: NAMES, find: '!v128.any_true(v128.or(start, rest))', replace: '!v128.any_true(start)' }],
    test: NAMES_TEST,
    by: 'a known name, changed at any byte',
  },
  {
    name: 'names-of-another-scan',
    edits: [
      {
        file: NAMES,
        find: '  memory.fill(zeros, 0, 32 + ENTRIES * ENTRY_BYTES);\n',
        replace: '  memory.fill(zeros, 0, 32);\n',
      },
    ],
    test: NAMES_TEST,
    by: 'another scan looks for other names',
  },
  {
    name: 'key-found-by-its-bucket',
    edits: [
      {
        file: KEYS,
        find: `      load<u32>(at, 4) == mark &&
      usize(load<u32>(at, 12)) == size &&
      isSame(usize(load<u32>(at, 8)), input, size)`,
        replace: '      usize(load<u32>(at, 12)) == size',
      },
    ],
    test: PACKED_TEST,
    by: 'the same bytes',
  },
  {
    name: 'group-ends-early',
    edits: [
      {
        file: PACK,
        find: 'for (let first: u32 = 0; first < count; first += GROUP)\n    to = packGroup(',
        replace: 'for (let first: u32 = 0; first + 1 < count; first += GROUP)\n    to = packGroup(',
      },
    ],
    test: PACKED_TEST,
    by: 'the same bytes',
  },
  {
    name: 'page-is-freed-while-used',
    edits: [
      {
        file: 'src/engine/copy/copied-page.ts',
        find: 'return this.flat.count > 0;',
        replace: 'return false;',
      },
    ],
    test: PACKED_TEST,
    by: 'the same as value by value',
  },
  {
    name: 'group-forgets-a-text',
    edits: [
      {
        file: PACK,
        find: '  v128.store(texts, i64x2.splat(0));\n',
        replace: '',
      },
    ],
    test: PACKED_TEST,
    by: 'the same as value by value',
  },
  {
    name: 'segment-of-any-size',
    edits: [
      {
        file: PACK,
        find: 'end < entryCount && end - first < SEGMENT_ENTRIES_MAX;',
        replace: 'end < entryCount;',
      },
    ],
    test: PACKED_TEST,
    by: 'the same bytes',
  },
  {
    name: 'segment-of-any-span',
    edits: [
      { file: PACK, find: '    if (max(high, lsn) - min(low, lsn) >= LSN_SPAN) break;\n', replace: '' },
    ],
    test: PACKED_TEST,
    by: 'the same bytes',
  },
  {
    name: 'key-of-the-same-length',
    edits: [
      {
        file: PACK,
        find: 'return size == packedBytes(other) && isSame(packedAt(one), packedAt(other), size);',
        replace: 'return size == packedBytes(other);',
      },
    ],
    test: PACKED_TEST,
    by: 'the same bytes',
  },
];
