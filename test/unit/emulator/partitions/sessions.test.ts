import { describe, expect, test } from 'vitest';
import { read } from '../../../../src/emulator/documents/operations.ts';
import { newRange, type RangeModel } from '../../../../src/emulator/partitions/ranges.ts';
import { sessionToken, visibleLsn } from '../../../../src/emulator/partitions/sessions.ts';
import { must } from '../../../../src/lib/assert.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';

const RANGE: RangeModel = { ...newRange(5, '', 'FF'), parents: [1, 3], lsn: 10 };

describe('a session token', () => {
  test('a token -> parsed by the SDK', () => {
    expect(sessionToken(RANGE, 10)).toBe('5:-1#10');
  });

  test.each<[string | undefined]>([
    [undefined], [''], ['5:-1#10'], ['5:-1#3'], ['5:-1#0'], [' 5:-1#10 , 9:-1#99'], ['9:-1#99'], ['3:-1#10'], ['1:-1#4,5:-1#2'],
    ['junk'], [',,'], ['5:-1#10#1=4'], ['55:-1#99'],
  ])('%j -> the present state', (token) => {
    using memory = new MemoryAccount();
    expect(visibleLsn(memory.account, RANGE, token)).toBe(10);
  }); // prettier-ignore

  test.each(['5:-1#11', '3:-1#11', '1:-1#999999', '5:-1#3,5:-1#12', '9:-1#1,5:-1#9007199254740991'])(
    '%j, ahead of the range -> 404/1002',
    (token) => {
      using memory = new MemoryAccount();
      expect(refusalOf(() => visibleLsn(memory.account, RANGE, token))).toEqual({
        status: 404,
        substatus: 1002,
      });
    },
  );

  test.each(['5:', '5', '5:-1', '5:-1#x', '5:-1#1.5', '5:-1#1e400', '5:-1#NaN', '1:#'])(
    '%j -> refused',
    (token) => {
      using memory = new MemoryAccount();
      expect(refusalOf(() => visibleLsn(memory.account, RANGE, token))?.status).toBe(400);
    },
  );
});

describe('a lagging replica', () => {
  test('without the token -> an older state, with it the write', () => {
    using memory = new MemoryAccount({ replicaLagMs: 1000 });
    const container = memory.container();
    const range = must(container.ranges[0], 'one range');
    const get = (sessionToken?: string): unknown => {
      const operation = { kind: 'read', key: ['k'], id: 'a', sessionToken } as const;
      return (JSON.parse(read(memory.account, container, operation).text ?? '') as { v: unknown })['v'];
    };
    memory.write(container, { id: 'a', more: { v: 1 } });
    expect(refusalOf(() => get())?.status).toBe(404);
    expect(get(sessionToken(range, 1))).toBe(1);
    memory.clock.advance(1000);
    memory.write(container, { id: 'a', more: { v: 2 } });
    memory.clock.advance(500);
    memory.write(container, { id: 'a', more: { v: 3 } });
    expect([get(), get('0:-1#2'), get('0:-1#3')]).toEqual([1, 2, 3]);
    memory.clock.advance(500);
    expect([get(), get('0:-1#3')]).toEqual([2, 3]);
    memory.clock.advance(500);
    expect(get()).toBe(3);
    memory.write(container, { id: 'a', kind: 'delete' });
    expect(get()).toBe(3);
    expect(refusalOf(() => get(sessionToken(range, 4)))?.status).toBe(404);
  });
});
