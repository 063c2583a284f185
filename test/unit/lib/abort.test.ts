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

test('orAborted: a hundred waits on one signal -> no leak warning of Node', async () => {
  const warned = vi.fn<(warning: Error) => void>();
  process.on('warning', warned);
  try {
    const calling = new AbortController();
    const waits = Array.from({ length: 100 }, () => sleep(1000, calling.signal));
    calling.abort(new Error('canceled'));
    const ends = await Promise.allSettled(waits);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    // Node emits its warnings in the next turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(warned).not.toHaveBeenCalled();
    expect(listeners(calling.signal)).toBe(0);
  } finally {
    process.off('warning', warned);
  }
});

describe('sleep', () => {
  test('sleep: the time has passed -> resolves, no timer or listener is left', async () => {
    const { signal } = new AbortController();
    const slept = sleep(1000, signal);
    await vi.advanceTimersByTimeAsync(1000);
    await expect(slept).resolves.toBeUndefined();
    expect(listeners(signal)).toBe(0);
  });

  test('sleep: aborted -> rejects with the reason, no timer or listener is left', async () => {
    const owner = new AbortController();
    const slept = sleep(1000, owner.signal);
    const reason = new Error('the operator went home');
    owner.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(listeners(owner.signal)).toBe(0);
  });

  test('sleep: longer than Node allows -> refused', async () => {
    await expect(sleep(2 ** 31, new AbortController().signal)).rejects.toThrow('24 days');
  });

  test('sleep: already aborted -> rejects without waiting', async () => {
    const reason = new Error('too late');
    await expect(sleep(1000, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('orAborted', () => {
  test('orAborted: not aborted -> settles like the promise', async () => {
    const { signal } = new AbortController();
    await expect(orAborted(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(listeners(signal)).toBe(0);
  });
});

describe('abortReason', () => {
  test('abortReason: the reason is not an Error -> wrapped in one', () => {
    expect(abortReason(AbortSignal.abort('bored'))).toEqual(new Error('aborted: bored'));
  });
});

describe('whenAborted', () => {
  test('whenAborted: aborted before or after the call -> resolves', async () => {
    const owner = new AbortController();
    const ended = whenAborted(owner.signal);
    owner.abort(new Error('done'));
    await expect(ended).resolves.toBeUndefined();
    await expect(whenAborted(owner.signal)).resolves.toBeUndefined();
  });
});

describe('ChildSignal', () => {
  test('ChildSignal: the parent is aborted -> aborted with the same reason', () => {
    const parent = new AbortController();
    using child = new ChildSignal(parent.signal);
    const reason = new Error('all stop');
    parent.abort(reason);
    expect(child.signal.reason).toBe(reason);
  });

  test('ChildSignal: aborted twice -> the first reason stays, the parent is not aborted', () => {
    const parent = new AbortController();
    using child = new ChildSignal(parent.signal);
    const first = new Error('first');
    child.abort(first);
    child.abort(new Error('second'));
    expect(child.signal.reason).toBe(first);
    expect(parent.signal.aborted).toBe(false);
  });

  test('ChildSignal: disposed -> no listener on the parent', () => {
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
  test('ChildSignal: one that was disposed by another, while the parent is aborted -> not aborted', () => {
    const parent = new AbortController();
    const first = new ChildSignal(parent.signal);
    const second = new ChildSignal(parent.signal);
    first.signal.addEventListener('abort', () => second[Symbol.dispose]());
    parent.abort(new Error('over'));
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
    expect(listeners(parent.signal)).toBe(0);
  });

  test('Deadline: passed -> the reason names what took too long', async () => {
    const { signal } = new AbortController();
    using deadline = new Deadline(500, 'the split', signal);
    await vi.advanceTimersByTimeAsync(500);
    expect(deadline.signal.reason).toEqual(new DeadlinePassed('the split took longer than 500 ms'));
  });

  test('Deadline: the parent is aborted, or disposed -> follows it, no timer or listener is left', () => {
    const parent = new AbortController();
    {
      using deadline = new Deadline(500, 'the split', parent.signal);
      parent.abort(new Error('all stop'));
      expect(deadline.signal.reason).toEqual(new Error('all stop'));
    }
    expect(listeners(parent.signal)).toBe(0);
  });
});
