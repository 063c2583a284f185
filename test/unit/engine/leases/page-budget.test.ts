import { describe, expect, test } from 'vitest';
import { PageBudget } from '../../../../src/engine/leases/page-budget.ts';

const NEVER = new AbortController().signal;

describe('room for pages', () => {
  test('is given until it is full, and again when a page leaves', async () => {
    const room = new PageBudget(100);
    await room.take(60, NEVER);
    let second = false;
    const waiting = room.take(60, NEVER).then(() => (second = true));
    await Promise.resolve();
    expect([second, room.usedBytes]).toEqual([false, 60]);
    room.adjust(-60);
    await waiting;
    expect([second, room.usedBytes]).toEqual([true, 60]);
  });

  test('one page always fits, however large', async () => {
    const room = new PageBudget(100);
    await room.take(5000, NEVER);
    expect(room.usedBytes).toBe(5000);
  });

  test('an aborted caller takes nothing', async () => {
    const room = new PageBudget(100);
    await room.take(100, NEVER);
    const stop = new AbortController();
    const waiting = room.take(1, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(room.usedBytes).toBe(100);
  });
});
