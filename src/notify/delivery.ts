/** One attempt to deliver a notification, and what its failure means. */
import type { Notification } from '../report/json/notification.ts';

/** A receiver of notifications: a URL or a command. */
export interface Receiver {
  /** The name of the receiver in messages, without secrets. */
  readonly name: string;
  /** Delivers a notification once. Throws if the receiver has not taken it. */
  deliver(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** A failure that another attempt would not change. */
export class RefusedByReceiver extends Error {
  override readonly name = 'RefusedByReceiver';
}
