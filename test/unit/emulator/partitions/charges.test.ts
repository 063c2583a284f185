import { describe, expect, test } from 'vitest';
import {
  CONFLICT_RU,
  EMPTY_POLL_RU,
  feedCharge,
  POINT_MISS_RU,
  queryCharge,
  readCharge,
  replaceCharge,
  roundRu,
  THROTTLED_RU,
  writeCharge,
} from '../../../../src/emulator/partitions/charges.ts';

const KB = 1024;

describe('the tables of fact SVC-31', () => {
  test.each([
    [1, 1, 4.95],
    [2, 1.04, 6.29],
    [4, 1.14, 6.67],
    [8, 1.33, 7.04],
    [16, 1.67, 9.52],
    [32, 2.19, 11.23],
    [64, 4.76, 22.67],
    [128, 9.95, 48.19],
    [256, 20.28, 98.29],
    [512, 40.95, 184.57],
    [1024, 145.9, 625],
    [2048, 291.8, 1250],
  ])('%i KB -> %f to read, %f to write', (kb, read, write) => {
    expect(readCharge(kb * KB)).toBe(read);
    expect(writeCharge(kb * KB, 0)).toBe(write);
  });

  test.each([
    ['nothing costs as much as 1 KB', 0, 1, 4.95],
    ['half a KB costs as much as 1 KB', 512, 1, 4.95],
    ['halfway between columns', 1.5 * KB, 1.02, 5.62],
    ['3 KB', 3 * KB, 1.09, 6.48],
    ['80 KB', 80 * KB, 6.06, 29.05],
    ['beyond the table, along its last slope', 3072 * KB, 437.7, 1875],
  ])('%s -> the stated charges of a read and a write', (_, bytes, read, write) => {
    expect(readCharge(bytes)).toBe(read);
    expect(writeCharge(bytes, 0)).toBe(write);
  });
});

// Microsoft's page works its examples with a 1 KB write of 5 RU, its own table says 4.95. We keep the table,
// so each example comes out 0.05 RU lower for every version of the item that is written.
describe('the worked examples of fact SVC-31', () => {
  const WRITE_ROUNDED_UP_RU = 0.05;
  test.each([
    ['create 1 KB with 10 terms', writeCharge(KB, 10), 7, 1],
    // Two terms changed: two removed, two added.
    ['replace 1 KB, two terms changed', replaceCharge(KB, KB, 4), 10.8, 2],
    ['the same as a patch', replaceCharge(KB, KB, 4, 2), 11.6, 2],
    ['delete 1 KB with 10 terms', writeCharge(KB, 10), 7, 1],
  ])('%s -> the stated charge', (_, charge, stated, writes) => {
    expect(roundRu(charge + writes * WRITE_ROUNDED_UP_RU)).toBe(stated);
  });

  test('1,000 items of 1 KB, however they are read -> about 1,000 RU', () => {
    const sizes = Array.from({ length: 1000 }, () => KB);
    expect(feedCharge(sizes)).toBe(1000);
    expect(queryCharge(1, { items: 1000, bytes: 1000 * KB })).toBe(1002.5);
  });
});

test('a replace: two sizes -> both are charged', () => {
  expect(replaceCharge(64 * KB, KB, 0)).toBe(27.62);
  expect(replaceCharge(KB, KB, 0)).toBe(2 * writeCharge(KB, 0));
});

test('a query: ranges and documents -> both are charged', () => {
  const nothing = { items: 0, bytes: 0 };
  expect([queryCharge(1, nothing), queryCharge(4, nothing)]).toEqual([2.5, 10]);
  expect(queryCharge(2, { items: 2, bytes: 3 * KB })).toBe(7.04);
});

test('a feed page: items or none -> charged for the items, or for the poll', () => {
  expect([feedCharge([]), feedCharge([KB, 4 * KB])]).toEqual([2, 2.14]);
});

test('other charges: misses, conflicts, throttling, empty polls -> their constants', () => {
  expect([POINT_MISS_RU, CONFLICT_RU, THROTTLED_RU, EMPTY_POLL_RU]).toEqual([1.24, 1.24, 0.38, 2]);
});

test.each([
  [0, 0],
  [1.005, 1],
  [6.949_999_999_999_999, 6.95],
  [0.1 + 0.2, 0.3],
  [1234.567, 1234.57],
])('charges: %f -> rounded to %f', (ru, expected) => {
  expect(roundRu(ru)).toBe(expected);
});
