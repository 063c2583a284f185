/**
 * How the operator stops a command. The first SIGINT or SIGTERM drains: the command finishes what is in flight. The
 * second aborts: the command stops now, which is still safe. The third ends the process. A terminal that closes sends
 * SIGHUP, often twice (from the shell and from the system), so SIGHUP never does more than drain.
 */
import { CanceledError, type StopSignal } from '../lib/errors.ts';

const LISTENED: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The sender of signals: the process, or a test. */
export interface SignalSource {
  on(name: StopSignal, listener: (name: StopSignal) => void): unknown;
  off(name: StopSignal, listener: (name: StopSignal) => void): unknown;
}

/** What happens at each stage of stopping. */
export interface StopHandlers {
  /** Prints what the signal did. */
  readonly say: (text: string) => void;
  /** Ends the process. */
  readonly leave: (exitCode: number) => void;
}

/**
 * Listens for signals until it is disposed of. The reason of both AbortSignals is the CanceledError that the command
 * ends with.
 */
export class StopSignals implements Disposable {
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
      this.#handlers.say('stopping after in-flight work (Ctrl-C again to stop now)');
      this.#drain.abort(reason);
    } else if (name === 'SIGHUP') {
      return;
    } else if (!this.#abort.signal.aborted) {
      this.#handlers.say('stopping now');
      this.#abort.abort(reason);
    } else {
      this.#handlers.leave(reason.exitCode);
    }
  }
}
