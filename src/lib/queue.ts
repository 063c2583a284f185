/**
 * A bounded hand-over from producers to consumers. What always holds: it never keeps more than its
 * capacity, whoever is too fast waits, items leave in the order they came, a closed queue is emptied
 * before its readers end, and a failed one is not.
 */
import { orAborted } from './abort.ts';
import { assert } from './assert.ts';

type State =
  | { readonly is: 'open' }
  | { readonly is: 'closed' }
  | { readonly is: 'failed'; readonly reason: Error };

/** See the module. */
export class Queue<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #state: State = { is: 'open' };
  // Everybody who waits, for room or for items, looks again after any change.
  #waiting: Array<() => void> = [];

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, 'a queue holds at least one item');
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Hands over `item`; waits while the queue is full. */
  async push(item: T, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#state.is === 'open' && this.#items.length >= this.#capacity) {
      await this.#change(signal);
    }
    if (this.#state.is === 'failed') throw this.#state.reason;
    assert(this.#state.is === 'open', 'nothing is pushed after close');
    this.#items.push(item);
    this.#wake();
  }

  /** The items, until the queue is closed and empty. Several readers share them. */
  async *items(signal: AbortSignal): AsyncGenerator<T, void, undefined> {
    while (true) {
      signal.throwIfAborted();
      if (this.#state.is === 'failed') throw this.#state.reason;
      if (this.#items.length > 0) {
        const [item] = this.#items.splice(0, 1);
        this.#wake();
        yield item as T; // the length was looked at above; undefined is a legal item
      } else if (this.#state.is === 'closed') {
        return;
      } else {
        await this.#change(signal);
      }
    }
  }

  /** No more items will come; what is inside is still handed over. */
  close(): void {
    if (this.#state.is !== 'open') return;
    this.#state = { is: 'closed' };
    this.#wake();
  }

  /** Gives up: everybody who waits, and everybody who comes, gets `reason`. */
  fail(reason: Error): void {
    if (this.#state.is === 'failed') return;
    this.#state = { is: 'failed', reason };
    this.#items.length = 0;
    this.#wake();
  }

  async #change(signal: AbortSignal): Promise<void> {
    let wake = (): void => {};
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
      this.#waiting.push(wake);
    });
    try {
      await orAborted(changed, signal);
    } finally {
      // Nothing is left behind by those who were called off.
      this.#waiting = this.#waiting.filter((other) => other !== wake);
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
