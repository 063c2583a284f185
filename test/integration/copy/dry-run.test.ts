/** `cosmig copy --dry-run` as an operator types it: text, JSON, and nothing written anywhere. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { hashKey } from '../../helpers/emulator/key-definitions.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { before, isLaterPage, order, orders, Tapped, write } from '../../helpers/migration/tapped.ts';
import { SPEC, typed } from '../../helpers/migration/typed.ts';

let emulator: TestEmulator;
let client: CosmosClient;
let folder: string;
beforeEach(async () => {
  emulator = await startTestEmulator();
  folder = mkdtempSync(join(tmpdir(), 'cosmig-dry-'));
  client = new CosmosClient({ endpoint: emulator.endpoint, key: emulator.key });
  const { database } = await client.databases.create({ id: 'shop' });
  const { container } = await database.containers.create({ id: 'orders', partitionKey: hashKey() });
  for (let n = 0; n < 12; n += 1)
    await container.items.create({ id: `d${n % 11}`, pk: `p${n}`, tenantId: `t${n % 11}` });
});
afterEach(async () => {
  client.dispose();
  rmSync(folder, { recursive: true });
  await emulator.close();
});

const copyIn = (more: readonly string[], settings: Readonly<Record<string, string>>): Promise<Ran> => {
  const ledger = ['--ledger', join(folder, 'ledger.db'), '--create-target'];
  const env = { COSMIG_SOURCE_CONNECTION_STRING: emulator.connectionString, ...settings };
  return runCosmig(['copy', ...SPEC, ...ledger, ...more], { env, clock: systemClock });
};
const copy = (...more: string[]): Promise<Ran> => copyIn(more, {});
const copyWith = (settings: Readonly<Record<string, string>>): Promise<Ran> =>
  copyIn(['--dry-run'], settings);

test('copy --dry-run: warnings and an estimate -> printed, and nothing is written', async () => {
  const ran = await copy('--dry-run');
  const next =
    'next: read the warnings; cosmig copy --yes continues in spite of them (with the same flags)\n';
  expect(ran).toMatchObject({ code: 0, stderr: next });
  expect(ran.stdout).toMatch(/^source +shop\/orders; key \/pk; 400 RU\/s; 12 documents\n/);
  expect(ran.stdout).toMatch(
    /\ntarget +shop\/by-tenant; key \/tenantId; will be created with 400\n? +RU\/s\n/,
  );
  expect(ran.stdout).toMatch(/\nwarning +1 of 12 sampled documents have the same id as another/);
  for (const line of ran.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(readdirSync(folder)).toEqual([]);
  const { resources } = await client.database('shop').containers.readAll().fetchAll();
  expect(resources.map(({ id }) => id)).toEqual(['orders']);
});

test.each([
  ['--adopt-target', []],
  ['--watch', []],
  ['--metrics-file', ['figures.prom']],
  ['--notify', ['https://example.com/hook']],
  ['--notify-command', ['true']],
])('copy --dry-run: %s -> refused, since a dry run would ignore it', async (flag, value) => {
  const ran = await copy('--dry-run', flag, ...value);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`--dry-run cannot be combined with ${flag}`);
});

test('copy --dry-run: the same settings for all runs of a migration -> the dry run leaves them alone', async () => {
  const config = join(folder, 'all.yaml');
  const figures = join(folder, 'figures.prom');
  writeFileSync(config, `metricsFile: ${figures}\n`);
  expect((await copy('--dry-run', '--config', config)).code).toBe(0);
  expect((await copyWith({ COSMIG_METRICS_FILE: figures, COSMIG_NOTIFY_COMMAND: 'true' })).code).toBe(0);
  expect(existsSync(figures)).toBe(false);
});

test('copy --dry-run: --json -> one object', async () => {
  const { stdout, code } = await copy('--dry-run', '--json');
  expect(code).toBe(0);
  const json: unknown = JSON.parse(stdout);
  expect(json).toMatchObject({
    command: 'copy',
    dryRun: true,
    complete: true,
    sample: { documents: 12, isWhole: true, collisions: 1, collided: [{ targetKey: ['t0'] }] },
    warnings: [{ kind: 'collisions' }],
    estimate: { documents: 12 },
  });
});

test('copy: warnings without --yes -> exit code 3, and no ledger', async () => {
  const { code, stderr } = await copy();
  expect(code).toBe(3);
  expect(stderr).toContain('1 of 12 sampled documents have the same id as another one');
  expect(stderr).toContain('--yes');
  expect(existsSync(join(folder, 'ledger.db'))).toBe(false);
});

test('copy --dry-run: a migration that has begun -> its own copies are not a target in use', async () => {
  expect(await copy('--yes')).toMatchObject({ code: 5 });
  const ran = await copy('--dry-run');
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stdout).toMatch(/^begun +this migration has begun \(phase copied\);/);
  expect(ran.stdout).toMatch(/\ntarget +shop\/by-tenant; key \/tenantId; 400 RU\/s; 11 documents\n/);
  expect(ran.stderr).toMatch(
    /^next: this migration has begun; cosmig tail .* cosmig dead-letters list --ledger/m,
  );
  await client.database('shop').container('by-tenant').delete();
  for (const flags of [['--dry-run'], ['--yes']]) {
    const lost = await copy(...flags);
    expect([lost.code, lost.stderr]).toEqual([
      3,
      expect.stringMatching(/there is no target container shop\/by-tenant[^]*--ledger FILE \(a new file\)/),
    ]);
  }
});

test('copy --dry-run: documents get another key of the source while the sample is read -> no collisions', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, [...orders(30), order(3, { customerId: 'second' })]);
  const giveAway = (n: number) => async (): Promise<void> => {
    await move.source.item(`o${n}`, `c${n}`).delete();
    await move.source.items.create(order(n, { customerId: 'another' }));
  };
  tap.meddle = before(isLaterPage, { 2: giveAway(0), 3: giveAway(1) });
  const { stdout } = await typed(move, 'copy', ...SPEC, '--dry-run', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    sample: { documents: 31, isWhole: true, collisions: 1, collided: [{ id: 'o3', targetKey: ['t3'] }] },
  });
});
