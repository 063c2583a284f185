import { expect, test } from 'vitest';
import { BufferPool } from '../../../src/lib/buffers.ts';

const pool = (idleBytesMax = 1000): BufferPool => new BufferPool({ stepBytes: 100, idleBytesMax });

test('buffer pool: a returned buffer is large enough -> lent again', () => {
  const buffers = pool();
  const small = buffers.lend(150);
  const large = buffers.lend(401);
  expect([small.length, large.length]).toEqual([200, 500]);
  buffers.giveBack(large);
  buffers.giveBack(small);
  expect(buffers.lend(300)).toBe(large);
  expect(buffers.lend(200)).toBe(small);
  // Nothing is idle now: a buffer of the whole limit is kept, too.
  const whole = buffers.lend(1000);
  expect([small, large]).not.toContain(whole);
  buffers.giveBack(whole);
  expect(buffers.lend(1)).toBe(whole);
});

test('buffer pool: several idle buffers fit -> the smallest is lent, of equal ones the one used last', () => {
  const buffers = pool(2000);
  const lent = [500, 200, 300, 200, 400].map((size) => buffers.lend(size));
  for (const buffer of lent) buffers.giveBack(buffer);
  const again = [150, 101, 150, 450, 1].map((size) => lent.indexOf(buffers.lend(size)));
  expect(again).toEqual([3, 1, 2, 0, 4]);
});

test('buffer pool: a buffer is lent -> not lent to another user', () => {
  const buffers = pool();
  const one = buffers.lend(10);
  expect(buffers.lend(10)).not.toBe(one);
  buffers.giveBack(one);
  expect(buffers.lend(10)).toBe(one);
  expect(buffers.lend(10)).not.toBe(one);
});

test('buffer pool: more is returned than may be kept -> the rest is dropped', () => {
  const buffers = pool(500);
  const lent = [300, 200, 100].map((size) => buffers.lend(size));
  for (const buffer of lent) buffers.giveBack(buffer);
  const [first, second] = lent;
  const again = [1, 1, 1].map((size) => buffers.lend(size));
  expect(again[0]).toBe(second);
  expect(again[1]).toBe(first);
  expect(lent).not.toContain(again[2]);
});

test('buffer pool: returned twice -> refused', () => {
  const buffers = pool();
  const one = buffers.lend(1);
  buffers.giveBack(one);
  expect(() => buffers.giveBack(one)).toThrow('memory is given back once');
});
