/** Packs the outcome numbers of a segment: usually into two bytes each, and into no bytes if they are consecutive. */
import { assert } from '../../lib/assert.ts';

export interface Marks {
  readonly base: number;
  readonly marks: Buffer | null;
}

/** Packs the numbers. A number of 0 means that the document was not written. */
export function packMarks(sequences: ArrayLike<number>): Marks {
  let [base, last] = [Infinity, 0];
  let isConsecutive = true;
  for (let i = 0; i < sequences.length; i += 1) {
    const sequence = sequences[i] ?? 0;
    if (sequence === 0) isConsecutive = false;
    else {
      if (sequence < base) base = sequence;
      if (sequence > last) last = sequence;
      if (sequence !== (sequences[0] ?? 0) + i) isConsecutive = false;
    }
  }
  if (base === Infinity) base = 0;
  if (isConsecutive) return { base, marks: null };
  const width = last - base < 0xff_ff ? 2 : 4;
  assert(last - base < 0xffff_ffff, 'the outcomes of one page are known within four billion others');
  const marks = Buffer.alloc(sequences.length * width);
  for (let i = 0; i < sequences.length; i += 1) {
    const sequence = sequences[i] ?? 0;
    const mark = sequence === 0 ? 0 : sequence - base + 1;
    if (width === 2) marks.writeUInt16LE(mark, i * 2);
    else marks.writeUInt32LE(mark, i * 4);
  }
  return { base, marks };
}

/** Returns the outcome number of the document at `position` of `count` documents; 0 if it was not written. */
export function markAt({ base, marks }: Marks, count: number, position: number): number {
  if (marks === null) return base + position;
  const mark =
    marks.length === count * 2 ? marks.readUInt16LE(position * 2) : marks.readUInt32LE(position * 4);
  return mark === 0 ? 0 : base + mark - 1;
}
