/** Receivers that are down, slow, failing or hanging: the run ends as without them. */
import { createServer as createTlsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../../src/emulator/http/certificate.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { fastClock } from '../../helpers/clock.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, envOf, start, withSpec } from '../../helpers/migration/typed.ts';
import { briefly, NotificationReceiver } from '../../helpers/notify/receiver.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { until } from '../../helpers/wait.ts';

let move: Move;

beforeAll(async () => {
  move = await Move.open();
  for (let n = 0; n < 10; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: `t${n % 3}` });
  const { code, stderr } = await cosmig(move, 'copy');
  if (code !== 0) throw new Error(stderr);
});

afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

const CATCH_UP = ['tail', '--until-caught-up', '--json'];

/** The seconds that a run waits for a receiver pass five times as fast. */
function hasty(): Clock {
  const fast = fastClock(5);
  return { ...fast, sleep: (delayMs, signal) => systemClock.sleep(delayMs / 5, signal) };
}

async function catchUp(
  env: Readonly<Record<string, string>>,
  argv: readonly string[] = CATCH_UP,
  clock: Clock = systemClock,
): Promise<Ran> {
  await move.put({ id: '1', customerId: 'c1', tenantId: 't1', at: systemClock.now() });
  return runCosmig(withSpec(argv), { env: { ...envOf(move), ...env }, clock });
}

/** The warnings of a run, and what is not about notifications. */
function warningsOf({ stderr }: Ran): string[] {
  const lines = stderr.split('\n').filter((line) => line !== '');
  return lines
    .map((line) => JSON.parse(line) as { level?: string; message?: string })
    .flatMap(({ level, message = '' }) => (level === 'warn' ? [message] : []));
}

/** Of a run: its code and result, its warnings, and whether it repeats what is secret of a URL. */
function outcomeOf(ran: Ran): readonly unknown[] {
  const { complete, documents } = JSON.parse(ran.stdout) as {
    readonly complete: boolean;
    readonly documents: { readonly written: number };
  };
  return [
    ran.code,
    complete,
    documents.written,
    warningsOf(ran).toSorted(),
    `${ran.stderr}${ran.stdout}`.includes('hidden'),
  ];
}

/** The run reached its goal, and warned once of each receiver, in the order of their names. */
function unharmed(...why: readonly RegExp[]): readonly unknown[] {
  return [0, true, 1, why.map((one) => expect.stringMatching(one)), false];
}

test('notify: a receiver that is down -> the run is done, and warns once', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  const env = { COSMIG_NOTIFY: `http://user:hidden@127.0.0.1:${port}/hidden?hidden` };
  const ran = await catchUp(env, CATCH_UP, hasty());
  expect(outcomeOf(ran)).toEqual(
    unharmed(
      /^a notification was not delivered to http:\/\/127\.0\.0\.1:\d+: it was too slow at the end of the run; the run does not need it$/,
    ),
  );
});

test.each([
  ['never answers', 'hangs', () => 'hangs' as const, 'sleep 60'],
  [
    'answers after 30 s',
    'fails',
    async () => systemClock.sleep(30_000, new AbortController().signal).then(() => 200),
    'echo no >&2; exit 1',
  ],
])(
  'notify: a receiver that %s, and a command that %s -> the run is done, and warns once of each',
  async (_what, _which, answer, command) => {
    await using receiver = await NotificationReceiver.open();
    receiver.answer = answer;
    const env = { COSMIG_NOTIFY: receiver.url, COSMIG_NOTIFY_COMMAND: command };
    const ran = await catchUp(env, CATCH_UP, hasty());
    const [url, ofCommand] = [
      / http:\/\/127.0.0.1:\d+: it was too slow/,
      / the command of --notify-command: /,
    ];
    expect(outcomeOf(ran)).toEqual(unharmed(url, ofCommand));
    expect(receiver.notifications.map(briefly)).toEqual(['end: 0']);
  },
);

test('notify: a receiver that answers 500 and then 200 -> the same notification twice, no warning', async () => {
  await using receiver = await NotificationReceiver.open();
  receiver.answer = (nth) => (nth === 1 ? 500 : 200);
  const ran = await catchUp({ COSMIG_NOTIFY: receiver.url.replace('//', '//me:hidden@') });
  expect(receiver.arrived[1]?.headers.authorization).toBe(`Basic ${btoa('me:hidden')}`);
  expect([ran.code, warningsOf(ran)]).toEqual([0, []]);
  expect(receiver.notifications.map(briefly)).toEqual(['end: 0', 'end: 0']);
  expect(receiver.arrived[0]?.headers['cosmig-id']).toBe(receiver.arrived[1]?.headers['cosmig-id']);
  // Without a secret there is no signature that could be mistaken for one.
  expect(receiver.arrived[0]?.headers).not.toHaveProperty('cosmig-signature');
});

test('notify: a receiver with a long reply -> it is delivered once, and the rest of the reply is not read', async () => {
  await using receiver = await NotificationReceiver.open();
  receiver.reply = 'x'.repeat(50_000_000);
  const ran = await catchUp({ COSMIG_NOTIFY: receiver.url });
  expect([ran.code, warningsOf(ran), receiver.notifications.map(briefly)]).toEqual([0, [], ['end: 0']]);
});

