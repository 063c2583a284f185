/** A notification for tests of what carries it. */
import type { Notification } from '../../../src/report/json/notification.ts';

export function notificationOf(number: number, event: Notification['event'] = 'phase'): Notification {
  return {
    id: `id-${number}`,
    run: 'one',
    number,
    dropped: 0,
    from: 'run',
    at: '2026-01-01T00:00:00.000Z',
    event,
    text: 'something happened',
    command: 'tail',
    migration: 'a -> b',
    phase: 'tailing',
    documents: null,
    lagSeconds: null,
  };
}
