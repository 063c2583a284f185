import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Move } from '../helpers/move.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';

const SPEC = [
  '--source',
  'shop/orders',
  '--target',
  'shop/by-tenant',
  '--partition-key',
  '/tenantId',
  '--yes',
];

test('from the copy to the target in use, as an operator types it', async () => {
  await using move = await Move.open();
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-cutover-'));
  const env = {
    PATH: process.env['PATH'] ?? '',
    COSMIG_SOURCE_CONNECTION_STRING: move.connectionString,
    COSMIG_LEDGER: move.ledgerPath,
  };
  const cosmig = async (...argv: string[]): Promise<Ran> => {
    const [command = '', ...flags] = argv;
    return runCosmig([command, ...SPEC, ...flags], { env, clock: systemClock });
  };
  const hook = (name: string): string => join(folder, name);
  try {
    for (let n = 0; n < 30; n += 1)
      await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
    expect((await cosmig('copy')).code).toBe(0);

    const early = await cosmig('cutover', '--writers-stopped');
    expect(early.code).toBe(3);
    expect(early.stderr).toContain('nobody has proven yet that both sides hold the same');

    // Nobody tells this delete: the comparison finds it.
    await move.source.item('o3', 'c3').delete();
    await move.put({ id: 'o4', customerId: 'c4', tenantId: 'moved' });
    expect((await cosmig('tail', '--until-caught-up')).code).toBe(0);
    const differs = await cosmig('verify', '--deadline', '5s', '--json');
    expect(differs.code).toBe(4);
    expect(JSON.parse(differs.stdout)).toMatchObject({ equal: false, differences: { extra: 1, missing: 0 } });
    const repaired = await cosmig('verify', '--repair', '--deadline', '5s');
    expect(repaired.code).toBe(0);

    await move.source.item('o5', 'c5').delete();
    const unstopped = await cosmig('cutover');
    expect([unstopped.code, unstopped.stderr]).toEqual([
      2,
      expect.stringContaining('nobody says that the writers'),
    ]);
    const hooks = [
      '--on-fence',
      `echo stopping; env > ${hook('fence')}`,
      '--on-commit',
      `touch ${hook('commit')}`,
    ];
    const cut = await cosmig('cutover', ...hooks, '--quiet-for', '1s', '--watch', '1s', '--json');
    expect(JSON.parse(cut.stdout)).toMatchObject({
      command: 'cutover',
      phase: 'committed',
      complete: true,
      lateWrites: [],
    });
    expect(cut.code).toBe(0);
    expect(readFileSync(hook('fence'), 'utf8')).toContain('COSMIG_TARGET=shop/by-tenant');
    expect(existsSync(hook('commit'))).toBe(true);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));

    const status = await runCosmig(['status'], { env, clock: systemClock });
    expect(status.stdout).toMatch(/^phase +committed$/m);
    expect(status.stdout).toMatch(/^next +nothing: the target is in use/m);
    // Nothing of the source is brought over any more, in no way.
    expect((await cosmig('tail', '--until-caught-up')).code).toBe(3);
    const retried = await runCosmig(['dead-letters', 'retry', '--all', ...SPEC], { env, clock: systemClock });
    expect([retried.code, retried.stderr]).toEqual([
      3,
      expect.stringContaining('committed: the target is in use'),
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 90_000);

test('a hook that fails backs out, and the source stays in use', async () => {
  await using move = await Move.open();
  const env = {
    PATH: process.env['PATH'] ?? '',
    COSMIG_SOURCE_CONNECTION_STRING: move.connectionString,
    COSMIG_LEDGER: move.ledgerPath,
  };
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  const cosmig = async (command: string, ...flags: string[]): Promise<Ran> =>
    runCosmig([command, ...SPEC, ...flags], { env, clock: systemClock });
  expect((await cosmig('copy')).code).toBe(0);
  expect((await cosmig('verify', '--deadline', '5s')).code).toBe(0);
  const { code, stderr } = await cosmig(
    'cutover',
    '--on-fence',
    'echo cannot; exit 7',
    '--on-abort',
    'echo back',
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /cannot\n(?:.*\n)*.*backed out: the command of --on-fence failed; the source stays in use\nback\n/,
  );
  expect(stderr).toContain('why  it ended with exit code 7');
  expect((await runCosmig(['status'], { env, clock: systemClock })).stdout).toMatch(/^phase +tailing$/m);
}, 60_000);
