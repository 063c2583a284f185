/**
 * Runs asynchronous work that fails as a whole. Invariant: the first failure aborts the others, everything that was
 * started has ended when group() returns, and group() throws the first failure. Later failures follow from it and are
 * not reported.
 */
import { ChildSignal } from './abort.ts';
import { assert } from './assert.ts';

/** What the body of a group gets, to start the members. */
export interface Group {
  /** Aborted when the parent signal is aborted, or when a member fails; the first failure is then the reason. */
  readonly signal: AbortSignal;
  /** Starts a member, which may start other members. Must not be called after the group has ended. */
  start(member: (signal: AbortSignal) => Promise<void>): void;
}

/**
 * Runs `body` and the members that it starts. Returns the result of `body` when the body and all members have ended.
 */
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
  // Members may start other members, so the set is read again until it is empty.
  while (running.size > 0) await Promise.all(running);
  ended = true;
  if (failures.length > 0) throw failures[0];
  return result as T; // own() gives undefined only after recording a failure
}

/** Work on many items. At most `limit` calls of `work` run at the same time. */
export interface WorkOnEach<T, R> {
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly work: (item: T, signal: AbortSignal) => Promise<R>;
}

/** Calls `work` for each item, and for each item that `work` returns. */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  { limit, signal, work }: WorkOnEach<T, readonly T[]>,
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

/** Runs `work` and never rejects. Resolves to a function that returns the result of `work` or throws its failure. */
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

/** Runs a generator to its end; other work of the process runs after each step. Returns its result. */
export async function inSteps<T>(steps: Generator<void, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const step = steps.next();
    if (step.done === true) return step.value;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
