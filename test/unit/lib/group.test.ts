import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { whenAborted } from '../../../src/lib/abort.ts';
import { eachOf, group, type Group } from '../../../src/lib/group.ts';

const { signal: forever } = new AbortController();

test('gives what the body returned, once every member has ended', async () => {
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

test('the first failure aborts the others, waits for them and is thrown', async () => {
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

test('a body that throws takes its members with it', async () => {
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

test('a member that throws before its first await is a failure like any other', async () => {
  const run = group(forever, async (members) => {
    members.start(() => {
      throw new Error('at once');
    });
  });
  await expect(run).rejects.toThrow('at once');
});

test('an aborted parent stops the members with its reason', async () => {
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

test('takes no members after its end', async () => {
  let kept: Group | undefined;
  await group(forever, async (members) => {
    kept = members;
  });
  expect(() => kept?.start(() => Promise.resolve())).toThrow('no members after its end');
});

test('each has its turn, what it gives as well, and no more than so many at a time', async () => {
  let [now, most] = [0, 0];
  const seen: number[] = [];
  const work = async (n: number): Promise<readonly number[]> => {
    most = Math.max(most, (now += 1));
    await Promise.resolve();
    now -= 1;
    seen.push(n);
    return n < 3 ? [n + 10, n + 20] : [];
  };
  await eachOf([0, 1, 2, 3, 4], { atOnce: 2, signal: forever, work });
  expect(seen.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 20, 21, 22]);
  expect(most).toBe(2);
});
