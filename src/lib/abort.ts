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
 * What is called when a signal is aborted. All who wait for the signal share one listener of Node, because a listener takes
 * as long to add and to remove as ten members of a set.
 */
class Listeners {
  static readonly #known = new WeakMap<AbortSignal, Listeners>();
  readonly #signal: AbortSignal;
  readonly #calls = new Set<() => void>();
  readonly #callAll = (): void => {
    // Who was called may stop others from waiting, who are not called then.
    for (const call of this.#calls) {
      this.#calls.delete(call);
      call();
    }
  };

  private constructor(signal: AbortSignal) {
    this.#signal = signal;
    // Others may listen to the signal besides us. Without this call Node would report the eleventh listener as a leak.
    setMaxListeners(0, signal);
  }

  static of(signal: AbortSignal): Listeners {
    let listeners = Listeners.#known.get(signal);
    if (listeners === undefined) {
      listeners = new Listeners(signal);
      Listeners.#known.set(signal, listeners);
    }
    return listeners;
  }

  add(call: () => void): void {
    if (this.#calls.size === 0) this.#signal.addEventListener('abort', this.#callAll, { once: true });
    this.#calls.add(call);
  }

  delete(call: () => void): void {
    if (this.#calls.delete(call) && this.#calls.size === 0)
      this.#signal.removeEventListener('abort', this.#callAll);
  }
}

/**
 * Settles like `promise`, or rejects with the reason of `signal`, whichever comes first. An abort does not stop the
 * work that would settle the promise.
 */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const listeners = Listeners.of(signal);
    // A promise that was settled before the abort counts: its reaction is queued already.
    const onAbort = (): void => queueMicrotask(() => reject(abortReason(signal)));
    const ending =
      <V>(end: (value: V) => void) =>
      (value: V): void => {
        listeners.delete(onAbort);
        end(value);
      };
    promise.then(ending(resolve), ending(reject));
    if (signal.aborted) onAbort();
    else listeners.add(onAbort);
  });
}

/** Resolves when `signal` is aborted; never rejects. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => Listeners.of(signal).add(resolve));
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
    else Listeners.of(parent).add(this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the signal. Only the first call has an effect. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    Listeners.of(this.#parent).delete(this.#follow);
  }
}

/**
 * Ends a wait after `delayMs` or when its parent is aborted. The reason says that `what` took too long. Who waits is called,
 * or uses the signal, which is made when it is asked for: it takes as long to make as everything else here.
 */
export class Deadline implements Disposable {
  /** Called once, when the wait has to end. Only one who waits may set it at a time. */
  onEnd = (): void => {};
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  readonly #follow = (): void => this.#end(abortReason(this.#parent));

  constructor(delayMs: number, what: string, parent: AbortSignal) {
    assert(delayMs <= DELAY_MAX_MS, 'a deadline is at most 24 days away');
    this.#parent = parent;
    if (parent.aborted) this.#follow();
    else Listeners.of(parent).add(this.#follow);
    // Creating an error captures the stack, which takes time. Most deadlines do not pass, so the error is created late.
    this.#timer = setTimeout(
      () => this.#end(new DeadlinePassed(`${what} took longer than ${delayMs} ms`)),
      delayMs,
    );
  }

  /** Why the wait has to end; undefined while it may go on. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    Listeners.of(this.#parent).delete(this.#follow);
  }

  #end(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onEnd();
  }
}
