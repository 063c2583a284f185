import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteOutput } from '../../../src/documents/byte-output.ts';
import { Pieces } from '../../../src/documents/page-pieces.ts';
import { draws } from '../../helpers/generated.ts';

const page = Buffer.from(Array.from({ length: 5000 }, (_, i) => 0x20 + ((i * 7) % 90)));

const put = fc.oneof(
  fc.record({ from: fc.nat(4000), size: fc.oneof(fc.nat(5), fc.nat(900)) }),
  fc.record({ text: fc.string({ unit: 'binary', maxLength: 300 }) }),
);

test('pieces: documents written piece by piece -> the same bytes', () => {
  const pieces = new Pieces();
  fc.assert(
    fc.property(fc.array(fc.array(put, { maxLength: 12 }), { maxLength: 30 }), (documents) => {
      pieces.begin(page);
      const places = documents.map((puts) => {
        const expected = new ByteOutput();
        const [first, before] = [pieces.count, pieces.length];
        for (const one of puts) {
          for (const out of [pieces, expected]) {
            if ('text' in one) out.putText(one.text);
            else out.putSlice(page, one.from, one.from + one.size);
          }
        }
        const sizeBytes = pieces.length - before;
        return { first, behind: pieces.count, sizeBytes, expected: Buffer.from(expected.view()) };
      });
      for (const { first, behind, sizeBytes, expected } of places) {
        const out = Buffer.alloc(expected.length + 7);
        expect(pieces.write(first, behind, out, 3)).toBe(3 + sizeBytes);
        expect(out.subarray(3, 3 + sizeBytes).equals(expected)).toBe(true);
        expect([...out.subarray(0, 3), ...out.subarray(3 + sizeBytes)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
      }
    }),
    { numRuns: draws(200) },
  );
});

test('pieces: more than the initial space, then a small page -> both are complete', () => {
  const pieces = new Pieces();
  pieces.begin(page);
  for (let i = 0; i < 20_000; i += 1) pieces.putSlice(page, i % 4000, (i % 4000) + 1);
  const out = Buffer.alloc(20_000);
  expect(pieces.write(0, pieces.count, out, 0)).toBe(20_000);
  expect(out.equals(Buffer.from(Array.from(out, (_, i) => page[i % 4000] ?? 0)))).toBe(true);
  pieces.begin(page);
  pieces.putText('new');
  expect(pieces.write(0, pieces.count, out, 0)).toBe(3);
  expect(out.toString('latin1', 0, 3)).toBe('new');
});
