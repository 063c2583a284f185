/**
 * Waiting that can be called off. What always holds: a reason to stop is an Error that says why, and
 * whatever ends a wait also removes its timer and its listener.
 */
import { setMaxListeners } from 'node:events';
import { assert } from './assert.ts';

// Node keeps a delay in 31 bits and fires at once when it is longer.
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The reason a deadline gives when it passes. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** Why `signal` was aborted, as an Error whatever was put in. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(`called off: ${String(reason)}`);
}

/** Resolves after `delayMs`; rejects with the reason as soon as `signal` is aborted. */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  assert(delayMs <= DELAY_MAX_MS, 'nothing waits for more than 24 days in one go');
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, delayMs);
  });
  try {
    await orAborted(passed, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** What `promise` gives, or the reason of `signal`, whichever is first. The promise itself goes on. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = (): void => reject(abortReason(signal));
  });
  // Many may wait under one signal, and each takes its listener away again: from the eleventh on Node would
  // report a leak that is none.
  setMaxListeners(0, signal);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves, never rejects, when `signal` is aborted: for those to whom the end is the goal. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A signal that its owner can abort and that follows a parent until it is disposed of. */
export class ChildSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  // AbortSignal.any would do, but it ties every child to a parent that may live for days; this lets go.
  readonly #follow = (): void => this.#controller.abort(abortReason(this.#parent));

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#follow();
    else parent.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first reason stays; later calls change nothing. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#parent.removeEventListener('abort', this.#follow);
  }
}

/** A signal that is aborted after `delayMs` or with its parent; `what` tells what took too long. */
export class Deadline implements Disposable {
  readonly #child: ChildSignal;
  readonly #timer: NodeJS.Timeout;

  constructor(delayMs: number, what: string, parent: AbortSignal) {
    assert(delayMs <= DELAY_MAX_MS, 'no deadline is more than 24 days away');
    this.#child = new ChildSignal(parent);
    // The reason is made when it is needed: an error takes a stack, and most deadlines do not pass.
    this.#timer = setTimeout(
      () => this.#child.abort(new DeadlinePassed(`${what} took longer than ${delayMs} ms`)),
      delayMs,
    );
  }

  get signal(): AbortSignal {
    return this.#child.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#child[Symbol.dispose]();
  }
}
