/**
 * What has begun and has not ended: how much of it there is, and how old the oldest is. Invariant: things may end in any
 * order, and the oldest is that of those which are left.
 */
import type { Clock } from '../../lib/clock.ts';

/** What is in flight at one moment. */
export interface InFlightNow {
  readonly count: number;
  readonly bytes: number;
  /** Age of the oldest; null: nothing is in flight. */
  readonly oldestMs: number | null;
}

interface Begun {
  readonly beganMs: number;
  readonly bytes: number;
}

export class Flights {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** A set keeps the order in which its members were added, so the first one is the oldest. */
  readonly #begun = new Set<Begun>();
  #bytes = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Counts something of this size until it is disposed of. */
  begin(bytes: number): Disposable {
    const one = { beganMs: this.#clock.monotonicMs(), bytes };
    this.#begun.add(one);
    this.#bytes += bytes;
    return {
      [Symbol.dispose]: () => {
        if (this.#begun.delete(one)) this.#bytes -= bytes;
      },
    };
  }

  get now(): InFlightNow {
    const [oldest] = this.#begun;
    const oldestMs = oldest === undefined ? null : this.#clock.monotonicMs() - oldest.beganMs;
    return { count: this.#begun.size, bytes: this.#bytes, oldestMs };
  }
}
