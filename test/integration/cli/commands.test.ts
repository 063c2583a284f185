import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { must } from '../../../src/lib/assert.ts';
import { exchange } from '../../helpers/emulator/raw.ts';
import { Packaged } from '../../helpers/process/packaged.ts';
import { runShell } from '../../helpers/process/cosmig-process.ts';
import { CosmigRun, runCosmig, type Around } from '../../helpers/run-cosmig.ts';
import { until } from '../../helpers/wait.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-commands-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Ready {
  readonly ready: true;
  readonly endpoint: string;
  readonly connectionString: string;
}

/** Starts `cosmig emulator --json` on a free port and waits for its one line. */
async function startCommand(
  argv: readonly string[] = [],
  around: Around = {},
): Promise<CosmigRun & { ready: Ready }> {
  const run = new CosmigRun(['emulator', '--port', '0', '--json', ...argv], around);
  await untilAnnounced(run);
  return Object.assign(run, { ready: JSON.parse(run.stdout) as Ready });
}

async function untilAnnounced(run: CosmigRun): Promise<void> {
  await until(() => run.stdout !== '', { what: 'the line that says that the emulator is ready' });
}

function accessOf({ connectionString }: Ready): { endpoint: string; key: string } {
  const found = /^AccountEndpoint=([^;]+);AccountKey=([^;]+);?$/.exec(connectionString);
  return {
    endpoint: must(found?.[1], 'it names the endpoint'),
    key: must(found?.[2], 'it names the key'),
  };
}

async function databasesOf(ready: Ready): Promise<string[]> {
  using account = new Account(accessOf(ready));
  const { resources } = await account.client.databases.readAll().fetchAll();
  return resources.map(({ id }) => id);
}

