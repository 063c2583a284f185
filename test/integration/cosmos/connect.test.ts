/** Microsoft's SDK, connected our way, against the emulator: by key, by Entra ID, by sockets of the caller's. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connect } from '../../../src/cosmos/account/client.ts';
import { Connection } from '../../../src/spec/connection.ts';
import { startTestEmulator } from '../../helpers/emulator/emulator.ts';

const signal = new AbortController().signal;

/** A token as Entra ID makes them, but not signed: the emulator checks its shape and when it expires. */
function token(expiresAtMs: number): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(expiresAtMs / 1000) })}.${part('signature')}`;
}

const scopes: string[] = [];
let lifetimeMs = 3_600_000;

vi.mock('@azure/identity', () => ({
  DefaultAzureCredential: class {
    async getToken(scope: string): Promise<unknown> {
      scopes.push(scope);
      const expiresOnTimestamp = Date.now() + lifetimeMs;
      return { token: token(expiresOnTimestamp), expiresOnTimestamp: Date.now() + 3_600_000 };
    }
  },
}));

afterEach(() => {
  scopes.length = 0;
  lifetimeMs = 3_600_000;
});

describe('by Entra ID over TLS', () => {
  test('documents -> read and written; the control plane -> refused, as on the service', async () => {
    await using emulator = await startTestEmulator({ https: true, settings: { aad: true } });
    const agent = new HttpsAgent({ ca: emulator.certificate, keepAlive: true });
    try {
      using owner = await connect(new Connection(emulator.endpoint, emulator.key), { signal, agent });
      const { database } = await owner.client.databases.create({ id: 'shop' });
      await database.containers.create({ id: 'orders', partitionKey: '/tenantId' });

      using account = await connect(new Connection(emulator.endpoint, undefined), { signal, agent });
      const { items } = account.client.database('shop').container('orders');
      await items.create({ id: '1', tenantId: 'amber' });
      const { resources } = await items.query('SELECT * FROM c').fetchAll();
      expect(resources).toMatchObject([{ id: '1', tenantId: 'amber' }]);
      await expect(account.client.databases.create({ id: 'other' })).rejects.toMatchObject({ code: 403 });
      const own = `${new URL(emulator.endpoint).origin}/.default`;
      expect(new Set(scopes)).toEqual(new Set([own]));
    } finally {
      agent.destroy();
    }
  });

  test('an expired token -> refused by the account', async () => {
    lifetimeMs = -60_000;
    await using emulator = await startTestEmulator({ https: true, settings: { aad: true } });
    const agent = new HttpsAgent({ ca: emulator.certificate });
    try {
      using account = await connect(new Connection(emulator.endpoint, undefined), { signal, agent });
      await expect(account.client.databases.readAll().fetchAll()).rejects.toMatchObject({ code: 401 });
    } finally {
      agent.destroy();
    }
  });
});

describe('by key', () => {
  test('plain http on loopback -> works with the sockets of the caller and without', async () => {
    await using emulator = await startTestEmulator();
    const connection = new Connection(emulator.endpoint, emulator.key);
    const agent = new HttpAgent({ keepAlive: true });
    try {
      using account = await connect(connection, { signal, agent });
      using plain = await connect(connection, { signal });
      for (const { client } of [account, plain]) {
        await expect(client.databases.readAll().fetchAll()).resolves.toMatchObject({ resources: [] });
      }
      expect(scopes).toEqual([]);
    } finally {
      agent.destroy();
    }
  });

  test('a 429 -> returned at once; the account is never asked for its regions', async () => {
    await using emulator = await startTestEmulator();
    await emulator.admin.faults([{ match: { op: 'read' }, effect: { status: 429, retryAfterMs: 60_000 } }]);
    using account = await connect(new Connection(emulator.endpoint, emulator.key), { signal });
    const { database } = await account.client.databases.create({ id: 'shop' });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: '/id' });
    await expect(container.item('1', '1').read()).rejects.toMatchObject({ code: 429 });
    expect(JSON.stringify((await emulator.admin.state())['requests'])).not.toContain('"account"');
  });

  test('discovery is on -> the account is asked for its regions', async () => {
    await using emulator = await startTestEmulator();
    const connection = new Connection(emulator.endpoint, emulator.key);
    using account = await connect(connection, { signal, discovery: true });
    await account.client.databases.readAll().fetchAll();
    expect(JSON.stringify((await emulator.admin.state())['requests'])).toContain('"account"');
  });
});
