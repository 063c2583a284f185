import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  DRIVER_NAME,
  driverFor,
  driverMissing,
  loadDriver,
} from '../../../../src/lib/sqlite/sqlite-driver.ts';

test.each([
  ['Node 20', '9', 'better-sqlite3'],
  ['Node 22.13', '9', 'better-sqlite3'],
  ['Node 22.14 and every newer one', '10', 'better-sqlite3-13'],
  ['a Node of the future', '11', 'better-sqlite3-13'],
  ['a runtime without Node-API', undefined, 'better-sqlite3'],
])('sqlite driver: %s -> the driver that does not end its process', (_node, nodeApi, name) => {
  expect(driverFor(nodeApi)).toBe(name);
});

test.each([
  ['better-sqlite3', 'npm rebuild better-sqlite3'],
  ['better-sqlite3-13', `repeat the installation with Node ${process.version}`],
] as const)('driver: %s is missing -> reported, with what to do about it', (name, hint) => {
  const cause = new Error('as it came');
  expect(driverMissing(name, cause)).toMatchObject({ hint: expect.stringContaining(hint), cause });
});

test('sqlite driver: this Node -> its driver has the expected version, and opens a database', () => {
  const { version } = createRequire(import.meta.url)(`${DRIVER_NAME}/package.json`) as { version: string };
  expect(version).toMatch(DRIVER_NAME === 'better-sqlite3' ? /^12\./ : /^13\./);
  const Driver = loadDriver();
  const database = new Driver(':memory:');
  expect(database.prepare('SELECT 1').pluck().get()).toBe(1);
  database.close();
});

// Version 12, built for Node 24.21, aborts here at the first garbage collection.
test('sqlite driver: statements and iterators become garbage -> no abort', async () => {
  const script = `
    import { loadDriver } from ${JSON.stringify(new URL('../../../../src/lib/sqlite/sqlite-driver.ts', import.meta.url).href)};
    const Driver = loadDriver();
    const database = new Driver(':memory:');
    for (let round = 0; round < 10; round += 1) {
      for (let n = 0; n < 500; n += 1) {
        database.prepare('SELECT ' + n).get();
        for (const row of database.prepare('SELECT 1').iterate()) if (row === undefined) throw new Error();
      }
      const garbage = Array.from({ length: 50_000 }, (_, n) => ({ n }));
      await new Promise((done) => setTimeout(done, 5, garbage.length));
    }
    console.log('alive');
  `;
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout.trim()).toBe('alive');
});
