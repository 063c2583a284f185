/**
 * Notifies receivers of what a run does. Invariants: the run never waits for a receiver before its end, and then for
 * FINISH_WITHIN_MS at most; no receiver changes how the run ends.
 */
import { randomUUID } from 'node:crypto';
import { ChildSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { asCosmigError, CanceledError, CosmigError, InternalError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import type { Random } from '../lib/random.ts';
import { redactText } from '../lib/log.ts';
import type { Notification } from '../report/json/notification.ts';
import type { Receiver } from './delivery.ts';
import { JournalReader } from './journal-reader.ts';
import { Outbox } from './outbox.ts';
import { RunWatch, type Happening, type RunObserver } from './run-watch.ts';

export type { RunObserver } from './run-watch.ts';

/** How often the newest figures of the run are looked at. */
const LOOK_EVERY_MS = 1000;
/** How long the end of a run waits for receivers. */
const FINISH_WITHIN_MS = 5000;

export interface NotifyParts {
  readonly receivers: readonly Receiver[];
  readonly command: string;
  readonly migration: string;
  /** The path of the ledger. */
  readonly ledger: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (text: string) => void;
  /** Aborted when the operator wants the command to end at once. */
  readonly abortSignal: AbortSignal;
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
  const { receivers, clock, abortSignal } = parts;
  const outboxes = receivers.map((receiver) => new Outbox(receiver, parts));
  const sender = new Sender(parts, outboxes);
  // The operator's signals stop the run, whose end is still notified.
  return group(new AbortController().signal, async (members) => {
    using over = new ChildSignal(members.signal);
    for (const outbox of outboxes) members.start(async () => outbox.run(over.signal));
    members.start(async () => sender.watch(over.signal));
    try {
      const result = await body(sender.observer);
      if (!isSkipped(result)) sender.end(undefined);
      return result;
    } catch (error) {
      sender.end({ error });
      throw error;
    } finally {
      using waiting = new ChildSignal(abortSignal);
      using slept = new ChildSignal(abortSignal);
      const limit = clock.sleep(FINISH_WITHIN_MS, slept.signal).then(
        () => waiting.abort(new Error('receivers are too slow')),
        () => {},
      );
      await Promise.all(outboxes.map(async (outbox) => outbox.whenIdle(waiting.signal)));
      slept.abort(new Error('every notification was sent'));
      await limit;
      over.abort(new Error('the run is over'));
    }
  });
}

/** Makes the notifications of one run. */
class Sender {
  readonly observer: RunWatch;
  readonly #parts: NotifyParts;
  readonly #outboxes: readonly Outbox[];
  readonly #run = randomUUID();
  readonly #beganMs: number;
  #number = 0;

  constructor(parts: NotifyParts, outboxes: readonly Outbox[]) {
    this.#parts = parts;
    this.#outboxes = outboxes;
    this.#beganMs = parts.clock.monotonicMs();
    const notify = (happening: Happening): void => this.#notify(happening);
    this.observer = new RunWatch(new JournalReader(parts.ledger), { clock: parts.clock, notify });
  }

  /** Looks at the run until `signal` is aborted; never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#parts.clock.sleep(LOOK_EVERY_MS, signal);
      } catch {
        return; // The run is over.
      }
      this.#look();
    }
  }

  /** Notifies how the run has ended. */
  end(failed: { readonly error: unknown } | undefined): void {
    this.#look();
    const { clock, command } = this.#parts;
    const seconds = Math.round((clock.monotonicMs() - this.#beganMs) / 100) / 10;
    if (failed === undefined) {
      const text = `cosmig ${command} is done`;
      return this.#notify({
        event: 'end',
        text,
        end: { outcome: 'done', exitCode: 0, seconds, error: null },
      });
    }
    const error = asCosmigError(this.#orCanceled(failed.error));
    // The text of an unexpected error may quote anything.
    const message = error instanceof InternalError ? 'an unexpected error' : redactText(error.message);
    const code = error.code as NonNullable<NonNullable<Notification['end']>['error']>['code'];
    this.#notify({
      event: 'end',
      text: `cosmig ${command} ended with exit code ${error.exitCode}: ${message}`,
      end: { outcome: code, exitCode: error.exitCode, seconds, error: { code, message } },
    });
  }

  /** As for the exit code: after the second signal, an error that cosmig did not throw is a consequence of the stop. */
  #orCanceled(error: unknown): unknown {
    const reason: unknown = this.#parts.abortSignal.reason;
    return reason instanceof CanceledError && !(error instanceof CosmigError) ? reason : error;
  }

  #look(): void {
    try {
      this.observer.look();
    } catch (error) {
      // A fault in here must not end a migration.
      this.#parts.warn(`what the run does cannot be notified: ${String(error)}`);
    }
  }

  #notify({ atMs = this.#parts.clock.now(), ...happening }: Happening): void {
    const { command, migration } = this.#parts;
    const { last } = this.observer;
    this.#number += 1;
    const notification: Notification = {
      id: randomUUID(),
      run: this.#run,
      number: this.#number,
      dropped: 0,
      at: new Date(atMs).toISOString(),
      command,
      migration,
      phase: last?.phase ?? null,
      documents: last?.documents ?? null,
      lagSeconds: last?.lagSeconds ?? null,
      ...happening,
    };
    for (const outbox of this.#outboxes) outbox.add(notification);
  }
}
