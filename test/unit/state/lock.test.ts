import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { MoverLock } from '../../../src/state/lock.ts';
import { built } from '../../helpers/process/built.ts';
import { temporaryFolder } from './making.ts';

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
  const child = built(new URL('ledger-child.ts', import.meta.url));
  const looking = spawn(process.execPath, [child, 'look', path, '600'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(looking, 'exit');
  await once(looking.stdout, 'data');
  const lock = MoverLock.take(path);
  expect(MoverLock.isHeld(path)).toBe(true);
  lock.release();
  expect(await ended).toEqual([0, null]);
});
