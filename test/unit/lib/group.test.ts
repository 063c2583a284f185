import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { whenAborted } from '../../../src/lib/abort.ts';
import { forEachConcurrently, group, type Group } from '../../../src/lib/group.ts';

const { signal: forever } = new AbortController();

test('group: all members have ended -> the result of the body', async () => {
  const ended: string[] = [];
  const result = await group(forever, async (members) => {
    members.start(async () => {
      await Promise.resolve();
      ended.push('first');
      // A member may start another one.
      members.start(async () => {
        await Promise.resolve();
        ended.push('second');
      });
    });
    return 'result';
  });
  expect(result).toBe('result');
  expect(ended).toEqual(['first', 'second']);
  expect(getEventListeners(forever, 'abort')).toEqual([]);
});

test('group: a member fails -> the others are aborted and awaited, the failure is thrown', async () => {
  const failure = new Error('the disk is full');
  const seen: unknown[] = [];
  const run = group(forever, async (members) => {
    members.start(async (signal) => {
      await whenAborted(signal);
      seen.push(signal.reason);
      throw new Error('an echo of the first');
    });
    members.start(() => Promise.reject(failure));
    await whenAborted(members.signal);
  });
  await expect(run).rejects.toBe(failure);
  expect(seen).toEqual([failure]);
});

test('group: the body throws -> its members are aborted', async () => {
  let stopped = false;
  const run = group(forever, async (members) => {
    members.start(async (signal) => {
      await whenAborted(signal);
      stopped = true;
    });
    throw new Error('no body');
  });
  await expect(run).rejects.toThrow('no body');
  expect(stopped).toBe(true);
});

test('group: a member throws synchronously -> the group fails with it', async () => {
  const run = group(forever, async (members) => {
    members.start(() => {
      throw new Error('at once');
    });
  });
  await expect(run).rejects.toThrow('at once');
});

test('group: the parent is aborted -> members stop with its reason', async () => {
  const parent = new AbortController();
  const run = group(parent.signal, async (members) => {
    members.start(async (signal) => {
      await whenAborted(signal);
      signal.throwIfAborted();
    });
  });
  parent.abort(new Error('the operator stopped it'));
  await expect(run).rejects.toThrow('the operator stopped it');
});

test('group: start after the end -> refused', async () => {
  let kept: Group | undefined;
  await group(forever, async (members) => {
    kept = members;
  });
  expect(() => kept?.start(() => Promise.resolve())).toThrow('no members after its end');
});

test('forEachConcurrently: all items and those returned by work -> worked on, at most `limit` at a time', async () => {
  let [now, most] = [0, 0];
  const seen: number[] = [];
  const work = async (n: number): Promise<readonly number[]> => {
    most = Math.max(most, (now += 1));
    await Promise.resolve();
    now -= 1;
    seen.push(n);
    return n < 3 ? [n + 10, n + 20] : [];
  };
  await forEachConcurrently([0, 1, 2, 3, 4], { limit: 2, signal: forever, work });
  expect(seen.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 20, 21, 22]);
  expect(most).toBe(2);
});
