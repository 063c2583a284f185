import { describe, expect, test } from 'vitest';
import { itemNumberOf, positionOf } from '../../../../src/emulator/storage/document-store.ts';
import type { ContainerModel } from '../../../../src/emulator/account/model.ts';
import { effectiveKey } from '../../../../src/epk/effective-key.ts';
import { MemoryAccount } from '../../../helpers/emulator/memory-account.ts';

test('a position: container and item -> both can be derived, always a safe integer', () => {
  for (const container of [1, 2, 1000, 2 ** 20 - 1]) {
    for (const item of [0, 1, 2 ** 32, 2 ** 33 - 1]) {
      const position = positionOf(container, item);
      expect([
        Number.isSafeInteger(position),
        itemNumberOf(position),
        Math.floor(position / 2 ** 33),
      ]).toEqual([true, item, container]);
    }
  }
});

function scanned(
  memory: MemoryAccount,
  container: ContainerModel,
  part: { after?: number; min?: string; max?: string } = {},
): string[] {
  const window = {
    container: container.number,
    after: 0,
    min: '',
    max: 'FF',
    nowTs: memory.account.nowTs(),
    ...part,
  };
  return [...memory.account.documents.scan(window)].map(
    ({ text }) => (JSON.parse(text) as { id: string }).id,
  );
}

describe('a scan', () => {
  test('documents were rewritten -> in the order of creation', () => {
    using memory = new MemoryAccount();
    const [one, two] = [memory.container(), memory.container()];
    for (const id of ['b', 'a', 'c'])
      for (const container of [one, two]) memory.write(container, { id, key: id });
    memory.write(one, { id: 'a', key: 'a' });
    expect([scanned(memory, one), scanned(memory, two)]).toEqual([['b', 'a', 'c'], ['b', 'a', 'c']]); // prettier-ignore
    const second =
      memory.account.documents.find(one.number, effectiveKey('hash-v2', ['a']), 'a')?.position ?? 0;
    expect(scanned(memory, one, { after: second })).toEqual(['c']);
  });

  test('one key -> the same documents as a full scan', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    for (let number = 0; number < 30; number += 1)
      memory.write(container, { id: `${number}`, key: number % 3 });
    const min = effectiveKey('hash-v2', [1]);
    const max = `${min}0`;
    const { documents } = memory.account;
    const ofKey = documents
      .positionsOf(container.number, min, '[1]')
      .map((position) => documents.at(position)?.id);
    expect(ofKey).toEqual(scanned(memory, container, { min, max }));
    expect(ofKey).toEqual(Array.from({ length: 10 }, (_, index) => `${index * 3 + 1}`));
  });

  test('expired documents -> hidden', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ defaultTtl: -1 });
    memory.write(container, { id: 'a', more: { ttl: 5 } }, { id: 'b' });
    memory.clock.advance(4999);
    expect(scanned(memory, container)).toEqual(['a', 'b']);
    memory.clock.advance(1);
    expect(scanned(memory, container)).toEqual(['b']);
  });
});

test('rowsOf: more than a thousand rows -> each once', () => {
  using memory = new MemoryAccount();
  const container = memory.container();
  for (let number = 0; number < 2500; number += 100) {
    memory.write(container, ...Array.from({ length: 100 }, (_, index) => ({ id: `${number + index}` })));
  }
  expect([...memory.account.documents.rowsOf(container.number)].map((row) => row.id)).toEqual(
    Array.from({ length: 2500 }, (_, number) => `${number}`),
  );
});

test('heaviestKeys: several keys -> stored bytes, the largest first', () => {
  using memory = new MemoryAccount();
  const container = memory.container();
  for (let number = 0; number < 12; number += 1)
    memory.write(container, { id: 'x', key: `k${number}`, more: { text: 'x'.repeat(number * 10) } });
  const { documents } = memory.account;
  const heaviest = documents.heaviestKeys(container.number, 0);
  expect(heaviest.map(({ key }) => key)).toEqual(
    Array.from({ length: 10 }, (_, rank) => `["k${11 - rank}"]`),
  );
  expect(heaviest[0]?.bytes).toBe(documents.keyBytes(container.number, effectiveKey('hash-v2', ['k11'])));
  expect(documents.keyBytes(container.number, 'FE')).toBe(0);
  expect(documents.measure(container.number, 0)).toEqual({ documents: 12, bytes: container.bytes });
});

test('keysWithin: a part of the hash space -> its first and last key', () => {
  using memory = new MemoryAccount();
  const container = memory.container();
  const epks = ['a', 'b', 'c'].map((key) => effectiveKey('hash-v2', [key])).toSorted();
  for (const key of ['a', 'b', 'c']) memory.write(container, { id: 'x', key });
  const { documents } = memory.account;
  expect(documents.keysWithin(container.number, '', 'FF')).toEqual({ first: epks[0], last: epks[2] });
  expect(documents.keysWithin(container.number, epks[1] ?? '', epks[2] ?? '')).toEqual({
    first: epks[1],
    last: epks[1],
  });
  expect(documents.keysWithin(container.number, 'FE', 'FF')).toEqual({ first: undefined, last: undefined });
});
