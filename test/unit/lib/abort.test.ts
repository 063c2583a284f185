import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { assert } from '../../../src/lib/assert.ts';
import {
  abortReason,
  ChildSignal,
  Deadline,
  DeadlinePassed,
  orAborted,
  sleep,
  whenAborted,
} from '../../../src/lib/abort.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  assert(left === 0, 'no wait leaves a timer behind');
});

test('a hundred waits under one signal are no leak, and Node is not heard to say so', async () => {
  const warned = vi.fn<(warning: Error) => void>();
  process.on('warning', warned);
  try {
    const calling = new AbortController();
    const waits = Array.from({ length: 100 }, () => sleep(1000, calling.signal));
    calling.abort(new Error('called off'));
    const ends = await Promise.allSettled(waits);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    // Node tells its warnings in the next turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(warned).not.toHaveBeenCalled();
    expect(listeners(calling.signal)).toBe(0);
  } finally {
    process.off('warning', warned);
  }
});

describe('sleep', () => {
  test('ends after its time and leaves nothing behind', async () => {
    const { signal } = new AbortController();
    const slept = sleep(1000, signal);
    await vi.advanceTimersByTimeAsync(1000);
    await expect(slept).resolves.toBeUndefined();
    expect(listeners(signal)).toBe(0);
  });

  test('ends with the reason when called off, and leaves nothing behind', async () => {
    const owner = new AbortController();
    const slept = sleep(1000, owner.signal);
    const reason = new Error('the operator went home');
    owner.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(listeners(owner.signal)).toBe(0);
  });

  test('refuses a time that Node would cut to nothing', async () => {
    await expect(sleep(2 ** 31, new AbortController().signal)).rejects.toThrow('24 days');
  });

  test('does not begin under a signal that is aborted already', async () => {
    const reason = new Error('too late');
    await expect(sleep(1000, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('orAborted', () => {
  test('hands through what the promise gives or throws', async () => {
    const { signal } = new AbortController();
    await expect(orAborted(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(listeners(signal)).toBe(0);
  });
});

describe('abortReason', () => {
  test('is an Error even when somebody aborted with something else', () => {
    expect(abortReason(AbortSignal.abort('bored'))).toEqual(new Error('called off: bored'));
  });
});

describe('whenAborted', () => {
  test('resolves at the abort, before and after it', async () => {
    const owner = new AbortController();
    const ended = whenAborted(owner.signal);
    owner.abort(new Error('done'));
    await expect(ended).resolves.toBeUndefined();
    await expect(whenAborted(owner.signal)).resolves.toBeUndefined();
  });
});

describe('ChildSignal', () => {
  test('follows its parent with the same reason', () => {
    const parent = new AbortController();
    using child = new ChildSignal(parent.signal);
    const reason = new Error('all stop');
    parent.abort(reason);
    expect(child.signal.reason).toBe(reason);
  });

  test('can be aborted alone, and the first reason stays', () => {
    const parent = new AbortController();
    using child = new ChildSignal(parent.signal);
    const first = new Error('first');
    child.abort(first);
    child.abort(new Error('second'));
    expect(child.signal.reason).toBe(first);
    expect(parent.signal.aborted).toBe(false);
  });

  test('lets go of its parent when disposed of', () => {
    const parent = new AbortController();
    {
      using child = new ChildSignal(parent.signal);
      expect(child.signal.aborted).toBe(false);
      expect(listeners(parent.signal)).toBe(1);
    }
    expect(listeners(parent.signal)).toBe(0);
  });
});

describe('Deadline', () => {
  test('says what took too long', async () => {
    const { signal } = new AbortController();
    using deadline = new Deadline(500, 'the split', signal);
    await vi.advanceTimersByTimeAsync(500);
    expect(deadline.signal.reason).toEqual(new DeadlinePassed('the split took longer than 500 ms'));
  });

  test('follows its parent, and leaves no timer or listener when disposed of', () => {
    const parent = new AbortController();
    {
      using deadline = new Deadline(500, 'the split', parent.signal);
      parent.abort(new Error('all stop'));
      expect(deadline.signal.reason).toEqual(new Error('all stop'));
    }
    expect(listeners(parent.signal)).toBe(0);
  });
});
