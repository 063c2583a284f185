import { expect, test } from 'vitest';
import { childRidMaker, containerRid, databaseRid } from '../../../../src/emulator/storage/resource-ids.ts';

function bytesOf(rid: string): Buffer {
  expect(rid).not.toContain('/');
  return Buffer.from(rid.replaceAll('-', '/'), 'base64');
}

test('resource ids: each kind -> the length by which the SDK distinguishes it', () => {
  for (const number of [0, 1, 255, 256, 65_536, 16_777_215, 2 ** 31]) {
    expect(bytesOf(databaseRid(number))).toHaveLength(4);
    expect(bytesOf(containerRid(number, number))).toHaveLength(8);
    expect(bytesOf(childRidMaker(number, number, 'document')(number))).toHaveLength(16);
  }
});

test('resource ids: database, container, document -> each begins with its parent', () => {
  expect(bytesOf(containerRid(7, 9)).subarray(0, 4)).toEqual(bytesOf(databaseRid(7)));
  for (const kind of ['document', 'script'] as const) {
    expect(bytesOf(childRidMaker(7, 9, kind)(5)).subarray(0, 8)).toEqual(bytesOf(containerRid(7, 9)));
  }
});

test('resource ids: many numbers -> no id twice', () => {
  const numbers = [...Array(1000).keys(), 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33 - 1];
  const makers = (['document', 'script'] as const).flatMap((kind) => [
    childRidMaker(1, 1, kind),
    childRidMaker(1, 2, kind),
    childRidMaker(2, 1, kind),
  ]);
  const rids = [
    ...numbers.flatMap((number) => makers.map((make) => make(number))),
    ...numbers
      .slice(0, 1000)
      .flatMap((number) => [databaseRid(number), containerRid(1, number), containerRid(2, number)]),
  ];
  expect(new Set(rids).size).toBe(rids.length);
});
