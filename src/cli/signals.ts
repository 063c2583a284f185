/**
 * How a person stops a command. The first SIGINT or SIGTERM drains (finish what is in flight), the
 * second aborts (stop now, still safe), the third leaves at once. A terminal that goes away (SIGHUP) drains and no more:
 * nobody is there who could ask for it once more, and the shell and the system both tell of it.
 */
import { CanceledError, type StopSignal } from '../lib/errors.ts';

const LISTENED: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Where signals come from: the process, or a test. */
export interface SignalSource {
  on(name: StopSignal, listener: (name: StopSignal) => void): unknown;
  off(name: StopSignal, listener: (name: StopSignal) => void): unknown;
}

/** What happens at the stages of stopping. */
export interface StopHandlers {
  /** Tells the person what the signal did. */
  readonly say: (text: string) => void;
  /** Ends the process. */
  readonly leave: (exitCode: number) => void;
}

/** Listens until disposed of. The reason of both signals is the CanceledError to end with. */
export class Stopping implements Disposable {
  readonly #source: SignalSource;
  readonly #handlers: StopHandlers;
  readonly #drain = new AbortController();
  readonly #abort = new AbortController();
  readonly #onSignal = (name: StopSignal): void => this.#next(name);

  constructor(source: SignalSource, handlers: StopHandlers) {
    this.#source = source;
    this.#handlers = handlers;
    for (const name of LISTENED) source.on(name, this.#onSignal);
  }

  get drain(): AbortSignal {
    return this.#drain.signal;
  }

  get abort(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    for (const name of LISTENED) this.#source.off(name, this.#onSignal);
  }

  #next(name: StopSignal): void {
    const reason = new CanceledError(name);
    if (!this.#drain.signal.aborted) {
      this.#handlers.say('stopping; once more stops at once');
      this.#drain.abort(reason);
    } else if (name === 'SIGHUP') {
      return;
    } else if (!this.#abort.signal.aborted) {
      this.#handlers.say('stopping at once');
      this.#abort.abort(reason);
    } else {
      this.#handlers.leave(reason.exitCode);
    }
  }
}
