/** `--notify` and `--notify-command` of a migration from its copy to its commit, and of a cutover that backs out. */
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { NOTIFICATION } from '../../../src/report/json/notification.ts';
import { readDestination } from '../../../src/notify/destination.ts';
import { postTo } from '../../../src/notify/post.ts';
import { readDoc } from '../../helpers/docs/doc-blocks.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, typed, withSpec } from '../../helpers/migration/typed.ts';
import { briefly, NotificationReceiver } from '../../helpers/notify/receiver.ts';
import { notificationOf } from '../../helpers/notify/notification.ts';
import { until } from '../../helpers/wait.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

const SECRET = 'a secret of at least sixteen characters';

async function notified(
  move: Move,
  env: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<Ran> {
  return runCosmig(withSpec(argv), { env: { ...envOf(move), ...env }, clock: systemClock });
}

/** What the documents of a migration hold; none of it may be in a notification. */
const CONFIDENTIAL = /confidential-/;

async function filled(): Promise<Move> {
  const move = await Move.open();
  for (let n = 0; n < 10; n += 1)
    await move.put({ id: `confidential-${n}`, customerId: `c${n}`, tenantId: `confidential-${n % 3}` });
  return move;
}

test('notify: copy, tail, verify and a cutover that commits -> the expected sequence, signed, without ids', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  const env = { COSMIG_NOTIFY: receiver.url, COSMIG_NOTIFY_SECRET: SECRET };
  const run = async (...argv: string[]): Promise<readonly [number, string[]]> => {
    const before = receiver.arrived.length;
    const ran = await notified(move, env, ...argv);
    expect(ran.stderr + ran.stdout).not.toContain('hidden-in-the-query');
    return [ran.code, receiver.notifications.slice(before).map(briefly)];
  };
  expect(await run('copy')).toEqual([0, ['phase: copying', 'phase: tailing', 'end: 0']]);
  expect(await run('tail', '--until-caught-up')).toEqual([0, ['end: 0']]);
  // The gate is closed before a comparison.
  expect(await run('cutover', '--writers-stopped')).toEqual([3, ['end: 3']]);
  expect(await run('verify', '--deadline', '60s')).toEqual([0, ['proof: equal', 'end: 0']]);
  expect(await run('cutover', '--on-fence', 'true', '--quiet-for', '1s', '--watch-writes', '1s')).toEqual([
    0,
    [
      'cutover: gate passed',
      'cutover: stopping writers',
      'cutover: writers stopped',
      'cutover: drained',
      'cutover: proven',
      'cutover: committed',
      'cutover: application switched',
      'cutover: watch ended',
      'end: 0',
    ],
  ]);

  for (const { headers, body, path } of receiver.arrived) {
    const time = headers['cosmig-timestamp'];
    const hash = createHmac('sha256', SECRET)
      .update(`${String(time)}.${body.toString()}`)
      .digest('hex');
    expect(headers['cosmig-signature']).toBe(`v1=${hash}`);
    expect(Math.abs(Date.now() / 1000 - Number(time))).toBeLessThan(300);
    expect(path).toBe('/hook?token=hidden-in-the-query');
    expect(body.toString()).not.toMatch(CONFIDENTIAL);
    const notification: unknown = JSON.parse(body.toString());
    expect(faultsOf(NOTIFICATION.json, notification)).toEqual([]);
    expect(headers['cosmig-id']).toBe((notification as { id: string }).id);
  }
  const committed = receiver.notifications.find(({ cutover }) => cutover?.step === 'committed');
  expect(committed?.cutover?.stoppedSeconds).toBeGreaterThanOrEqual(1);
  expect(new Set(receiver.notifications.map(({ id }) => id)).size).toBe(receiver.arrived.length);
  const last = receiver.notifications.filter(({ run: of }) => of === receiver.notifications.at(-1)?.run);
  expect(last.map(({ number }) => number)).toEqual(last.map((_one, n) => n + 1));
});

