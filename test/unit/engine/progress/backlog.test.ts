import { describe, expect, test } from 'vitest';
import { Backlog } from '../../../../src/engine/progress/backlog.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const { signal } = new AbortController();

/** A backlog whose target takes as many documents per second as `work` says. */
class Lab {
  readonly clock = new VirtualClock();
  readonly backlog: Backlog;
  open = 0;

  constructor(ruPerSecond?: number) {
    this.backlog = new Backlog(this.clock, ruPerSecond);
  }

  async admit(documents: number): Promise<void> {
    await this.backlog.admit(documents, signal);
    this.open += documents;
  }

  /** As much is admitted as fits, and this many of it end each second. */
  async work({ seconds, perSecond }: { seconds: number; perSecond: number }): Promise<void> {
    const { backlog, clock } = this;
    for (let tick = 0; tick < seconds * 10; tick += 1) {
      while (this.open + backlog.pageDocuments <= backlog.documentsMax)
        await this.admit(backlog.pageDocuments);
      clock.advance(100);
      for (let n = 0; n < perSecond / 10 && this.open > 0; n += 1) this.end();
    }
  }

  end(): void {
    this.open -= 1;
    this.backlog.end();
  }
}

describe('backlog: how many documents are in flight', () => {
  test.each([
    [400, 200, 50],
    [100, 50, 12],
    [10, 10, 10],
    [1_000_000, 500_000, 1000],
    [undefined, 500, 125],
  ])('nothing measured, %s RU/s -> %i documents, %i a page', (ru, documents, page) => {
    const { backlog } = new Lab(ru);
    expect([backlog.documentsMax, backlog.pageDocuments]).toEqual([documents, page]);
  });

  test('a target that takes 30 documents a second -> what it takes in five seconds', async () => {
    const lab = new Lab(4000);
    await lab.work({ seconds: 60, perSecond: 30 });
    expect(lab.backlog.documentsMax).toBeGreaterThan(120);
    expect(lab.backlog.documentsMax).toBeLessThan(180);
    expect(lab.backlog.drainMs).toBeGreaterThan(3000);
    expect(lab.backlog.drainMs).toBeLessThan(8000);
  });

  test('a target that becomes faster -> twice as many each second, at the most', async () => {
    const lab = new Lab(400);
    await lab.work({ seconds: 20, perSecond: 30 });
    const before = lab.backlog.documentsMax;
    await lab.work({ seconds: 1, perSecond: 3000 });
    expect(lab.backlog.documentsMax).toBeLessThanOrEqual(before * 2);
    await lab.work({ seconds: 20, perSecond: 3000 });
    expect(lab.backlog.documentsMax).toBeGreaterThan(before * 20);
  });

  test('idle time -> changes nothing', async () => {
    const lab = new Lab(400);
    await lab.work({ seconds: 20, perSecond: 100 });
    while (lab.open > 0) lab.end();
    const before = lab.backlog.documentsMax;
    lab.clock.advance(3_600_000);
    await lab.admit(20);
    lab.clock.advance(200);
    while (lab.open > 0) lab.end();
    expect(lab.backlog.documentsMax).toBeGreaterThan(before / 2);
  });
});

describe('backlog: admission', () => {
  test('more than fit -> wait until enough have ended, in the order of their calls', async () => {
    const lab = new Lab(100);
    const order: string[] = [];
    await lab.admit(50);
    const large = lab.admit(40).then(() => order.push('large'));
    const small = lab.admit(1).then(() => order.push('small'));
    for (let n = 0; n < 39; n += 1) lab.end();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    lab.end();
    await large;
    lab.end();
    await small;
    expect(order).toEqual(['large', 'small']);
  });

  test('a page that is larger than everything that fits -> admitted when nothing else is in flight', async () => {
    const lab = new Lab(100);
    await lab.admit(10);
    const waiting = lab.admit(1000);
    for (let n = 0; n < 10; n += 1) lab.end();
    await waiting;
    expect(lab.open).toBe(1000);
  });

  test('a stop while a page waits -> it is not counted, and the next one is let in', async () => {
    const lab = new Lab(100);
    const stop = new AbortController();
    await lab.admit(50);
    const stopped = lab.backlog.admit(50, stop.signal);
    const next = lab.admit(1);
    lab.end();
    stop.abort(new Error('stop'));
    await expect(stopped).rejects.toThrow('stop');
    await next;
    expect(lab.open).toBe(50);
  });
});

test('backlog: a slow start, and a target that stands still -> the estimate is bounded', async () => {
  const lab = new Lab(1000);
  const { backlog, clock } = lab;
  expect(backlog.drainMs).toBe(0);
  clock.advance(3_600_000);
  expect(backlog.drainMs).toBe(0);
  await lab.admit(100);
  clock.advance(500);
  // Nothing has ended yet: the same time again.
  expect(backlog.drainMs).toBe(500);
  // The estimate from a few of many is bounded.
  for (let n = 0; n < 5; n += 1) lab.end();
  expect(backlog.drainMs).toBe(2000);
  await lab.work({ seconds: 10, perSecond: 50 });
  const drainMs = backlog.drainMs;
  clock.advance(60_000);
  expect(backlog.drainMs).toBeGreaterThan(drainMs * 2);
  expect(backlog.drainMs).toBeLessThanOrEqual(drainMs * 5);
});
