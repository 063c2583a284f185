import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { must } from '../../src/lib/assert.ts';
import { startTestEmulator } from '../helpers/emulator.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test("README's first script works as it stands", async () => {
  const readme = readFileSync(`${ROOT}README.md`, 'utf8');
  const script = must(/^```js\n(.*?)^```/ms.exec(readme)?.[1], 'README has one script');
  await using server = await startTestEmulator();
  // From standard input, in the clone: so the script finds the SDK as a file there would.
  const child = spawn(process.execPath, ['--input-type=module', '-', server.connectionString], { cwd: ROOT });
  child.stdin.end(script);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "[ { id: '1', total: 12.5 } ]\n", stderr: '' });
});
