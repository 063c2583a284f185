/** The queue of one receiver: order, repetition, its bound, and its end. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seededRandom } from '../../../src/lib/random.ts';
import { RefusedByReceiver } from '../../../src/notify/delivery.ts';
import { Outbox, QUEUE_MAX } from '../../../src/notify/outbox.ts';
import type { Notification } from '../../../src/report/json/notification.ts';
import { VirtualClock } from '../../helpers/clock.ts';
import { notificationOf } from '../../helpers/notify/notification.ts';
import { until } from '../../helpers/wait.ts';

type Behaviour = (notification: Notification, attempt: number, signal: AbortSignal) => Promise<void>;

let clock: VirtualClock;
let warnings: string[];
let attempts: Notification[];
let behave: Behaviour;
let outbox: Outbox;
let stop: AbortController;
let running: Promise<void>;

const takes: Behaviour = async () => {};
const fails: Behaviour = async () => {
  throw new Error('it answered 500');
};
const hangs: Behaviour = async (_notification, _attempt, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

beforeEach(() => {
  [clock, warnings, attempts, behave, stop] = [new VirtualClock(), [], [], takes, new AbortController()];
  const receiver = {
    name: 'https://example.com',
    deliver: async (notification: Notification, signal: AbortSignal) => {
      attempts.push(notification);
      await behave(notification, attempts.length, signal);
    },
  };
  outbox = new Outbox(receiver, { clock, random: seededRandom(1), warn: (text) => warnings.push(text) });
  running = outbox.run(stop.signal);
});

afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await running;
  if (clock.sleepers > 0) throw new Error('a timer is left behind');
});

const attempted = async (count: number): Promise<void> => {
  await until(() => attempts.length >= count, { what: `attempt ${count}` });
};

/** Lets time pass until it has been tried this often. */
async function passUntil(count: number): Promise<void> {
  await until(
    () => {
      if (attempts.length < count) clock.advance(500);
      return attempts.length >= count;
    },
    { what: `attempt ${count}`, everyMs: 1 },
  );
}

test('outbox: a receiver that takes everything -> each once, in their order', async () => {
  for (let n = 1; n <= 5; n += 1) outbox.add(notificationOf(n));
  await outbox.whenIdle(stop.signal);
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  outbox.add(notificationOf(6));
  await outbox.whenIdle(stop.signal);
  expect(attempts).toHaveLength(6);
  expect(warnings).toEqual([]);
});

test('outbox: a receiver that fails twice -> the same notification again, then the next, no warning', async () => {
  behave = async (notification, attempt, signal) =>
    attempt <= 2 ? fails(notification, attempt, signal) : undefined;
  outbox.add(notificationOf(1));
  outbox.add(notificationOf(2));
  await passUntil(4);
  await outbox.whenIdle(stop.signal);
  expect(attempts.map(({ id }) => id)).toEqual(['id-1', 'id-1', 'id-1', 'id-2']);
  expect(warnings).toEqual([]);
});

test('outbox: a receiver that always fails -> five attempts each, one warning, and the loss is counted', async () => {
  behave = fails;
  outbox.add(notificationOf(1));
  await attempted(1);
  const beganMs = clock.monotonicMs();
  await passUntil(5);
  // 1 + 2 + 4 + 8 s, each cut by up to a half.
  expect(clock.monotonicMs() - beganMs).toBeGreaterThanOrEqual(7500);
  expect(clock.monotonicMs() - beganMs).toBeLessThan(60_000);
  await outbox.whenIdle(stop.signal);
  outbox.add(notificationOf(2));
  await passUntil(10);
  await outbox.whenIdle(stop.signal);
  behave = takes;
  outbox.add(notificationOf(3));
  await outbox.whenIdle(stop.signal);
  expect(attempts).toHaveLength(11);
  expect(attempts.at(-1)).toMatchObject({ number: 3, dropped: 2 });
  expect(warnings).toEqual([
    'a notification was not delivered to https://example.com: it answered 500; the run does not need it',
  ]);
});

test('outbox: a receiver that refuses -> one attempt', async () => {
  behave = async () => {
    throw new RefusedByReceiver('it answered 404');
  };
  outbox.add(notificationOf(1));
  await outbox.whenIdle(stop.signal);
  expect(attempts).toHaveLength(1);
  expect(warnings).toHaveLength(1);
});

test('outbox: a receiver that never answers -> each attempt is given up, and none after a minute', async () => {
  behave = hangs;
  outbox.add(notificationOf(1));
  await attempted(1);
  const beganMs = clock.monotonicMs();
  await until(
    () => {
      clock.advance(500);
      return warnings.length > 0;
    },
    { what: 'the warning', everyMs: 1 },
  );
  expect(warnings[0]).toContain('it did not answer within 10 s');
  expect(attempts.length).toBeLessThanOrEqual(5);
  expect(clock.monotonicMs() - beganMs).toBeLessThan(90_000);
});

test('outbox: more than fit -> the oldest of the same event are dropped, and counted', async () => {
  behave = hangs;
  outbox.add(notificationOf(0, 'cutover'));
  await attempted(1);
  outbox.add(notificationOf(1, 'cutover'));
  for (let n = 2; n <= QUEUE_MAX; n += 1) outbox.add(notificationOf(n, 'stalled'));
  outbox.add(notificationOf(1000, 'stalled'));
  outbox.add(notificationOf(1001, 'cutover'));
  outbox.add(notificationOf(1002, 'end'));
  behave = takes;
  await passUntil(2);
  await outbox.whenIdle(stop.signal);
  const sent = attempts.slice(2).map(({ number }) => number);
  // 2 went for 1000, 1 for 1001, and since there was none of its kind, 3 for 1002.
  expect(sent.slice(0, 2)).toEqual([4, 5]);
  expect(sent.slice(-3)).toEqual([1000, 1001, 1002]);
  expect(sent).toHaveLength(QUEUE_MAX);
  expect(attempts.at(-1)?.dropped).toBe(3);
});

test('outbox: the run ends before the receiver answers -> waiting ends with its limit, and says what was lost', async () => {
  behave = hangs;
  outbox.add(notificationOf(1));
  outbox.add(notificationOf(2));
  await attempted(1);
  const limit = new AbortController();
  const waiting = outbox.whenIdle(limit.signal);
  limit.abort(new Error('too slow'));
  await waiting;
  stop.abort(new Error('the run is over'));
  await running;
  expect(attempts).toHaveLength(1);
  expect(warnings).toHaveLength(1);
});