test('notify: a cutover backs out, dead letters, differences -> their reasons, and to a command as well', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-notify-'));
  const log = join(folder, 'log');
  try {
    // The same id twice for one tenant: the second document cannot be moved.
    await move.put({ id: 'confidential-1', customerId: 'other', tenantId: 'confidential-1' });
    const env = {
      COSMIG_NOTIFY: receiver.url,
      COSMIG_NOTIFY_SECRET: SECRET,
      COSMIG_NOTIFY_COMMAND: `cat >> ${log}; env >> ${log}`,
    };
    const run = async (...argv: string[]): Promise<readonly [number, string[]]> => {
      const before = receiver.arrived.length;
      const { code } = await notified(move, env, ...argv);
      return [code, receiver.notifications.slice(before).map(briefly)];
    };
    const copied = await run('copy');
    // A slow machine notices the dead letter before the copy is complete.
    expect([copied[0], copied[1].toSorted()]).toEqual([
      5,
      ['dead-letters', 'end: 5', 'phase: copying', 'phase: tailing'],
    ]);
    expect(copied[1].at(-1)).toBe('end: 5');
    // They are not new.
    expect(await run('tail', '--until-caught-up')).toEqual([5, ['end: 5']]);
    expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
    await move.target.item('confidential-2', 'confidential-2').delete();
    expect(await run('verify', '--deadline', '5s')).toEqual([4, ['proof: differs', 'end: 4']]);
    expect(await run('verify', '--repair', '--deadline', '60s')).toEqual([0, ['proof: equal', 'end: 0']]);
    expect(await run('cutover', '--on-fence', 'exit 7', '--on-abort', 'true')).toEqual([
      3,
      [
        'cutover: gate passed',
        'cutover: stopping writers',
        'cutover: backed out',
        'cutover: writers resumed',
        'end: 3',
      ],
    ]);
    expect(receiver.notifications.at(-3)).toMatchObject({
      cutover: { reason: 'the command of --on-fence failed' },
      phase: 'tailing',
    });
    expect(receiver.notifications.at(-1)).toMatchObject({
      end: { outcome: 'not-ready', error: { message: 'the command of --on-fence failed' } },
    });
    expect(
      receiver.arrived.map(({ body }) => body.toString()).filter((body) => CONFIDENTIAL.test(body)),
    ).toEqual([]);

    const times = ['--quiet-for', '1s', '--watch-writes', '1s'];
    const [code, steps] = await run('cutover', '--writers-stopped', '--on-commit', 'exit 4', ...times);
    expect([code, steps.slice(-2)]).toEqual([9, ['cutover: committed', 'end: 9']]);
    expect(receiver.notifications.at(-1)).toMatchObject({
      phase: 'committed',
      end: { outcome: 'after-commit' },
    });
    // The next one does what is left.
    expect(await run('cutover', '--writers-stopped', '--on-commit', 'true', ...times)).toEqual([
      0,
      ['cutover: application switched', 'cutover: watch ended', 'end: 0'],
    ]);
    expect(receiver.notifications.flatMap((one) => faultsOf(NOTIFICATION.json, one))).toEqual([]);

    const given = readFileSync(log, 'utf8');
    const lines = given.split('\n').filter((line) => line.startsWith('{'));
    expect(lines).toEqual(receiver.arrived.map(({ body }) => body.toString()));
    expect(given).toContain('COSMIG_NOTIFICATION_EVENT=cutover\n');
    expect(given).toContain('COSMIG_MIGRATION=shop/orders -> shop/by-tenant\n');
    for (const secret of [SECRET, 'hidden-in-the-query', 'AccountKey']) expect(given).not.toContain(secret);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('notify: the source is written to after the stop and after the commit -> notified, without ids', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  const env = { COSMIG_NOTIFY: receiver.url };
  expect((await notified(move, {}, 'copy')).code).toBe(0);
  expect((await notified(move, {}, 'verify', '--deadline', '60s')).code).toBe(0);
  const write = async (): Promise<void> =>
    move.put({ id: 'confidential-late', customerId: 'x', tenantId: 'confidential-1', at: systemClock.now() });
  const seen = (step: string): boolean =>
    receiver.notifications.some(({ cutover }) => cutover?.step === step);

  const times = ['--quiet-for', '2s', '--watch-writes', '4s'];
  const late = notified(move, env, 'cutover', '--writers-stopped', ...times, '--deadline', '6s');
  await until(() => seen('writers stopped'), { what: 'the stop' });
  const over = new AbortController();
  const writing = (async (): Promise<void> => {
    while (!over.signal.aborted) await write();
  })();
  const { code } = await late;
  over.abort();
  await writing;
  expect(code).toBe(3);
  expect(seen('fence restarted') || seen('drained')).toBe(true);
  expect(receiver.notifications.find(({ cutover }) => cutover?.step === 'backed out')).toMatchObject({
    cutover: { reason: 'the cutover did not finish in time' },
  });

  receiver.arrived.length = 0;
  const committing = notified(move, env, 'cutover', '--writers-stopped', ...times);
  await until(() => seen('committed'), { what: 'the commit' });
  await write();
  expect((await committing).code).toBe(4);
  expect(receiver.notifications.map(briefly).slice(-3)).toEqual([
    'cutover: late writes',
    'cutover: watch ended',
    'end: 4',
  ]);
  expect(receiver.arrived.filter(({ body }) => CONFIDENTIAL.test(body.toString()))).toEqual([]);
});

test('notify: the receiver of docs/operations/monitoring.md -> accepts what cosmig signs, and nothing else', async () => {
  await using receiver = await NotificationReceiver.open();
  const clock = systemClock;
  const destination = readDestination(receiver.url);
  const sender = postTo(destination, { secret: SECRET, clock, version: '1' });
  await sender.deliver(notificationOf(1), new AbortController().signal);
  const [arrived] = receiver.arrived;
  if (arrived === undefined) throw new Error('nothing has arrived');
  const { headers, body } = arrived;
  const block = readDoc('docs/operations/monitoring.md').blocks.find(({ text }) =>
    text.includes('isGenuine'),
  );
  const { isGenuine } = (await import(`data:text/javascript,${encodeURIComponent(block?.text ?? '')}`)) as {
    isGenuine: (request: object) => boolean;
  };
  const signedMs = Number(headers['cosmig-timestamp']) * 1000;
  const request = { headers, body, secret: SECRET, nowMs: clock.now() };
  expect(isGenuine(request)).toBe(true);
  const later = String(Number(headers['cosmig-timestamp']) + 200);
  for (const wrong of [
    { secret: `${SECRET}.` },
    { body: Buffer.concat([body, Buffer.from(' ')]) },
    { headers: { ...headers, 'cosmig-timestamp': later } },
    { headers: { ...headers, 'cosmig-signature': undefined } },
    { headers: { ...headers, 'cosmig-signature': 'v1=' } },
    { nowMs: signedMs + 301_000 },
    { nowMs: signedMs - 301_000 },
  ])
    expect(isGenuine({ ...request, ...wrong })).toBe(false);
});
