/** Hook commands that do not end normally. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Reporter } from '../../../../src/cli/command.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { switchOrder } from '../../../../src/report/turns/switch-order.ts';
import { operatorHooks, runHook } from '../../../../src/workflows/hooks.ts';
import { until } from '../../../helpers/wait.ts';
import { built } from '../../../helpers/process/built.ts';

let said: string[] = [];
afterEach(() => (said = []));
const out: Reporter = {
  note: (text) => void said.push(text),
  progress: () => {},
  hideLive: () => {},
  announce: () => {},
  line: async () => true,
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('hook: its environment -> no secret of cosmig, everything else', async () => {
  const { onCommit } = operatorHooks(
    { onFence: undefined, onCommit: 'env', onAbort: undefined },
    {
      spec: {
        source: { endpoint: 'https://a.example/', database: 'shop', container: 'orders' },
        target: { endpoint: 'https://a.example/', database: 'shop', container: 'by-tenant' },
      },
      env: {
        PATH: process.env['PATH'],
        OWN_SECRET: 'kept',
        COSMIG_SOURCE_ENDPOINT: 'https://a.example/',
        COSMIG_SOURCE_KEY: 'hidden1',
        COSMIG_TARGET_KEY: 'hidden2',
        COSMIG_SOURCE_CONNECTION_STRING: 'hidden3',
        COSMIG_TARGET_CONNECTION_STRING: 'hidden4',
      },
      out,
    },
  );
  await onCommit?.(new AbortController().signal);
  expect(said).toContain('OWN_SECRET=kept');
  expect(said).toContain('COSMIG_SOURCE_ENDPOINT=https://a.example/');
  expect(said).toContain('COSMIG_SOURCE=shop/orders');
  expect(said.join('\n')).not.toContain('hidden');
});

test.each([
  ['cutover', 'forth', 'the cutover did not finish in time; the source stays in use'],
  ['rollback', 'back', 'the rollback did not finish in time; the target stays in use'],
] as const)(
  'hook: COSMIG_REASON of a %s -> in the words of its direction',
  async (command, direction, reason) => {
    const options = {
      config: [],
      ledger: [],
      source: ['shop/orders'],
      target: ['shop/by-tenant'],
      partitionKey: ['/tenantId'],
      writersStopped: true,
      onFence: undefined,
      onCommit: undefined,
      onAbort: 'echo "$COSMIG_REASON"',
      deadline: 2,
      quietFor: 1,
    };
    const env = {
      PATH: process.env['PATH'],
      COSMIG_SOURCE_CONNECTION_STRING: 'AccountEndpoint=https://a.example/;AccountKey=a2V5;',
    };
    const order = await switchOrder(
      { options, env, clock: systemClock, out },
      { command, direction, watchMs: 0 },
    );
    await order.onAbort?.('the cutover did not finish in time; the source stays in use');
    expect(said).toEqual([reason]);
  },
);

test('hook: leaves a process in the background -> counts as ended', async () => {
  await runHook({ flag: '--on-commit', command: 'sleep 600 & echo $!', env: process.env }, { out });
  const pid = Number(said.join(''));
  expect(isAlive(pid)).toBe(true);
  process.kill(pid);
});

test.each([
  ['waits for a child', 'sleep 600 & echo $!; wait'],
  ['its child ignores signals', "sh -c 'trap : TERM; echo $$; while :; do sleep 1; done'; true"],
])('hook: canceled while it %s -> the whole process group is ended', async (_what, command) => {
  const stop = new AbortController();
  const hook = runHook({ flag: '--on-fence', command, env: process.env }, { out, signal: stop.signal });
  const ended = hook.catch((error: unknown) => error);
  await until(() => said.length > 0, { what: 'the command' });
  const pid = Number(said.join(''));
  stop.abort(new Error('aborted'));
  expect(await ended).toEqual(new Error('aborted'));
  await until(() => !isAlive(pid), { what: 'the end of all' });
});

test('hook: output -> forwarded line by line, also an unterminated last line', async () => {
  const command =
    'printf "one, "; sleep 0.2; echo two; echo; printf "the last one"; sleep 600 & echo "pid $!" >&2';
  await runHook({ flag: '--on-commit', command, env: process.env }, { out });
  const pid = said.find((line) => line.startsWith('pid ')) ?? '';
  process.kill(Number(pid.slice('pid '.length)));
  expect(said.filter((line) => line !== pid)).toEqual(['one, two', '', 'the last one']);
});

test('hook: canceled before it starts -> not started', async () => {
  const signal = AbortSignal.abort(new Error('aborted'));
  const hook = runHook({ flag: '--on-fence', command: 'echo begun', env: process.env }, { out, signal });
  await expect(hook).rejects.toThrow('aborted');
  expect(said).toEqual([]);
});

const HOOK = built(new URL('../../../../src/workflows/hooks.ts', import.meta.url));
const UNPRIVILEGED = ['--reuid', '65534', '--regid', '65534', '--clear-groups'];

/** Whether this machine can start a process of another user that may read this program. */
function canBeNobody(): boolean {
  return spawnSync('setpriv', [...UNPRIVILEGED, 'perl', '-e', `exit !-r '${HOOK}'`]).status === 0;
}

// As with sudo: cosmig may not end the hook, and the application waits to resume.
test.skipIf(process.getuid?.() !== 0 || !canBeNobody())(
  'hook: runs as another user and cannot be ended -> reported, not awaited',
  () => {
    const folder = mkdtempSync('/tmp/cosmig-hook-');
    try {
      chmodSync(folder, 0o777);
      const [held, script] = [join(folder, 'perl'), join(folder, 'hold')];
      copyFileSync('/usr/bin/perl', held);
      chmodSync(held, 0o4755);
      writeFileSync(script, '$< = 0; $| = 1; print "began\\n"; sleep 20;');
      const caller = `
        import { runHook } from ${JSON.stringify(HOOK)};
        const stop = new AbortController();
        const note = (text) => {
          console.log(text);
          if (text === 'began') stop.abort(new Error('aborted'));
        };
        const hook = { flag: '--on-fence', command: 'exec ${held} ${script}', env: process.env };
        await runHook(hook, { out: { note }, signal: stop.signal }).catch((error) => console.log(error.message));
        process.exit(0);`;
      const argv = [...UNPRIVILEGED, process.execPath, '--input-type=module', '-e', caller];
      const options = { env: { PATH: process.env['PATH'], TMPDIR: folder }, encoding: 'utf8' } as const;
      expect(execFileSync('setpriv', argv, options).split('\n')).toEqual([
        'began',
        'the command of --on-fence cannot be stopped, since it runs as another user; it may still run',
        'aborted',
        '',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test('hook: cannot be started -> reported like a failure', async () => {
  const hook = { flag: '--on-abort', command: `true ${'x'.repeat(200_000)}`, env: process.env };
  await expect(runHook(hook, { out })).rejects.toMatchObject({
    exitCode: 3,
    message: 'the command of --on-abort could not be started',
    why: 'spawn E2BIG',
  });
});
