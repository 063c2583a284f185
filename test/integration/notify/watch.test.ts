/** `cosmig watch --notify`: it sees what a run does, with the same ids, and what a dead run cannot notify. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { NOTIFICATION, type Notification } from '../../../src/report/json/notification.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, start, withSpec } from '../../helpers/migration/typed.ts';
import { NotificationReceiver } from '../../helpers/notify/receiver.ts';
import { freePort } from '../../helpers/process/free-port.ts';
import { startCosmig, type CosmigProcess } from '../../helpers/process/cosmig-process.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { until } from '../../helpers/wait.ts';

async function filled(): Promise<Move> {
  const move = await Move.open();
  for (let n = 0; n < 10; n += 1)
    await move.put({ id: `confidential-${n}`, customerId: `c${n}`, tenantId: `confidential-${n % 3}` });
  return move;
}

/** Starts `cosmig watch`, and waits until it watches. */
async function watching(
  move: Move,
  env: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<CosmigProcess> {
  const port = String(await freePort());
  const watch = startCosmig(['watch', '--ledger', move.ledgerPath, '--port', port, ...argv], env);
  const isServed = async (): Promise<boolean> => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/metrics`)).ok;
    } catch {
      return false;
    }
  };
  await until(isServed, { what: 'cosmig watch' });
  return watch;
}

test('watch --notify: a whole migration that notifies as well -> the same events, with the same ids', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  await using watch = await watching(move, { COSMIG_NOTIFY: receiver.url });
  // The ledger does not say how a comparison ends that finds a difference or is refused.
  const of = (one: Notification['from']): Notification[] =>
    receiver.notifications.filter(
      ({ from, event, command }) => from === one && !(event === 'end' && command === 'verify'),
    );
  const run = async (...argv: string[]): Promise<number> => {
    const ran = await runCosmig(withSpec(argv), {
      env: { ...envOf(move), COSMIG_NOTIFY: receiver.url },
      clock: systemClock,
    });
    await until(() => of('watch').length === of('run').length, {
      what: `${argv[0]} to be seen`,
    });
    return ran.code;
  };
  expect(await run('copy')).toBe(0);
  await move.target.item('confidential-2', 'confidential-2').delete();
  expect(await run('verify', '--repair', '--deadline', '60s')).toBe(0);
  expect(await run('cutover', '--on-fence', 'exit 7', '--on-abort', 'true')).toBe(3);
  expect(await run('cutover', '--on-fence', 'true', '--quiet-for', '1s', '--watch-writes', '1s')).toBe(0);
  watch.kill('SIGINT');
  expect((await watch.ended).code).toBe(130);

  const [byRun, byWatch] = [of('run'), of('watch')];
  const shown = (one: Notification): unknown[] => [one.event, one.cutover, one.id, one.command];
  expect(byWatch.map(shown)).toEqual(byRun.map(shown));
  expect(receiver.notifications.flatMap((one) => faultsOf(NOTIFICATION.json, one))).toEqual([]);
  for (const { body } of receiver.arrived) expect(body.toString()).not.toContain('confidential');
});

test('watch --notify: a way back -> follows it into its ledger, and says source where the source is meant', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  for (let n = 0; n < 10; n += 1) await move.put({ id: `o${n}`, customerId: `c${n}`, tenantId: `t${n % 3}` });
  await using receiver = await NotificationReceiver.open();
  const ran = async (...argv: string[]): Promise<Ran> =>
    runCosmig(withSpec(argv), {
      env: { ...envOf(move), COSMIG_NOTIFY: receiver.url },
      clock: systemClock,
    });
  const run = async (...argv: string[]): Promise<number> => (await ran(...argv)).code;
  const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];
  expect([await run('copy'), await run('verify')]).toEqual([0, 0]);
  expect(await run('cutover', ...SWITCH, '--keep-source-for', '7d')).toBe(0);
  receiver.arrived.length = 0;
  await using watch = await watching(move, { COSMIG_NOTIFY: receiver.url });
  const of = (one: Notification['from']): Notification[] =>
    receiver.notifications.filter(({ from, end, command }) => from === one && !(end && command === 'verify'));
  for (const argv of [
    ['reverse', '--until-caught-up'],
    ['verify', '--reverse'],
    ['rollback', ...SWITCH],
  ]) {
    const { code, stderr } = await ran(...argv, '--watch');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/watch it at http:\/\/127\.0\.0\.1:\d+\//)]);
    await until(() => of('watch').length === of('run').length, {
      what: `${argv[0]} to be seen`,
    });
  }
  watch.kill('SIGINT');
  const shown = (one: Notification): string => `${one.id} ${one.command} ${one.text}`;
  expect(of('watch').map(shown).toSorted()).toEqual(of('run').map(shown).toSorted());
  for (const one of ['run', 'watch'] as const)
    expect(of(one).find(({ cutover }) => cutover?.step === 'committed')?.text).toMatch(
      /^committed: the source is in use/,
    );
  const ended = receiver.notifications.filter(({ end }) => end).map(({ text }) => text);
  expect(new Set(ended)).toEqual(
    new Set(['cosmig reverse is done', 'cosmig verify is done', 'cosmig rollback is done']),
  );
  expect(receiver.notifications.flatMap((one) => faultsOf(NOTIFICATION.json, one))).toEqual([]);
});

test('watch --notify: the run is killed -> notified, also by a watch that begins later, with the same id', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  expect((await runCosmig(withSpec(['copy']), { env: envOf(move), clock: systemClock })).code).toBe(0);
  const ended = (): Notification[] => receiver.notifications.filter(({ event }) => event === 'end');
  const log = join(dirname(move.ledgerPath), 'log');
  {
    await using watch = await watching(
      move,
      { COSMIG_NOTIFY: receiver.url },
      '--notify-command',
      `cat >> ${log}; env >> ${log}`,
    );
    await using tail = start(move, 'tail');
    const runs = (): boolean => {
      using ledger = Ledger.openReadonly(move.ledgerPath);
      return ledger.runs.last()?.command === 'tail';
    };
    await until(runs, { what: 'the run' });
    tail.kill('SIGKILL');
    expect((await tail.ended).code).toBe(-1);
    await until(() => ended().length === 1, { what: 'the notification' });
    expect(ended()).toMatchObject([
      {
        from: 'watch',
        command: 'tail',
        migration: 'shop/orders -> shop/by-tenant',
        text: 'cosmig tail was killed or crashed; cosmig status shows how to continue',
        phase: 'tailing',
        end: { outcome: 'crashed', exitCode: null, error: null },
      },
    ]);
    await until(() => readFileSync(log, 'utf8').includes('COSMIG_SOURCE=shop/orders\n'), {
      what: 'the command',
    });
    expect(readFileSync(log, 'utf8')).toContain(receiver.arrived.at(-1)?.body.toString());
    watch.kill('SIGTERM');
    expect((await watch.ended).code).toBe(143);
  }
  // After a reboot, the watch begins after the crash. Another run makes it a thing of the past.
  await using again = await watching(move, { COSMIG_NOTIFY: receiver.url });
  await until(() => ended().length === 2, { what: 'the notification' });
  expect(ended()[1]?.id).toBe(ended()[0]?.id);
  const next = ['tail', '--until-caught-up'];
  expect((await runCosmig(withSpec(next), { env: envOf(move), clock: systemClock })).code).toBe(0);
  await until(() => ended().length === 3, { what: 'the end' });
  expect(ended()[2]?.end).toMatchObject({ outcome: 'done', exitCode: 0 });
  expect(receiver.notifications.flatMap((one) => faultsOf(NOTIFICATION.json, one))).toEqual([]);
  again.kill('SIGINT');
});

test('watch --notify: an old proof -> notified at doubling ages, until a new one', async () => {
  await using move = await filled();
  await using receiver = await NotificationReceiver.open();
  const run = async (...argv: string[]): Promise<number> =>
    (await runCosmig(withSpec(argv), { env: envOf(move), clock: systemClock })).code;
  expect(await run('copy')).toBe(0);
  expect(await run('verify')).toBe(0);
  await using _watch = await watching(move, { COSMIG_NOTIFY: receiver.url }, '--proof-age', '2s');
  const old = (): Notification[] => receiver.notifications.filter(({ event }) => event === 'proof-old');
  await until(() => old().length === 2, { what: 'the second notification' });
  expect(old().map(({ proofAge }) => proofAge?.seconds)).toEqual([
    expect.toSatisfy((seconds) => seconds >= 2 && seconds < 4),
    expect.toSatisfy((seconds) => seconds >= 4 && seconds < 8),
  ]);
  expect(await run('verify')).toBe(0);
  await until(() => old().length > 2, { what: 'the new proof to be old' });
  const events = receiver.notifications.map(({ event, proofAge }) => proofAge?.proof ?? event);
  expect(events.indexOf('proof')).toBeGreaterThan(0);
  expect(old().at(-1)?.proofAge?.proof).not.toBe(old()[0]?.proofAge?.proof);
});

test.each([
  [['--notify', 'http://example.com'], 'the URL of --notify is not valid'],
  [['--notify', 'https://example.com', '--proof-age', 'soon'], '--proof-age'],
])('watch %j -> exit code 2, and no page', async (argv, message) => {
  const ran = await runCosmig(['watch', '--ledger', 'x.db', ...argv], { clock: systemClock });
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(message)]);
});
