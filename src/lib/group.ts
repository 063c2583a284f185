/**
 * Runs asynchronous work that fails as a whole. Invariant: the first failure aborts the others, everything that was started
 * has ended when group() returns, and group() throws the first failure. Later failures follow from it and are not reported.
 */
import { ChildSignal } from './abort.ts';
import { assert } from './assert.ts';

/** Passed to the body of a group. */
export interface Group {
  /** Aborted with the parent, or by the first failure of a member, which is then the reason. */
  readonly signal: AbortSignal;
  /** Starts a member, which may start others. Must not be called after the group has ended. */
  start(member: (signal: AbortSignal) => Promise<void>): void;
}

/** Runs `body` and the members that it starts; returns the result of `body` when all of them have ended. */
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

/** Calls `work` for each item, for at most `limit` of them at a time. Items that `work` returns are worked on as well. */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  {
    limit,
    signal,
    work,
  }: {
    readonly limit: number;
    readonly signal: AbortSignal;
    readonly work: (item: T, signal: AbortSignal) => Promise<readonly T[]>;
  },
): Promise<void> {
  const waiting = [...items];
  await group(signal, async (members) => {
    for (let worker = 0; worker < limit; worker += 1) {
      members.start(async (inner) => {
        for (let item = waiting.pop(); item !== undefined; item = waiting.pop())
          waiting.push(...(await work(item, inner)));
      });
    }
  });
}

/** Runs `work` and never rejects. The function that it resolves to returns the result, or throws the failure. */
export async function captureOutcome<T>(work: () => Promise<T>): Promise<() => T> {
  try {
    const result = await work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
