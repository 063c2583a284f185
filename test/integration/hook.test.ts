/** Commands of the operator that do not end as one would wish. */
import { afterEach, expect, test } from 'vitest';
import type { Reporter } from '../../src/cli/command.ts';
import { runHook } from '../../src/commands/hook.ts';
import { until } from '../helpers/wait.ts';

let said: string[] = [];
afterEach(() => (said = []));
const out: Reporter = {
  note: (text) => void said.push(text),
  progress: () => {},
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

test('one that leaves the application running in the background has ended all the same', async () => {
  await runHook({ flag: '--on-commit', command: 'sleep 600 & echo $!', env: process.env }, { out });
  const pid = Number(said.join(''));
  expect(isAlive(pid)).toBe(true);
  process.kill(pid);
});

test.each([
  ['waits for another', 'sleep 600 & echo $!; wait'],
  ['is another, which heeds nothing', "sh -c 'trap : TERM; echo $$; while :; do sleep 1; done'; true"],
])(
  'one that %s is ended with it when it is called off',
  async (_what, command) => {
    const stop = new AbortController();
    const hook = runHook({ flag: '--on-fence', command, env: process.env }, { out, signal: stop.signal });
    const ended = hook.catch((error: unknown) => error);
    await until(() => said.length > 0, { what: 'the command' });
    const pid = Number(said.join(''));
    stop.abort(new Error('called off'));
    expect(await ended).toEqual(new Error('called off'));
    await until(() => !isAlive(pid), { what: 'the end of all', timeoutMs: 20_000 });
  },
  30_000,
);

test('what it prints is told line by line, and the last one also without an end', async () => {
  const command =
    'printf "one, "; sleep 0.2; echo two; echo; printf "the last one"; sleep 600 & echo "pid $!" >&2';
  await runHook({ flag: '--on-commit', command, env: process.env }, { out });
  const pid = said.find((line) => line.startsWith('pid ')) ?? '';
  process.kill(Number(pid.slice('pid '.length)));
  expect(said.filter((line) => line !== pid)).toEqual(['one, two', '', 'the last one']);
});

test('one that was called off before it began is not begun', async () => {
  const signal = AbortSignal.abort(new Error('called off'));
  const hook = runHook({ flag: '--on-fence', command: 'echo begun', env: process.env }, { out, signal });
  await expect(hook).rejects.toThrow('called off');
  expect(said).toEqual([]);
});
