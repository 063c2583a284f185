/**
 * Runs work together that stands or falls together. What always holds: the first failure aborts the
 * others, everything that was started has ended when group() returns, and the first failure is what it
 * throws. Later failures are the echo of the first and are not reported.
 */
import { ChildSignal } from './abort.ts';
import { assert } from './assert.ts';

/** What the work of a group gets. */
export interface Group {
  /** Aborted when the parent is, or when a member fails; the reason is that failure. */
  readonly signal: AbortSignal;
  /** Starts a member; it may start others. Not to be called after the group has ended. */
  start(member: (signal: AbortSignal) => Promise<void>): void;
}

/** Runs `body` and all it starts; gives what `body` returned once all of them are done. */
export async function group<T>(parent: AbortSignal, body: (members: Group) => Promise<T>): Promise<T> {
  using child = new ChildSignal(parent);
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let ended = false;

  const own = async <R>(work: () => Promise<R>): Promise<R | undefined> => {
    try {
      return await work();
    } catch (error) {
      failures.push(error);
      child.abort(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  };
  const start = (member: (signal: AbortSignal) => Promise<void>): void => {
    assert(!ended, 'a group takes no members after its end');
    const promise: Promise<void> = own(() => member(child.signal)).finally(() => running.delete(promise));
    running.add(promise);
  };

  const result = await own(() => body({ signal: child.signal, start }));
  // Members may start members, so look again until none is left.
  while (running.size > 0) await Promise.all(running);
  ended = true;
  if (failures.length > 0) throw failures[0];
  return result as T; // own() gives undefined only after recording a failure
}

/** Does something with each, so many at a time; what `work` gives has its turn as well. */
export async function eachOf<T>(
  items: Iterable<T>,
  {
    atOnce,
    signal,
    work,
  }: {
    readonly atOnce: number;
    readonly signal: AbortSignal;
    readonly work: (item: T, signal: AbortSignal) => Promise<readonly T[]>;
  },
): Promise<void> {
  const waiting = [...items];
  await group(signal, async (members) => {
    for (let hand = 0; hand < atOnce; hand += 1) {
      members.start(async (inner) => {
        for (let item = waiting.pop(); item !== undefined; item = waiting.pop())
          waiting.push(...(await work(item, inner)));
      });
    }
  });
}