describe('cosmig emulator', () => {
  test('--json -> one line when ready; the first Ctrl-C ends it cleanly', async () => {
    const run = await startCommand();
    await expect(databasesOf(run.ready)).resolves.toEqual([]);
    run.press('SIGINT');
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: `${JSON.stringify(run.ready)}\n` });
    // A message cannot repeat the connection string, because messages contain no key.
    expect(stderr).not.toContain('AccountKey');
    await expect(fetch(run.ready.endpoint)).rejects.toThrow('fetch failed');
  });

  test('without --json -> the connection string; SIGTERM ends with 143', async () => {
    const run = new CosmigRun(['emulator', '--port', '0']);
    await untilAnnounced(run);
    expect(run.stdout).toMatch(/^AccountEndpoint=http:\/\/127\.0\.0\.1:\d+\/;AccountKey=[\w+/]+==;?\n$/);
    run.press('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(code).toBe(143);
    expect(stderr).toContain('its data is in memory and is lost when it stops; --data FILE keeps it\n');
    expect(stderr).toContain(
      `in other terminals:\nexport COSMIG_SOURCE_CONNECTION_STRING='${run.stdout.trim()}'\n`,
    );
    expect(stderr).toMatch(
      /\ncosmig: the emulator was stopped \(SIGTERM\)\n {2}why {2}.*in memory and is lost\n {2}now {2}use --data FILE/,
    );
  });

  test('--data and --key -> data survives a restart', async () => {
    const key = Buffer.from('a key of our own, for this test only').toString('base64');
    const around = { env: { COSMIG_EMULATOR_KEY: key, COSMIG_EMULATOR_DATA: join(folder, 'account.db') } };
    const first = await startCommand([], around);
    expect(accessOf(first.ready).key).toBe(key);
    {
      using account = new Account(accessOf(first.ready));
      await account.client.databases.create({ id: 'kept' });
    }
    first.press('SIGINT');
    await first.ended;
    const second = await startCommand([], around);
    await expect(databasesOf(second.ready)).resolves.toEqual(['kept']);
    second.press('SIGINT');
    await second.ended;
  });

  test('--config -> applied; an invalid file is refused', async () => {
    const config = join(folder, 'account.json');
    writeFileSync(config, '{"avad": true, "retentionSeconds": 600}');
    const run = await startCommand(['--config', config]);
    run.press('SIGINT');
    await run.ended;
    writeFileSync(config, '[]');
    const { code, stderr } = await runCosmig(['emulator', '--config', config]);
    expect(code).toBe(2);
    expect(stderr).toContain('has no settings');
  });

  test('--certificate-out -> the certificate of the server', async () => {
    const file = join(folder, 'emulator.pem');
    const run = await startCommand(['--https', '--certificate-out', file]);
    expect(run.ready.endpoint).toMatch(/^https:/);
    expect(readFileSync(file, 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
    run.press('SIGINT');
    await run.ended;
  });

  test('port in use -> three lines and exit code 3', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await runCosmig(['emulator', '--port', String(port)]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr.split('\n')).toHaveLength(4);
    expect(stderr).toMatch(/^cosmig: .*\n {2}why {2}.* port.*\n {2}now {2}.*--port/);
    other.close();
    await once(other, 'close');
  });

  test('unknown host -> usage error', async () => {
    // A name with an empty part is none, which no resolver has to be asked for.
    const { code, stderr } = await runCosmig(['emulator', '--port', '0', '--host', 'a..b']);
    expect(code).toBe(2);
    expect(stderr).toContain('unknown host: a..b');
  });

  test('--allow-host, or its variable -> these names are answered, and no others', async () => {
    for (const [argv, env] of [
      [['--allow-host', 'first, emulator.example.com'], {}],
      [[], { COSMIG_EMULATOR_ALLOW_HOST: 'first,emulator.example.com' }],
    ] as const) {
      const run = await startCommand(argv, { env });
      const statusFor = async (host: string): Promise<number> =>
        (
          await exchange({
            method: 'GET',
            endpoint: run.ready.endpoint,
            path: '/_emulator/state',
            headers: { host },
          })
        ).status;
      expect(await statusFor('emulator.example.com:8081')).toBe(200);
      expect(await statusFor('first')).toBe(200);
      expect(await statusFor('example.com')).toBe(403);
      run.press('SIGINT');
      await run.ended;
    }
  });

  test('damaged data file -> exit code 7', async () => {
    const file = join(folder, 'broken.db');
    writeFileSync(file, 'not a database file '.repeat(500));
    const { code, stdout } = await runCosmig(['emulator', '--port', '0', '--json', '--data', file]);
    expect(code).toBe(7);
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'emulator',
      complete: false,
      error: { code: 'ledger' },
    });
  });

  test('a key that is not base64 -> usage error that does not repeat it', async () => {
    const { code, stderr } = await runCosmig(['emulator', '--key', 'not*base64']);
    expect(code).toBe(2);
    expect(stderr).toContain('the account key is not base64');
    expect(stderr).not.toContain('not*base64');
  });
});

test('bin/cosmig.js: built aside, a real Ctrl-C -> serves and ends', async () => {
  const packaged = await Packaged.build(folder);
  const child = packaged.start(['emulator', '--port', '0', '--json']);
  const ended = Promise.all([once(child, 'exit'), text(child.stderr)]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = await lines.next();
  expect(JSON.parse(String(line.value))).toMatchObject({ ready: true });
  child.kill('SIGINT');
  const [[code], stderr] = await ended;
  expect(code).toBe(130);
  expect(stderr).toContain('the emulator was stopped (SIGINT)');
});

test('output: disk full -> exit code 2; reader gone -> success', async () => {
  const key = `echo '{"id":"1","a":"b"}' | cosmig key --partition-key /a`;
  const lost = await runShell(`${key} > /dev/full`);
  expect([lost.code, lost.stderr]).toEqual([
    2,
    expect.stringMatching(/^cosmig: the output cannot be written\n/),
  ]);
  expect(await runShell(`${key} | true`)).toMatchObject({ code: 0, stderr: '' });
});
