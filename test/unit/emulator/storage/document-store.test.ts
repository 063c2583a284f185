import { describe, expect, test } from 'vitest';
import { itemNumberOf, positionOf } from '../../../../src/emulator/storage/document-store.ts';
import type { ContainerModel } from '../../../../src/emulator/account/model.ts';
import { effectiveKey } from '../../../../src/epk/effective-key.ts';
import { MemoryAccount } from '../../../helpers/memory-account.ts';

test('a position says container and item, and never leaves the whole numbers', () => {
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
  test('walks one container in the order of creation, whatever was written since', () => {
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

  test('of one key finds what a scan of everything finds of it', () => {
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

  test('shows no expired document', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ defaultTtl: -1 });
    memory.write(container, { id: 'a', more: { ttl: 5 } }, { id: 'b' });
    memory.clock.advance(4999);
    expect(scanned(memory, container)).toEqual(['a', 'b']);
    memory.clock.advance(1);
    expect(scanned(memory, container)).toEqual(['b']);
  });
});

test('rowsOf gives every row once, beyond a thousand too', () => {
  using memory = new MemoryAccount();
  const container = memory.container();
  for (let number = 0; number < 2500; number += 100) {
    memory.write(container, ...Array.from({ length: 100 }, (_, index) => ({ id: `${number + index}` })));
  }
  expect([...memory.account.documents.rowsOf(container.number)].map((row) => row.id)).toEqual(
    Array.from({ length: 2500 }, (_, number) => `${number}`),
  );
});

test('what a key holds is measured in stored bytes, the heaviest key first', () => {
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

test('the outermost keys within a part', () => {
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
