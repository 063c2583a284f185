import { describe, expect, test } from 'vitest';
import { PageBudget } from '../../../../src/engine/leases/page-budget.ts';

const NEVER = new AbortController().signal;

/** Whether so many bytes can be taken now. They are given back, so that the budget is as it was. */
async function fits(budget: PageBudget, bytes: number): Promise<boolean> {
  const stop = new AbortController();
  const taking = budget
    .take(() => bytes, stop.signal)
    .then(
      () => true,
      () => false,
    );
  stop.abort(new Error('does not fit'));
  const isTaken = await taking;
  if (isTaken) budget.adjust(-bytes);
  return isTaken;
}

describe('page budget', () => {
  test('full -> the next page waits until another one leaves', async () => {
    const budget = new PageBudget(100);
    await budget.take(() => 60, NEVER);
    expect([await fits(budget, 40), await fits(budget, 41)]).toEqual([true, false]);
    let second = false;
    const waiting = budget.take(() => 60, NEVER).then(() => (second = true));
    await Promise.resolve();
    expect(second).toBe(false);
    budget.adjust(-60);
    await waiting;
    expect(second).toBe(true);
    expect([await fits(budget, 40), await fits(budget, 41)]).toEqual([true, false]);
  });

  test('one page, however large -> it fits', async () => {
    const budget = new PageBudget(100);
    await budget.take(() => 5000, NEVER);
    expect(await fits(budget, 1)).toBe(false);
    // More than the maximum fits into an empty budget only: all 5000 bytes were counted, and no others.
    budget.adjust(-5000);
    expect(await fits(budget, 5000)).toBe(true);
  });

  test('several wait -> they get their bytes in their order; one that is aborted lets the next one pass', async () => {
    const budget = new PageBudget(100);
    await budget.take(() => 100, NEVER);
    const order: string[] = [];
    const stop = new AbortController();
    const large = budget
      .take(() => 90, stop.signal)
      .then(
        () => order.push('large'),
        () => order.push('aborted'),
      );
    const small = [1, 2, 3].map(async (n) => {
      await budget.take(() => 10, NEVER);
      order.push(`small ${n}`);
    });
    budget.adjust(-30);
    expect(await fits(budget, 1)).toBe(false);
    expect(order).toEqual([]);
    stop.abort(new Error('enough'));
    await Promise.all([large, ...small]);
    expect(order.toSorted()).toEqual(['aborted', 'small 1', 'small 2', 'small 3']);
    expect([await fits(budget, 0), await fits(budget, 1)]).toEqual([true, false]);
  });

  test('pages turn out to be smaller than expected -> those that wait for less are let in', async () => {
    const budget = new PageBudget(100);
    let expected = 80;
    const taken = [1, 2, 3].map(async () => budget.take(() => expected, NEVER));
    expect(await taken[0]).toBe(80);
    expected = 30;
    budget.adjust(30 - 80);
    expect(await Promise.all(taken)).toEqual([80, 30, 30]);
    expect([await fits(budget, 10), await fits(budget, 11)]).toEqual([true, false]);
  });

  test('a waiting caller is aborted -> it takes nothing', async () => {
    const budget = new PageBudget(100);
    await budget.take(() => 100, NEVER);
    const stop = new AbortController();
    const waiting = budget.take(() => 1, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    budget.adjust(-100);
    expect(await fits(budget, 5000)).toBe(true);
  });
});
