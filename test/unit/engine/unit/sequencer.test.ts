import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LockTable, NONE } from '../../../../src/engine/unit/lock-table.ts';
import {
  Sequencer,
  Turn,
  type LockedDocuments,
  type FeedOrder,
} from '../../../../src/engine/unit/sequencer.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { draws } from '../../../helpers/generated.ts';

const never = new AbortController().signal;

/** Hashes that stand for numbers; the first words collide on purpose, as do the buckets. */
function names(...numbers: number[]): Uint32Array {
  return Uint32Array.from(numbers.flatMap((number) => [number & 3, 7, number, 9]));
}

function enter(sequencer: Sequencer, numbers: number[], order?: FeedOrder): Turn {
  return sequencer.enter(names(...numbers), numbers.length, order);
}

/** Lets everything that was woken come to its next wait. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

describe('lock table', () => {
  test('more hashes than its first capacity, and drops -> one number for each hash', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3000), fc.nat(3)), { maxLength: 4000 }), (steps) => {
        const table = new LockTable();
        const model = new Map<number, number>();
        let changed = false;
        for (const [hash, step] of steps) {
          const known = model.get(hash);
          if (step === 0 && known !== undefined) {
            table.drop(known);
            model.delete(hash);
          } else if (step === 1) {
            changed ||= table.remove(names(hash), 0, 0) !== (known ?? NONE);
            model.delete(hash);
          } else if (step === 2) {
            changed ||= table.add(names(hash), 0, 0) !== (known === undefined);
            model.set(hash, table.find(names(hash), 0, 0));
            changed ||= known !== undefined && known !== model.get(hash);
          } else {
            const number = table.take(names(hash), 0, 0);
            changed ||= known !== undefined && known !== number;
            model.set(hash, number);
          }
        }
        expect(changed).toBe(false);
        expect(table.size).toBe(model.size);
        expect(new Set(model.values()).size).toBe(model.size);
        for (const [hash, number] of model) expect(table.take(names(hash), 0, 0)).toBe(number);
      }),
      { numRuns: 20 },
    );
  });

  test('a number is dropped -> used again', () => {
    const table = new LockTable();
    const given = new Set<number>();
    for (let round = 0; round < 100; round += 1) {
      const numbers = [1, 2, 3].map((hash) => table.take(names(hash + round * 3), 0, 0));
      for (const number of numbers) {
        given.add(number);
        table.drop(number);
      }
    }
    expect(given.size).toBe(3);
  });

  test('more hashes than fit -> it grows', () => {
    const table = new LockTable();
    const numbers = Array.from({ length: 3000 }, (_, hash) => table.take(names(hash), 0, 0));
    expect(new Set(numbers).size).toBe(3000);
    expect(numbers.map((_, hash) => table.take(names(hash), 0, 0))).toEqual(numbers);
  });
});

describe('sequencer: a turn', () => {
  test('its locks are free -> held at once, one turn at a time', async () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const first = enter(sequencer, [1, 2]);
    const second = enter(sequencer, [1, 3]);
    const apart = enter(sequencer, [4, 5, 5]);
    expect([first, second, apart].map(({ state }) => state)).toEqual(['held', 'waiting', 'held']);
    sequencer.release(first);
    expect(await sequencer.ready(second, never)).toBe('held');
    sequencer.release(second);
    sequencer.release(second);
    sequencer.release(apart);
    expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
  });

  test('an identity and a slot with the same hash -> two locks', () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    expect(enter(sequencer, [1, 1]).state).toBe('held');
    expect(enter(sequencer, [2, 1]).state).toBe('waiting');
  });

  test('it waits for one lock -> it keeps its position in the queues of the others', async () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const holder = enter(sequencer, [1, 10]);
    const both = enter(sequencer, [2, 10, 20]);
    const late = enter(sequencer, [3, 20]);
    expect(late.state).toBe('waiting');
    sequencer.release(holder);
    expect([both.state, late.state]).toEqual(['held', 'waiting']);
    sequencer.release(both);
    expect(await sequencer.ready(late, never)).toBe('held');
  });

  test('it comes back with another slot -> behind the turns that wait', async () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const turn = enter(sequencer, [1, 10]);
    const waiting = enter(sequencer, [2, 20, 10]);
    sequencer.again(turn, names(1, 20), 2);
    expect([turn.state, waiting.state]).toEqual(['waiting', 'held']);
    sequencer.release(waiting);
    expect(await sequencer.ready(turn, never)).toBe('held');
  });

  test('aborted -> it leaves its queues', async () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const stop = new AbortController();
    const holder = enter(sequencer, [1, 10]);
    const middle = enter(sequencer, [2, 10, 20]);
    const last = enter(sequencer, [3, 20]);
    const waits = sequencer.ready(middle, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waits).rejects.toThrow('enough');
    expect(last.state).toBe('held');
    sequencer.release(holder);
    sequencer.release(last);
    expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
    await expect(sequencer.ready(enter(sequencer, [1]), stop.signal)).rejects.toThrow('enough');
    expect(sequencer.holding).toBe(0);
  });
});

describe('sequencer: hot documents', () => {
  const order = (lsn: number, feed = 'LV'): FeedOrder => ({ feed, lsn });

  test('a later event of the same feed waits -> the earlier one is superseded', async () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const running = enter(sequencer, [1, 10], order(1));
    const earlier = enter(sequencer, [1, 20], order(2));
    const waits = sequencer.ready(earlier, never);
    const later = enter(sequencer, [1, 30], order(3));
    expect(await waits).toBe('superseded');
    // It does not keep slot 20 any longer.
    expect(enter(sequencer, [2, 20]).state).toBe('held');
    expect([running.state, later.state]).toEqual(['held', 'waiting']);
    sequencer.release(running);
    expect(later.state).toBe('held');
  });

  test('a late page -> it does not restore a superseded event', () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    enter(sequencer, [1], order(1));
    const later = enter(sequencer, [1], order(3));
    expect(enter(sequencer, [1], order(2)).state).toBe('superseded');
    expect(later.state).toBe('waiting');
    expect(sequencer.waiting).toBe(1);
  });

  test.each([
    ['equal places', order(2), order(2)],
    ['another feed', order(2, 'AVAD'), order(3)],
    ['a task without a place', undefined, order(3)],
  ])('%s -> both events are applied', (_why, one, other) => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    enter(sequencer, [1], order(1));
    expect([enter(sequencer, [1], one).state, enter(sequencer, [1], other).state]).toEqual([
      'waiting',
      'waiting',
    ]);
  });

  test('the oldest of a document waits for a slot -> not superseded, so that its page leaves a row', () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    enter(sequencer, [2, 20], order(1));
    const oldest = enter(sequencer, [1, 20], order(2));
    const next = enter(sequencer, [1, 30], order(3));
    const last = enter(sequencer, [1, 30], order(4));
    expect([oldest.state, next.state, last.state]).toEqual(['waiting', 'superseded', 'waiting']);
  });

  test('a turn has started -> not superseded, even while it waits for other slots', () => {
    const sequencer = new Sequencer({ waitingMax: 10 });
    const turn = enter(sequencer, [1, 10], order(1));
    enter(sequencer, [2, 20], order(1));
    sequencer.again(turn, names(1, 20), 2);
    enter(sequencer, [1, 30], order(5));
    expect(turn.state).toBe('waiting');
  });
});

describe('sequencer: full', () => {
  test('the first caller does not enter, or was aborted -> the next one wakes', async () => {
    const sequencer = new Sequencer({ waitingMax: 1 });
    const stop = new AbortController();
    const holder = enter(sequencer, [1]);
    enter(sequencer, [1]);
    const canceled = sequencer.untilMayEnter(stop.signal);
    const others = [sequencer.untilMayEnter(never), sequencer.untilMayEnter(never)];
    stop.abort(new Error('enough'));
    sequencer.release(holder);
    await expect(canceled).rejects.toThrow('enough');
    await Promise.all(others);
    expect(sequencer.mayEnter).toBe(true);
  });

  test('another turn -> refused, and waiting callers wake one after the other', async () => {
    const sequencer = new Sequencer({ waitingMax: 1 });
    const holder = enter(sequencer, [1]);
    const waiting = enter(sequencer, [1]);
    expect(sequencer.mayEnter).toBe(false);
    expect(() => enter(sequencer, [2])).toThrow('only when it may');
    const entered: number[] = [];
    const outside = [1, 2, 3].map(async (number) => {
      while (!sequencer.mayEnter) await sequencer.untilMayEnter(never);
      const turn = enter(sequencer, [1]);
      entered.push(number);
      await sequencer.ready(turn, never);
      sequencer.release(turn);
    });
    const stop = new AbortController();
    const canceled = sequencer.untilMayEnter(stop.signal);
    await settled();
    stop.abort(new Error('enough'));
    await expect(canceled).rejects.toThrow('enough');
    expect(entered).toEqual([]);
    sequencer.release(holder);
    await settled();
    expect(entered).toEqual([1]);
    sequencer.release(waiting);
    await Promise.all(outside);
    expect(entered).toEqual([1, 2, 3]);
    expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
  });
});

test('sequencer: random turns -> never two with one lock, all end, in the order of each document', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 8 }), async (seed, waitingMax) => {
      const random = seededRandom(seed);
      const sequencer = new Sequencer({ waitingMax });
      const stop = new AbortController();
      const busy = new Set<string>();
      const running: (() => void)[] = [];
      const ends: string[] = [];
      const pause = async (): Promise<void> => new Promise<void>((resolve) => running.push(resolve));
      const use = async (words: string[]): Promise<void> => {
        for (const name of words) {
          expect(busy.has(name)).toBe(false);
          busy.add(name);
        }
        await pause();
        for (const name of words) busy.delete(name);
      };
      const task = async (number: number): Promise<string> => {
        const id = random.below(4);
        const slots = [random.below(5), random.below(5)].slice(random.below(2));
        const order = random.below(2) === 0 ? undefined : { feed: 'LV', lsn: number };
        const mayStop = random.below(10) === 0;
        const signal = mayStop ? stop.signal : never;
        try {
          while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
          const turn = enter(sequencer, [id, ...slots], order);
          if ((await sequencer.ready(turn, signal)) === 'superseded') return 'superseded';
          await use([`id ${id}`, ...new Set(slots.map((slot) => `slot ${slot}`))]);
          for (let more = random.below(3); more > 0; more -= 1) {
            const slot = random.below(5);
            sequencer.again(turn, names(id, slot), 2);
            await sequencer.ready(turn, signal);
            await use([`id ${id}`, `slot ${slot}`]);
          }
          sequencer.release(turn);
          return 'done';
        } catch (error) {
          if (mayStop && stop.signal.aborted) return 'canceled';
          throw error;
        }
      };
      const tasks = Array.from({ length: 40 }, async (_, number) => {
        ends.push(await task(number));
      });
      for (let steps = 0; ends.length < 40; steps += 1) {
        await settled();
        if (steps === 10) stop.abort(new Error('enough'));
        const [next] = running.splice(random.below(Math.max(1, running.length)), 1);
        next?.();
        expect(steps).toBeLessThan(1000);
      }
      await Promise.all(tasks);
      expect([sequencer.holding, sequencer.waiting, busy.size]).toEqual([0, 0, 0]);
    }),
    { numRuns: draws(60) },
  );
});

test('sequencer: two turns share a lock -> the first one starts first', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }), { maxLength: 40 }),
      fc.nat(),
      (lists, seed) => {
        const random = seededRandom(seed);
        const sequencer = new Sequencer({ waitingMax: 100 });
        const turns = lists.map((list) => enter(sequencer, list));
        const shares = (a: number[], b: number[]): boolean =>
          a[0] === b[0] || a.slice(1).some((slot) => b.slice(1).includes(slot));
        for (let left = turns.length; left > 0; left -= 1) {
          const may = turns.map(
            ({ state }, i) =>
              state !== 'over' &&
              !turns.some(
                (other, j) => j < i && other.state !== 'over' && shares(lists[i] ?? [], lists[j] ?? []),
              ),
          );
          expect(turns.map(({ state }) => state === 'held')).toEqual(may);
          const held = turns.filter(({ state }) => state === 'held');
          sequencer.release(held[random.below(held.length)] as Turn);
        }
        expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
      },
    ),
  );
});

describe('sequencer: locks held without turns', () => {
  /** The hashes of documents, as a page has them: eight words each, in a larger record. */
  const page = (...documents: ReadonlyArray<readonly [id: number, slot: number]>): LockedDocuments => ({
    words: Uint32Array.from([0, ...documents.flatMap(([id, slot]) => [...names(id, slot), 77])]),
    at: 1,
    stride: 9,
    count: documents.length,
  });
  const part = (all: LockedDocuments, from: number, to: number): LockedDocuments => ({
    ...all,
    at: all.at + from * all.stride,
    count: to - from,
  });

  test('a lock is not free -> the documents before it are held', () => {
    const sequencer = new Sequencer({ waitingMax: 9 });
    const turn = enter(sequencer, [3, 30]);
    expect(sequencer.lockAll(page([1, 10], [2, 30], [4, 40]))).toBe(1);
    expect(sequencer.lockAll(page([3, 50], [4, 40]))).toBe(0);
    // The second of two documents for one slot.
    expect(sequencer.lockAll(page([5, 60], [6, 60]))).toBe(1);
    sequencer.unlockAll(page([1, 10]));
    sequencer.unlockAll(page([5, 60]));
    sequencer.release(turn);
    expect(sequencer.holding).toBe(0);
    expect(sequencer.lockAll(page([3, 30], [1, 10], [5, 60]))).toBe(3);
  });

  test('a turn wants one of them -> it waits until they are released, and another waits behind it', async () => {
    const sequencer = new Sequencer({ waitingMax: 9 });
    const all = page([1, 10], [2, 20]);
    expect(sequencer.lockAll(all)).toBe(2);
    const [first, second] = [enter(sequencer, [7, 20]), enter(sequencer, [2, 80])];
    const third = enter(sequencer, [7, 90]);
    expect([first.state, second.state, third.state, sequencer.holding]).toEqual([
      'waiting',
      'waiting',
      'waiting',
      2,
    ]);
    sequencer.unlockAll(all);
    expect([await sequencer.ready(first, never), second.state, third.state]).toEqual([
      'held',
      'held',
      'waiting',
    ]);
    sequencer.release(first);
    expect(await sequencer.ready(third, never)).toBe('held');
    for (const turn of [second, third]) sequencer.release(turn);
    expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
  });

  test('a document gets a turn -> the turn holds its locks, and those behind wait for it', () => {
    const sequencer = new Sequencer({ waitingMax: 9 });
    const all = page([1, 10], [2, 20], [3, 30]);
    sequencer.lockAll(all);
    const behind = enter(sequencer, [2, 99]);
    const turn = new Turn(undefined);
    sequencer.adopt(turn, all.words, all.at + all.stride);
    sequencer.unlockAll(part(all, 0, 1));
    sequencer.unlockAll(part(all, 2, 3));
    expect([turn.state, behind.state, sequencer.holding]).toEqual(['held', 'waiting', 1]);
    // It may change its locks, as any turn.
    sequencer.again(turn, names(2, 50), 2);
    expect([turn.state, behind.state]).toEqual(['waiting', 'held']);
    sequencer.release(behind);
    expect(turn.state).toBe('held');
    sequencer.release(turn);
    expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
  });

  test('what is not held is released -> refused', () => {
    const sequencer = new Sequencer({ waitingMax: 9 });
    const turn = enter(sequencer, [1, 10]);
    expect(() => sequencer.unlockAll(page([2, 20]))).toThrow('without a turn');
    expect(() => sequencer.adopt(new Turn(undefined), names(1, 10), 0)).toThrow('without a turn');
    expect(turn.state).toBe('held');
  });

  test('random pages and turns -> never two with one lock, and all end', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = seededRandom(seed);
        const sequencer = new Sequencer({ waitingMax: 1000 });
        const turns: Turn[] = [];
        const held: LockedDocuments[] = [];
        const owners = (): number[] => {
          // The names of all who hold locks now: identities below 100, slots from 100 on.
          const namesOf = ({ words, at, stride, count }: LockedDocuments): number[] =>
            Array.from({ length: count }, (_, i) => [words[at + i * stride + 2], words[at + i * stride + 6]])
              .flat()
              .map((name, i) => (name ?? 0) + (i % 2) * 100);
          return [
            ...held.flatMap(namesOf),
            ...turns.flatMap((turn) => (turn.state === 'held' ? (locks.get(turn) ?? []) : [])),
          ];
        };
        const locks = new Map<Turn, number[]>();
        for (let steps = 0; steps < 60; steps += 1) {
          const pair = (): [number, number] => [random.below(12), random.below(12)];
          const what = random.below(5);
          if (what === 0) {
            const all = page(...Array.from({ length: 1 + random.below(5) }, pair));
            const count = sequencer.lockAll(all);
            if (count > 0) held.push(part(all, 0, count));
          } else if (what === 1) {
            const [id, slot] = pair();
            const turn = enter(sequencer, [id, slot]);
            locks.set(turn, [id, slot + 100]);
            turns.push(turn);
          } else if (what === 2 && held.length > 0) {
            const [all] = held.splice(random.below(held.length), 1) as [LockedDocuments];
            const middle = random.below(all.count + 1);
            if (middle > 0) sequencer.unlockAll(part(all, 0, middle));
            if (middle < all.count) held.push(part(all, middle, all.count));
          } else if (what === 3 && held.length > 0) {
            const [all] = held.splice(random.below(held.length), 1) as [LockedDocuments];
            const turn = new Turn(undefined);
            sequencer.adopt(turn, all.words, all.at);
            locks.set(turn, [all.words[all.at + 2] ?? 0, (all.words[all.at + 6] ?? 0) + 100]);
            turns.push(turn);
            if (all.count > 1) held.push(part(all, 1, all.count));
          } else if (turns.length > 0) {
            const [turn] = turns.splice(random.below(turns.length), 1) as [Turn];
            sequencer.release(turn);
          }
          const names = owners();
          expect(new Set(names).size).toBe(names.length);
        }
        for (const all of held) sequencer.unlockAll(all);
        for (const turn of turns) sequencer.release(turn);
        expect([sequencer.holding, sequencer.waiting]).toEqual([0, 0]);
        expect(sequencer.lockAll(page(...Array.from({ length: 12 }, (_, i) => [i, i] as const)))).toBe(12);
      }),
      { numRuns: draws(60) },
    );
  });
});
