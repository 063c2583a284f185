import { expect, test } from 'vitest';
import { commands } from '../../src/commands/all.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';

const WHY = '  why  there are scripts for bash, zsh and fish\n';

function wrong(message: string, hint: string): Ran {
  return {
    code: 2,
    stdout: '',
    stderr: `cosmig: ${message}\n${WHY}  now  write cosmig completion ${hint}\n`,
  };
}

test.each(['bash', 'zsh', 'fish'])('completion %s -> a script, on stdout only', async (shell) => {
  const { code, stdout, stderr } = await runCosmig(['completion', shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`# ${shell} completion of cosmig, made by: cosmig completion ${shell}\n`);
  for (const { name } of commands) expect(stdout).toContain(name.split(' ').at(-1));
});

test.each(['bash', 'zsh', 'fish'])('completion %s --json -> the same script in one object', async (shell) => {
  const { stdout: script } = await runCosmig(['completion', shell]);
  const { stdout } = await runCosmig(['completion', shell, '--json']);
  expect(JSON.parse(stdout)).toEqual({ command: 'completion', shell, script });
});

test.each<readonly [argv: string, login: string | undefined, ran: Ran]>([
  ['completion powershell', undefined, wrong('unknown shell: powershell', 'bash|zsh|fish')],
  ['completion bsh', undefined, wrong('unknown shell: bsh', 'bash')],
  ['completion /bin/zsh', undefined, wrong('unknown shell: /bin/zsh', 'bash|zsh|fish')],
  ['completion', undefined, wrong('no shell was named', 'bash')],
  ['completion', '/usr/bin/fish', wrong('no shell was named', 'fish')],
  ['completion', '/bin/dash', wrong('no shell was named', 'bash')],
])('%s, SHELL=%s -> exit code 2 with the names', async (argv, login, ran) => {
  const env = login === undefined ? {} : { SHELL: login };
  await expect(runCosmig(argv.split(' '), { env })).resolves.toEqual(ran);
});

test('completion --help -> an example', async () => {
  const { stdout } = await runCosmig(['completion', '--help']);
  expect(stdout).toContain('cosmig completion bash|zsh|fish [options]');
  expect(stdout).toContain('eval "$(cosmig completion bash)"');
});
