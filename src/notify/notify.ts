/** Notifies receivers of what a run does. Invariant: no receiver changes how the run ends. */
import { asCosmigError, CanceledError, CosmigError, InternalError } from '../lib/errors.ts';
import { redactText } from '../lib/log.ts';
import type { Notification } from '../report/json/notification.ts';
import { runKey, type Happening } from './events/happening.ts';
import { JournalReader } from './events/journal-reader.ts';
import { RunWatch, type RunObserver } from './events/run-watch.ts';
import { commandText } from './events/sentences.ts';
import { lookSafely, whileSending, type Sender, type SendParts } from './sender.ts';

export type { RunObserver } from './events/run-watch.ts';

export interface NotifyParts extends SendParts {
  readonly command: string;
  readonly migration: string;
  /** The path of the ledger. */
  readonly ledger: string;
  /** The turn of the migration. */
  readonly turn: number;
}

/**
 * Runs `body`, and notifies the receivers of what it does and of how it ends. `isSkipped`: whether the result of `body`
 * says that nothing was done, which is not notified.
 */
export async function withNotifications<T>(
  parts: NotifyParts,
  body: (observer: RunObserver) => Promise<T>,
  isSkipped: (result: T) => boolean,
): Promise<T> {
  return whileSending(parts, 'run', (sender) => {
    const story = new RunStory(parts, sender);
    return {
      look: () => story.observer.look(),
      body: async () => {
        try {
          const result = await body(story.observer);
          if (!isSkipped(result)) story.end(undefined);
          return result;
        } catch (error) {
          story.end({ error });
          throw error;
        }
      },
    };
  });
}

/** Makes the notifications of one run. */
class RunStory {
  readonly observer: RunWatch;
  readonly #parts: NotifyParts;
  readonly #journal: JournalReader;
  readonly #sender: Sender;
  readonly #beganMs: number;

  constructor(parts: NotifyParts, sender: Sender) {
    this.#parts = parts;
    this.#sender = sender;
    this.#journal = new JournalReader(parts.ledger);
    this.#beganMs = parts.clock.monotonicMs();
    const notify = (happening: Happening): void => this.#notify(happening);
    this.observer = new RunWatch(this.#journal, { clock: parts.clock, notify });
  }

  /** Notifies how the run has ended. */
  end(failed: { readonly error: unknown } | undefined): void {
    const { clock, command, turn, warn } = this.#parts;
    const name = commandText(command, turn);
    lookSafely(() => this.observer.look(), warn);
    const seconds = Math.round((clock.monotonicMs() - this.#beganMs) / 100) / 10;
    const key = runKey(this.#journal.ownRun(), 'end');
    if (failed === undefined) {
      const text = `${name} is done`;
      return this.#notify({
        event: 'end',
        text,
        key,
        end: { outcome: 'done', exitCode: 0, seconds, error: null },
      });
    }
    const error = asCosmigError(this.#orCanceled(failed.error));
    // The text of an unexpected error may quote anything.
    const message = error instanceof InternalError ? 'an unexpected error' : redactText(error.message);
    const code = error.code as NonNullable<NonNullable<Notification['end']>['error']>['code'];
    this.#notify({
      event: 'end',
      text: `${name} ended with exit code ${error.exitCode}: ${message}`,
      key,
      end: { outcome: code, exitCode: error.exitCode, seconds, error: { code, message } },
    });
  }

  /** As for the exit code: after the second signal, an error that cosmig did not throw is a consequence of the stop. */
  #orCanceled(error: unknown): unknown {
    const reason: unknown = this.#parts.abortSignal.reason;
    return reason instanceof CanceledError && !(error instanceof CosmigError) ? reason : error;
  }

  #notify(happening: Happening): void {
    const { command, migration, turn } = this.#parts;
    const { last } = this.observer;
    const ledgerName = happening.key === null ? null : this.#journal.ledgerName();
    const { phase = null, documents = null, lagSeconds = null } = last ?? {};
    this.#sender.send(happening, {
      command,
      migration,
      turn,
      phase,
      documents,
      lagSeconds,
      ledgerName,
    });
  }
}