test('notify: a receiver whose certificate is not trusted -> it gets nothing, unless it is on this machine and checks are off', async () => {
  const taken: string[] = [];
  const certificate = selfSignedCertificate(['localhost'], systemClock.now());
  const server = createTlsServer(certificate, (request, response) => {
    taken.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const ran = await catchUp({ COSMIG_NOTIFY: `https://127.0.0.1:${port}/hidden` }, CATCH_UP, hasty());
    expect(outcomeOf(ran)).toEqual(unharmed(/ https:\/\/127\.0\.0\.1:\d+: /));
    // 0.0.0.0 stands for another machine: cosmig does not know that it leads here.
    for (const host of ['0.0.0.0', '127.0.0.1']) {
      const env = { COSMIG_NOTIFY: `https://${host}:${port}/${host}`, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
      const { code } = await startCosmig(withSpec(CATCH_UP), { ...envOf(move), ...env }).ended;
      expect(code).toBe(0);
    }
    expect(taken).toEqual(['/127.0.0.1']);
  } finally {
    server.close();
  }
});

test.each([404, 302])('notify: a receiver that answers %d -> it is not asked again', async (status) => {
  await using receiver = await NotificationReceiver.open();
  receiver.answer = () => status;
  expect(outcomeOf(await catchUp({ COSMIG_NOTIFY: receiver.url }))).toEqual(
    unharmed(new RegExp(`it answered ${status}`)),
  );
  expect(receiver.arrived).toHaveLength(1);
});

test('notify: a cutover whose receiver never answers -> commits', async () => {
  await using other = await Move.open();
  await other.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig(other, 'copy')).code).toBe(0);
  expect((await cosmig(other, 'verify', '--deadline', '60s')).code).toBe(0);
  await using receiver = await NotificationReceiver.open();
  receiver.answer = () => 'hangs';
  const argv = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s', '--json'];
  const ran = await runCosmig(withSpec(argv), {
    env: { ...envOf(other), COSMIG_NOTIFY: receiver.url },
    clock: systemClock,
  });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ phase: 'committed', complete: true, lateWrites: [] });
  expect(warningsOf(ran)).toHaveLength(1);
  expect(receiver.notifications.map(briefly)).toEqual(['cutover: gate passed']);
});

test('notify: Ctrl-C -> the end is notified; Ctrl-C again -> receivers are not waited for', async () => {
  await using receiver = await NotificationReceiver.open();
  const env = { ...envOf(move), COSMIG_NOTIFY: receiver.url };
  const begin = async (at: string): Promise<CosmigRun> => {
    const run = new CosmigRun(withSpec(['tail', '--json']), { env, clock: systemClock });
    await move.put({ id: '2', customerId: 'c2', tenantId: 't2', at });
    await until(async () => (await move.documents(move.target)).some((one) => one['at'] === at), {
      what: 'the tail',
    });
    return run;
  };
  const run = await begin('first');
  run.press('SIGINT');
  expect((await run.ended).code).toBe(130);
  expect(receiver.notifications.at(-1)).toMatchObject({
    event: 'end',
    end: { exitCode: 130, outcome: 'canceled' },
  });
  receiver.answer = () => 'hangs';
  const arrived = receiver.arrived.length;
  const again = await begin('second');
  again.press('SIGINT');
  await until(() => receiver.arrived.length > arrived, { what: 'the end to be posted' });
  again.press('SIGINT');
  expect((await again.ended).code).toBe(130);
});

test('notify: another run holds the ledger -> skipped is not notified, refused is', async () => {
  await using receiver = await NotificationReceiver.open();
  await using tail = start(move, 'tail');
  await until(() => Ledger.isRunning(move.ledgerPath), { what: 'the tail to begin' });
  const skipped = await catchUp({ COSMIG_NOTIFY: receiver.url }, [...CATCH_UP, '--skip-if-running']);
  expect([skipped.code, receiver.notifications.map(briefly)]).toEqual([0, []]);
  const refused = await catchUp({ COSMIG_NOTIFY: receiver.url });
  expect([refused.code, receiver.notifications.map(briefly)]).toEqual([3, ['end: 3']]);
  tail.kill('SIGTERM');
  await tail.ended;
});

test('notify: SIGKILL -> what was sent has arrived, and the next run is not harmed', async () => {
  await using other = await Move.open();
  for (let n = 0; n < 10; n += 1) await other.put({ id: `${n}`, customerId: `c${n}`, tenantId: `t${n % 3}` });
  await using receiver = await NotificationReceiver.open();
  await using copy = startCosmig(withSpec(['copy']), { ...envOf(other), COSMIG_NOTIFY: receiver.url });
  await until(() => receiver.arrived.length > 0, { what: 'the first notification' });
  copy.kill('SIGKILL');
  await copy.ended;
  expect(receiver.notifications[0]).toMatchObject({ number: 1, event: 'phase', phase: 'copying' });
  const before = receiver.arrived.length;
  const ran = await runCosmig(withSpec(['copy']), {
    env: { ...envOf(other), COSMIG_NOTIFY: receiver.url },
    clock: systemClock,
  });
  expect(ran.code).toBe(0);
  expect(receiver.notifications.slice(before).map(briefly).at(-1)).toBe('end: 0');
  expect(receiver.notifications.at(-1)?.run).not.toBe(receiver.notifications[0]?.run);
});

test.each([
  ['--notify', 'http://example.com/hidden'],
  ['--notify', 'hidden'],
  ['--notify-secret', 'hidden'],
])('notify: %s %s -> refused, without repeating it', async (...flags) => {
  const ran = await catchUp({}, [...CATCH_UP, ...flags]);
  expect(ran.code).toBe(2);
  expect(ran.stdout + ran.stderr).not.toContain('hidden');
});
