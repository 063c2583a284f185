/** The lock of a ledger, held against other processes, under whichever name they know the ledger. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/lib/errors.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { MoverLock } from '../../../src/state/lock.ts';
import { built } from '../../helpers/process/built.ts';
import { buildIndex, hashOf, openLedger, SMALL, temporaryFolder } from '../../unit/state/making.ts';

const CHILD = built(new URL('ledger-child.ts', import.meta.url));

function childArguments(...args: string[]): string[] {
  return [CHILD, ...args];
}

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

test('mover lock: held -> other movers are refused in any process, status can read', async () => {
  const path = somePath();
  const ledger = openLedger(path);
  expect(() => openLedger(path)).toThrow(/another cosmig is working/);
  const second = promisify(execFile)(process.execPath, childArguments('open', path));
  await expect(second).rejects.toMatchObject({ stdout: 'NotReadyError' });
  const status = await promisify(execFile)(process.execPath, childArguments('status', path));
  expect(status.stdout).toBe('new running');
  ledger.close();
  const later = await promisify(execFile)(process.execPath, childArguments('open', path));
  expect(later.stdout).toBe('opened');
});

// The collector closes a connection that nothing refers to, and the lock would go with it: a second mover could start.
test('mover lock: no variable refers to it -> held until it is released', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-lock-'));
  const script = `
    import { MoverLock } from ${JSON.stringify(new URL('../../../src/state/lock.ts', import.meta.url).href)};
    const path = ${JSON.stringify(join(folder, 'ledger.db'))};
    function take() { MoverLock.take(path); }
    take();
    for (let round = 0; round < 5; round += 1) {
      await new Promise((done) => setTimeout(done, 5));
      globalThis.gc();
    }
    const unreferenced = MoverLock.isHeld(path);
    const other = path + '-other';
    const lock = MoverLock.take(other);
    lock.release();
    console.log(JSON.stringify({ unreferenced, released: MoverLock.isHeld(other) }));
  `;
  const args = [
    '--expose-gc',
    '--import',
    import.meta.resolve('tsx'),
    '--input-type=module',
    '--eval',
    script,
  ];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(JSON.parse(stdout)).toEqual({ unreferenced: true, released: false });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

// cosmig watch looks once a second, also while a run begins.
test('mover lock: another process is suspended while it looks -> taken when it has looked', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  MoverLock.take(path).release();
  const looking = spawn(process.execPath, childArguments('look', path, '600'), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(looking, 'exit');
  await once(looking.stdout, 'data');
  const lock = MoverLock.take(path);
  expect(MoverLock.isHeld(path)).toBe(true);
  lock.release();
  expect(await ended).toEqual([0, null]);
});

test('SIGKILL: during the index build -> nothing is lost', async () => {
  const path = somePath();
  for (const steps of [5, 30, 60]) {
    const child = spawn(process.execPath, childArguments('build', path, String(steps)), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(Ledger.isRunning(path)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(Ledger.isRunning(path)).toBe(false);
  }
  using ledger = openLedger(path);
  buildIndex(ledger, 1, SMALL);
  for (let i = 0; i < 4000; i += 7)
    expect(ledger.lookup.find(hashOf(`d${i}`), 1)?.slot).toEqual(hashOf(`s${i}`));
});

type Skip = (why: string) => never;

describe('another name of the ledger', () => {
  let elsewhere: ChildProcess;
  let answers: AsyncIterator<string>;

  beforeAll(() => {
    const child = spawn(process.execPath, childArguments('serve'), { stdio: ['pipe', 'pipe', 'inherit'] });
    elsewhere = child;
    answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  });

  afterAll(async () => {
    elsewhere.stdin?.end();
    await once(elsewhere, 'exit');
  });

  async function openElsewhere(path: string, folder = dirname(path)): Promise<string> {
    elsewhere.stdin?.write(`${JSON.stringify({ path, folder })}\n`);
    return String((await answers.next()).value);
  }

  test.for<[what: string, other: (path: string, skip: Skip) => string]>([
    ['a symbolic link', (path, skip) => link(path, join(temporaryFolder(), 'other.db'), skip)],
    [
      'a symbolic link to a symbolic link',
      (path, skip) => link(link(path, `${path}-1`, skip), `${path}-2`, skip),
    ],
    [
      'a folder that is a symbolic link',
      (path, skip) => join(link(dirname(path), `${temporaryFolder()}/f`, skip), 'ledger.db'),
    ],
    ['a relative path', () => 'ledger.db'],
    ['a path with ..', (path) => `${dirname(path)}/../${basename(dirname(path))}/ledger.db`],
  ])('%s -> the same lock, in any process', async ([_what, other], { skip }) => {
    const path = somePath();
    const name = other(path, skip);
    const ledger = openLedger(path);
    expect(await openElsewhere(name, dirname(path))).toBe('NotReadyError');
    expect(Ledger.isRunning(join(dirname(path), 'ledger.db'))).toBe(true);
    ledger.close();
    expect(await openElsewhere(name, dirname(path))).toBe('opened');
    expect(readdirSync(dirname(path)).filter((file) => file.includes('-lock'))).toEqual(['ledger.db-lock']);
  });

  test('a symbolic link to a file that is missing -> one ledger, one lock', async ({ skip }) => {
    const path = somePath();
    const name = link(path, join(temporaryFolder(), 'other.db'), skip);
    const ledger = openLedger(name);
    expect(await openElsewhere(path)).toBe('NotReadyError');
    ledger.close();
    expect(readdirSync(dirname(name))).toEqual(['other.db']);
  });

  test('a hard link, made before or while a mover works -> refused in any process, by either name', async () => {
    const path = somePath();
    const name = join(temporaryFolder(), 'other.db');
    const ledger = openLedger(path);
    linkSync(path, name);
    expect(await openElsewhere(name)).toBe('LedgerError');
    expect(() => Ledger.openReadonly(name)).toThrow(/has another name/);
    ledger.close();
    expect(await openElsewhere(name)).toBe('LedgerError');
    expect(await openElsewhere(path)).toBe('LedgerError');
    rmSync(name);
    expect(await openElsewhere(path)).toBe('opened');
  });
});

/** Makes a symbolic link. Windows lets only some users do that. */
function link(to: string, name: string, skip: Skip): string {
  try {
    symlinkSync(to, name);
  } catch (error) {
    if (codeOf(error) === 'EPERM') skip('this user may not make symbolic links');
    throw error;
  }
  return name;
}
