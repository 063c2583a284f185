/** `cosmig plan` with no more than the right to read: everything is measured, and what is hidden is said. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { PUBLISHED_KEY, startEmulator } from '../../../src/emulator/http/server.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';

test('plan: a read-only key -> measures, and counts scripts; without a right to them, the page says so', async () => {
  const readonlyKey = randomBytes(64).toString('base64');
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-reader-'));
  const emulator = await startEmulator({
    host: '127.0.0.1',
    port: 0,
    https: false,
    data: ':memory:',
    key: PUBLISHED_KEY,
    readonlyKey,
  });
  const { endpoint } = emulator;
  const owner = new CosmosClient({ endpoint, key: PUBLISHED_KEY });
  try {
    const { database } = await owner.databases.create({ id: 'shop' });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: '/tenantId' });
    for (let n = 0; n < 40; n += 1)
      await container.items.create({ id: `o${n}`, tenantId: `t${n % 4}`, customerId: `c${n % 30}` });
    await container.scripts.storedProcedures.create({ id: 'archive', body: 'function () {}' });
    await container.scripts.userDefinedFunctions.create({ id: 'tax', body: 'function () {}' });
    const page = join(folder, 'plan.html');
    const argv = [
      'plan',
      '--source',
      'shop/orders',
      '--candidate',
      '/customerId',
      '--report',
      page,
      '--json',
    ];
    const env = {
      COSMIG_SOURCE_ENDPOINT: endpoint,
      COSMIG_SOURCE_KEY: readonlyKey,
      COSMIG_LEDGER: join(folder, 'orders.db'),
    };
    const seen = await runCosmig(argv, { env, clock: systemClock });
    expect([seen.code, seen.code === 0 ? '' : seen.stderr]).toEqual([0, '']);
    expect(JSON.parse(seen.stdout)).toMatchObject({
      documents: 40,
      source: { scripts: { storedProcedures: 1, triggers: 0, functions: 1 } },
    });
    expect(readFileSync(page, 'utf8')).toContain(
      '1 stored procedure, 0 triggers and 1 user-defined function.',
    );

    const faults = [{ match: { op: 'script' }, effect: { status: 403, substatus: 5300 } }];
    const put = { method: 'PUT', body: JSON.stringify({ rules: faults }) };
    expect((await fetch(new URL('_emulator/faults', endpoint), put)).status).toBe(200);
    const hidden = await runCosmig(argv, { env, clock: systemClock });
    expect(JSON.parse(hidden.stdout)).toMatchObject({ source: { scripts: null } });
    expect(readFileSync(page, 'utf8')).toContain('this identity may not see them');
  } finally {
    owner.dispose();
    await emulator.close();
    rmSync(folder, { recursive: true });
  }
});
