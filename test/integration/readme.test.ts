import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/emulator/settings.ts';
import { must } from '../../src/lib/assert.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startTestEmulator } from '../helpers/emulator.ts';
import { runCosmig } from '../helpers/run-cosmig.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const README = readFileSync(`${ROOT}README.md`, 'utf8');

/** The blocks of one language, in the order they come. */
function blocks(language: string): string[] {
  const found = README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'));
  return [...found].map(([, text = '']) => text);
}

/** The script that holds these words. */
function scriptWith(words: string): string {
  return must(
    blocks('js').find((block) => block.includes(words)),
    `README has a script with ${words}`,
  );
}

test("README's quick start moves a container that is written to", async () => {
  await using server = await startTestEmulator();
  const args = ['--input-type=module', '-', server.connectionString];
  const application = spawn(process.execPath, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-readme-'));
  try {
    application.stdin.end(scriptWith('orders written'));
    await once(application.stdout, 'data');
    const lines = blocks('sh').find((block) => block.includes('COSMIG_SOURCE_CONNECTION_STRING')) ?? '';
    const env = {
      COSMIG_SOURCE_CONNECTION_STRING: server.connectionString,
      COSMIG_LEDGER: join(folder, 'ledger.db'),
    };
    const codes: number[] = [];
    for (const line of lines.split('\n').filter((one) => one.startsWith('cosmig '))) {
      const argv = line.replace('--for 30s', '--for 2s').split(' ').slice(1);
      const { code, stdout, stderr } = await runCosmig(argv, { env, clock: systemClock });
      expect(`${stdout}${stderr}`).toContain('shop/orders');
      codes.push(code);
    }
    expect(codes).toEqual([0, 0, 0, 0]);
  } finally {
    application.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

test("README's first script works as it stands", async () => {
  const script = scriptWith('amber');
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
