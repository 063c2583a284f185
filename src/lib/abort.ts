/**
 * Waiting that can be aborted. Invariant: the reason of an abort is an Error that says why, and when a wait ends for
 * any reason, its timer and its listener are removed.
 */
import { setMaxListeners } from 'node:events';
import { assert } from './assert.ts';

// Node keeps the delay of a timer in 31 bits. A timer with a longer delay would fire immediately.
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The reason of an abort when a Deadline passes. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** Returns the reason of an aborted signal, always as an Error. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}

/** Resolves after `delayMs`; rejects with the reason as soon as `signal` is aborted. */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  assert(delayMs <= DELAY_MAX_MS, 'a single wait is at most 24 days long');
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

/**
 * Settles like `promise`, or rejects with the reason of `signal`, whichever comes first. An abort does not stop the
 * work that would settle the promise.
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = (): void => reject(abortReason(signal));
  });
  // Many waits may share one signal, and each removes its listener. Without this call Node would report the eleventh
  // listener as a leak.
  setMaxListeners(0, signal);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves when `signal` is aborted; never rejects. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A signal that its owner can abort, and that follows its parent until it is disposed. */
export class ChildSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  // AbortSignal.any is not used, because it keeps every child attached to a parent that may live for days.
  readonly #follow = (): void => this.#controller.abort(abortReason(this.#parent));

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#follow();
    else parent.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the signal. Only the first call has an effect. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#parent.removeEventListener('abort', this.#follow);
  }
}

/** A signal that is aborted after `delayMs` or with its parent. The reason says that `what` took too long. */
export class Deadline implements Disposable {
  readonly #child: ChildSignal;
  readonly #timer: NodeJS.Timeout;

  constructor(delayMs: number, what: string, parent: AbortSignal) {
    assert(delayMs <= DELAY_MAX_MS, 'a deadline is at most 24 days away');
    this.#child = new ChildSignal(parent);
    // Creating an error captures the stack, which takes time. Most deadlines do not pass, so the error is created late.
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
