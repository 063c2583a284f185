import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { group } from '../../../src/lib/group.ts';
import { Queue } from '../../../src/lib/queue.ts';

const { signal } = new AbortController();

async function drain<T>(queue: Queue<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of queue.items(signal)) all.push(item);
  return all;
}

/** Lets everything run that can run without time passing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

test('hands over in order, and ends when closed and empty', async () => {
  const queue = new Queue<string | undefined>(3);
  await queue.push('a', signal);
  await queue.push(undefined, signal);
  await queue.push('c', signal);
  queue.close();
  await expect(drain(queue)).resolves.toEqual(['a', undefined, 'c']);
});

test('makes a fast producer wait', async () => {
  const queue = new Queue<number>(1);
  await queue.push(1, signal);
  const second = queue.push(2, signal);
  await settle();
  expect(queue.size).toBe(1);
  const items = queue.items(signal);
  await expect(items.next()).resolves.toEqual({ value: 1, done: false });
  await second;
  expect(queue.size).toBe(1);
});

test('a waiting producer and a waiting reader can be called off, and leave no listener', async () => {
  const owner = new AbortController();
  const full = new Queue<number>(1);
  await full.push(1, signal);
  const pushing = full.push(2, owner.signal);
  const reading = new Queue<number>(1).items(owner.signal).next();
  owner.abort(new Error('stop'));
  await expect(pushing).rejects.toThrow('stop');
  await expect(reading).rejects.toThrow('stop');
  expect(full.size).toBe(1);
  expect(getEventListeners(owner.signal, 'abort')).toEqual([]);
});

test('a failed queue drops what it holds and tells everybody why', async () => {
  const queue = new Queue<number>(1);
  await queue.push(1, signal);
  const pushing = queue.push(2, signal);
  queue.fail(new Error('the reader died'));
  await expect(pushing).rejects.toThrow('the reader died');
  await expect(queue.push(3, signal)).rejects.toThrow('the reader died');
  await expect(queue.items(signal).next()).rejects.toThrow('the reader died');
  expect(queue.size).toBe(0);
});

test('pushing after close breaks a rule', async () => {
  const queue = new Queue<number>(1);
  queue.close();
  await expect(queue.push(1, signal)).rejects.toThrow('after close');
});

test('loses and doubles nothing, whatever the capacity and the number of readers and writers', async () => {
  const shapes = fc.record({
    capacity: fc.integer({ min: 1, max: 4 }),
    readers: fc.integer({ min: 1, max: 4 }),
    writers: fc.array(fc.array(fc.integer(), { maxLength: 20 }), { minLength: 1, maxLength: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(shapes, async ({ capacity, readers, writers }) => {
      const queue = new Queue<number>(capacity);
      const read: number[] = [];
      await group(signal, async (all) => {
        for (let index = 0; index < readers; index += 1) {
          all.start(async (own) => {
            for await (const item of queue.items(own)) read.push(item);
          });
        }
        await group(all.signal, async (producers) => {
          for (const items of writers) {
            producers.start(async (own) => {
              for (const item of items) {
                await queue.push(item, own);
                expect(queue.size).toBeLessThanOrEqual(capacity);
              }
            });
          }
        });
        queue.close();
      });
      const byValue = (a: number, b: number): number => a - b;
      expect(read.toSorted(byValue)).toEqual(writers.flat().toSorted(byValue));
    }),
  );
});
