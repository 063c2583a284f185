import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/emulator/settings.ts';
import { must } from '../../src/lib/assert.ts';
import { startTestEmulator } from '../helpers/emulator.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const README = readFileSync(`${ROOT}README.md`, 'utf8');

/** The blocks of one language, in the order they come. */
function blocks(language: string): string[] {
  const found = README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'));
  return [...found].map(([, text = '']) => text);
}

test("README's first script works as it stands", async () => {
  const script = must(blocks('js')[0], 'README has a script');
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

test("README's settings are the real ones with their defaults, and its faults are accepted", async () => {
  const [settings, faults] = blocks('json').map((block) => JSON.parse(block) as unknown);
  expect(settings).toEqual(DEFAULT_SETTINGS);
  await using server = await startTestEmulator();
  const put = async (path: string, body: unknown): Promise<number> => {
    const request = { method: 'PUT', body: JSON.stringify(body) };
    return (await fetch(new URL(`_emulator/${path}`, server.endpoint), request)).status;
  };
  await expect(put('account', settings)).resolves.toBe(200);
  await expect(put('faults', faults)).resolves.toBe(200);
});

test('README lists the routes that the emulator has for itself', () => {
  const routes = readFileSync(`${ROOT}src/emulator/routes.ts`, 'utf8');
  const real = [...routes.matchAll(/'([A-Z]+ \/_emulator\/[^']+)'/g)].map(([, route]) => route);
  const listed = [...README.matchAll(/^\| `([A-Z]+ \/_emulator\/[^`]+)`/gm)].map(([, route]) => route);
  expect(listed.map((route) => route?.replace('DB/COLL', '*/*'))).toEqual(real);
});
