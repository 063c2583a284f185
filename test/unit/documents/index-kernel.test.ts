/** What the kernel sorts and merges for an index, compared with what sorting all entries at once gives. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IndexKernel, SHELVES } from '../../../src/documents/kernel/index-kernel.ts';
import { INDEX_BYTES } from '../../../src/state/index/entry.ts';
import { draws } from '../../helpers/generated.ts';

const STRIDE = 46;

/** Identities of which many begin alike, down to equal ones: as hashes do not, so the sort has to work for it. */
const identity = fc
  .tuple(
    fc.constantFrom('', 'ab', 'abcdef', 'abcdef0123456789', '00'.repeat(15), 'ff'.repeat(16)),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
  )
  .map(([prefix, bytes]) => Buffer.concat([Buffer.from(prefix, 'hex'), bytes]).subarray(0, 16));

/** Identities of a segment, each with its mark; the marks are left out, or have two or four bytes. */
const segment = fc.record({
  entries: fc.array(fc.tuple(identity, fc.constantFrom(0, 1, 258, 65_000)), { minLength: 1, maxLength: 40 }),
  markBytes: fc.constantFrom(0, 2, 4),
});

function expectedOf(
  segments: ReadonlyArray<typeof segment extends fc.Arbitrary<infer T> ? T : never>,
): Buffer[] {
  const all = segments.flatMap(({ entries, markBytes }, number) =>
    entries.flatMap(([bytes, mark], position) => {
      if (markBytes > 0 && mark === 0) return [];
      const entry = Buffer.alloc(INDEX_BYTES);
      bytes.copy(entry);
      entry.writeUInt32BE(number + 1, 16);
      entry.writeUInt16BE(position, 20);
      return [entry];
    }),
  );
  return all.toSorted((one, other) => one.compare(other));
}

function entriesIn(kernel: IndexKernel, count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) =>
    Buffer.from(kernel.sorted.subarray(i * INDEX_BYTES, (i + 1) * INDEX_BYTES)),
  );
}

describe('index kernel', () => {
  test('collected segments -> their written documents, sorted; then others in the same memory', () => {
    const kernel = new IndexKernel();
    const check = (segments: Parameters<typeof expectedOf>[0]): void => {
      segments.forEach(({ entries, markBytes }, number) => {
        const data = Buffer.alloc(entries.length * STRIDE, 0xee);
        const marks = Buffer.alloc(entries.length * markBytes);
        entries.forEach(([bytes, mark], position) => {
          bytes.copy(data, position * STRIDE);
          if (markBytes > 0) marks.writeUIntLE(mark, position * markBytes, markBytes);
        });
        kernel.collect(
          { number: number + 1, count: entries.length, data, marks: markBytes === 0 ? null : marks },
          STRIDE,
        );
      });
      const sorted = Array.from({ length: SHELVES }, (_, shelf) =>
        entriesIn(kernel, kernel.sortShelf(shelf)),
      );
      kernel.clear();
      expect(sorted.flat()).toEqual(expectedOf(segments));
    };
    fc.assert(fc.property(fc.array(segment, { maxLength: 20 }), check), { numRuns: draws(60) });
  });

  test('a shelf without space for another segment -> full', () => {
    const kernel = new IndexKernel();
    const full = { number: 1, count: 256, data: Buffer.alloc(256 * STRIDE), marks: null };
    let segments = 0;
    for (; !kernel.isFull; segments += 1) kernel.collect(full, STRIDE);
    expect(segments).toBe(10);
    expect(() => kernel.collect(full, STRIDE)).toThrow(/space on every shelf/);
    expect(kernel.sortShelf(0)).toBe(2560);
    kernel.clear();
    expect(kernel.isFull).toBe(false);
  });

  test('runs in blocks of any size -> merged, a block at a time, and never more entries than asked for', () => {
    const kernel = new IndexKernel();
    const runs = fc.array(fc.array(fc.array(identity, { minLength: 1, maxLength: 12 }), { maxLength: 4 }), {
      maxLength: 64,
    });
    const check = (lists: Buffer[][][], countMax: number): void => {
      let number = 0;
      const blocksOf = (list: Buffer[][]): Buffer[] => {
        const entries = list.flat().map((bytes) => {
          const entry = Buffer.alloc(INDEX_BYTES);
          bytes.copy(entry);
          entry.writeUInt32BE((number += 1), 16);
          return entry;
        });
        const sorted = entries.toSorted((one, other) => one.compare(other));
        return list.map(({ length }) => Buffer.concat(sorted.splice(0, length)));
      };
      const blocks = lists.map(blocksOf);
      const all = blocks
        .flat(1)
        .flatMap((block) =>
          Array.from({ length: block.length / INDEX_BYTES }, (_, i) =>
            Buffer.from(block.subarray(i * INDEX_BYTES, (i + 1) * INDEX_BYTES)),
          ),
        );
      kernel.beginMerge();
      const give = (cursor: number): void => {
        const block = blocks[cursor]?.shift();
        if (block !== undefined) kernel.addBlock(cursor, block, 0);
      };
      blocks.forEach((_, cursor) => give(cursor));
      const merged: Buffer[] = [];
      for (;;) {
        const { count, cursor } = kernel.merge(countMax);
        expect(count).toBeLessThanOrEqual(countMax);
        if (count === 0) break;
        merged.push(...entriesIn(kernel, count));
        if (cursor !== undefined) give(cursor);
      }
      expect(merged).toEqual(all.toSorted((one, other) => one.compare(other)));
    };
    fc.assert(fc.property(runs, fc.constantFrom(1, 7, 2000), check), { numRuns: draws(60) });
  });

  test('entries of one identity -> found one after the other', () => {
    const kernel = new IndexKernel();
    const data = Buffer.alloc(6 * STRIDE);
    [1, 2, 2, 2, 3, 4].forEach((byte, position) => (data[position * STRIDE + 9] = byte));
    kernel.collect({ number: 1, count: 6, data, marks: null }, STRIDE);
    expect(kernel.sortShelf(0)).toBe(6);
    expect([0, 1, 2, 3, 4, 5].map((first) => kernel.nextRival(first, 6))).toEqual([1, 1, 2, 5, 5, 5]);
  });
});
