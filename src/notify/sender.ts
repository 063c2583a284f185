/**
 * Sends notifications to every receiver while something else goes on. Invariants: sending never waits, and the end waits
 * for FINISH_WITHIN_MS at most.
 */
import { randomUUID } from 'node:crypto';
import { ChildSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { group } from '../lib/group.ts';
import type { Random } from '../lib/random.ts';
import type { Notification } from '../report/json/notification.ts';
import { leadsBack } from '../spec/turns/settings-of-turn.ts';
import { swapValues } from '../spec/turns/swapped-sides.ts';
import type { Receiver } from './delivery.ts';
import { idOf } from './event-id.ts';
import type { Happening } from './events/happening.ts';
import { Outbox } from './outbox.ts';

/** How often the newest figures are looked at. */
const LOOK_EVERY_MS = 1000;
/** How long the end waits for receivers. */
const FINISH_WITHIN_MS = 5000;

export interface SendParts {
  readonly receivers: readonly Receiver[];
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (text: string) => void;
  /** Aborted when the operator wants the command to end at once. */
  readonly abortSignal: AbortSignal;
}

/** The state of the migration when something happened. */
export type State = Pick<Notification, 'command' | 'migration' | 'phase' | 'documents' | 'lagSeconds'> & {
  /** The random name of the ledger; null: not known. */
  readonly ledgerName: string | null;
  /** The turn of the migration. In one that leads back, the words source and target are swapped on their way out. */
  readonly turn: number;
};

/** Numbers the notifications of one process, and gives each to every receiver. */
export class Sender {
  readonly #outboxes: readonly Outbox[];
  readonly #clock: Clock;
  readonly #from: Notification['from'];
  readonly #run = randomUUID();
  #number = 0;

  constructor(
    outboxes: readonly Outbox[],
    { clock, from }: { readonly clock: Clock; readonly from: Notification['from'] },
  ) {
    this.#outboxes = outboxes;
    this.#clock = clock;
    this.#from = from;
  }

  send(
    { atMs = this.#clock.now(), key, ...happening }: Happening,
    { ledgerName, turn, command, migration, phase, documents, lagSeconds }: State,
  ): void {
    this.#number += 1;
    const notification: Notification = {
      id: idOf(ledgerName, key),
      run: this.#run,
      number: this.#number,
      dropped: 0,
      from: this.#from,
      at: new Date(atMs).toISOString(),
      command,
      migration,
      phase,
      documents,
      lagSeconds,
      ...happening,
    };
    const sent = leadsBack(turn) ? (swapValues(notification) as Notification) : notification;
    for (const outbox of this.#outboxes) outbox.add(sent);
  }
}

/** Runs `body`. Meanwhile notifications are delivered, and `look` is called every second. */
export async function whileSending<T>(
  { receivers, clock, random, warn, abortSignal }: SendParts,
  from: Notification['from'],
  make: (sender: Sender) => { readonly look: () => void; readonly body: () => Promise<T> },
): Promise<T> {
  const outboxes = receivers.map((receiver) => new Outbox(receiver, { clock, random, warn }));
  const { look, body } = make(new Sender(outboxes, { clock, from }));
  // The operator's signals stop the run, whose end is still notified.
  return group(new AbortController().signal, async (members) => {
    using over = new ChildSignal(members.signal);
    for (const outbox of outboxes) members.start(async () => outbox.run(over.signal));
    members.start(async () => lookUntil(over.signal, { clock, warn, look }));
    try {
      return await body();
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

type Looking = Pick<SendParts, 'clock' | 'warn'> & { readonly look: () => void };

/** Looks every second until `signal` is aborted; never rejects. */
async function lookUntil(signal: AbortSignal, { clock, warn, look }: Looking): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(LOOK_EVERY_MS, signal);
    } catch {
      return; // The run is over.
    }
    lookSafely(look, warn);
  }
}

/** Looks. A fault in that must not end a migration. */
export function lookSafely(look: () => void, warn: SendParts['warn']): void {
  try {
    look();
  } catch (error) {
    warn(`what the run does cannot be notified: ${String(error)}`);
  }
}
