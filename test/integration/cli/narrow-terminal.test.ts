/** A terminal that reports no width, as that of a container may, or of `script` without a terminal around it. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { orders, write } from '../../helpers/migration/tapped.ts';
import { envOf, SPEC } from '../../helpers/migration/typed.ts';
import { built } from '../../helpers/process/built.ts';
import { runShell } from '../../helpers/process/cosmig-process.ts';

const hasScript = spawnSync('script', ['--version']).status === 0;
const CHILD = built(new URL('../../helpers/process/cosmig-child.ts', import.meta.url));

/** Runs cosmig in a terminal of no width, and ends it when it takes too long. */
const inTerminal = (words: readonly string[]): string =>
  `timeout 40 script -qfec '${[process.execPath, CHILD, ...words].join(' ')}' /dev/null`;

test.skipIf(!hasScript)('a terminal without a width, help -> printed', async () => {
  const { code, stdout } = await runShell(inTerminal(['copy', '--help']));
  expect([code, stdout]).toEqual([0, expect.stringContaining('--partition-key')]);
});

test.skipIf(!hasScript)('a terminal without a width, a copy -> ends, and shows no live line', async () => {
  await using move = await Move.open();
  await write(move, orders(50));
  const env = { ...envOf(move), TERM: 'xterm' };
  const { code, stdout } = await runShell(inTerminal(['copy', '--yes', ...SPEC]), env);
  expect([code, stdout.length < 10_000]).toEqual([0, true]);
  expect(await move.documents(move.target)).toHaveLength(50);
});
