/** Paths that name no file, and machines that refuse files or memory: one clear error each, never a bug or a hang. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runShell, startCosmig } from '../../helpers/process/cosmig-process.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';
import { Move } from '../../helpers/migration/move.ts';
import { SPEC } from '../../helpers/migration/typed.ts';
import { temporaryFolder } from '../../unit/state/making.ts';

/** Nothing listens there, and no command below comes so far. */
const ENV = {
  COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=http://127.0.0.1:9/;AccountKey=${Buffer.alloc(64).toString('base64')};`,
};
const BIN = fileURLToPath(new URL('../../../bin/cosmig.js', import.meta.url));

/** Message, reason and what to do now; nothing else. */
const CLEAR = /^cosmig: .+\n {2}why {2}.+\n {2}now {2}.+\n$/;

async function run(...argv: readonly string[]): Promise<Ran> {
  await using child = startCosmig(argv, ENV);
  return await child.ended;
}

/** The exit code, and whether an error is explained as cosmig explains errors. */
function endOf({ code, stderr }: Ran): string {
  return CLEAR.test(stderr) ? `${code}, explained` : `${code} ${stderr}`.trim();
}

function fifo(): string {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

function belowFile(name: string): string {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, 'a file');
  return join(file, name);
}

describe.skipIf(process.platform === 'win32')('a path that cannot be a ledger', () => {
  test.each([
    ['a named pipe', fifo],
    ['below a file', () => belowFile('ledger.db')],
    ['below /dev/null', () => '/dev/null/ledger.db'],
    ['/dev/null itself', () => '/dev/null'],
    ['in /proc', () => '/proc/ledger.db'],
    ['in a missing folder of /proc', () => '/proc/missing/folder/ledger.db'],
    ['below a name that is too long', () => join(temporaryFolder(), 'x'.repeat(300), 'ledger.db')],
  ])('%s -> exit code 7', async (_what, path) => {
    const ledger = path();
    for (const argv of [
      ['status', '--ledger', ledger],
      ['dead-letters', 'discard', '1', '--ledger', ledger],
      ['emulator', '--port', '0', '--data', ledger],
    ])
      expect(endOf(await run(...argv))).toBe('7, explained');
  });
});

describe.skipIf(process.platform === 'win32')('a file that a command reads or writes', () => {
  test('a config that is a named pipe -> exit code 2', async () => {
    expect(endOf(await run('status', '--config', fifo()))).toBe('2, explained');
    expect(endOf(await run('emulator', '--port', '0', '--config', fifo()))).toBe('2, explained');
  });

  test('a report that is a named pipe without a reader -> exit code 2', async () => {
    expect(endOf(await run('verify', ...SPEC, '--report', fifo()))).toBe('2, explained');
  });
});

describe.skipIf(process.platform !== 'linux')('a limit of the machine', () => {
  test.each([24, 32, 48, 64, 128])('%i open files -> works, or exit code 3', async (limit) => {
    const none = join(temporaryFolder(), 'none.db');
    for (const [argv, works] of [
      ['--version', '0'],
      ['verify --help', '0'],
      [`status --ledger ${none}`, '7, explained'],
    ] as const) {
      const ran = await runShell(`ulimit -n ${limit}; ${process.execPath} ${BIN} ${argv}`, ENV);
      expect(endOf(ran)).toBeOneOf([works, '3, explained']);
    }
  });

  // Newer versions of Node start with as few files as cosmig needs, or do not start at all.
  test.skipIf(Number.parseInt(process.versions.node, 10) > 20)(
    'few open files -> the error says how to raise the limit',
    async () => {
      const { stderr } = await runShell(`ulimit -n 32; ${process.execPath} ${BIN} --version`, ENV);
      expect(stderr).toContain('ulimit -n 1024');
    },
  );

  test.each([2, 4])(
    '%i GB of addresses, of which WebAssembly of some versions of Node reserves more -> done, or exit code 3',
    async (limit) => {
      await using move = await Move.open();
      await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
      const argv = ['copy', ...SPEC, '--ledger', move.ledgerPath, '--yes'].join(' ');
      const ran = await runShell(`ulimit -v ${limit}000000; ${process.execPath} ${BIN} ${argv}`, {
        COSMIG_SOURCE_CONNECTION_STRING: move.connectionString,
      });
      expect([ran.code, ran.stderr.includes('ulimit -v')]).toBeOneOf([
        [0, false],
        [3, true],
      ]);
    },
  );
});
