/** Access to the account: keys and tokens, HTTP and HTTPS, and the replies to requests that are refused. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import * as http from 'node:http';
import * as https from 'node:https';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startTestEmulator } from '../helpers/emulator/emulator.ts';
import { failure } from '../helpers/emulator/failure.ts';
import { exchange, parseJson, RawAccount, refusalOf, type Reply } from '../helpers/emulator/raw.ts';
import { within } from '../helpers/wait.ts';
import { type Backend, forEachBackend } from './backend.ts';
import { hashKey } from '../helpers/emulator/key-definitions.ts';

const MINUTE_MS = 60_000;
/** A server that waits for a silent client does so for a minute. */
const WITHIN_MS = 30_000;

/** An access token in the form of Entra ID; its signature is not checked here. */
function jwt(claims: Record<string, unknown> = {}): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ aud: 'cosmos', oid: 'someone', exp, ...claims })}.${'c2ln'.repeat(20)}`;
}

const credential = { getToken: async () => ({ token: jwt(), expiresOnTimestamp: Date.now() + 3_600_000 }) };

/** An address of this machine that is not the loopback one. */
function outsideAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((address) => address.family === 'IPv4' && !address.internal)?.address;
}

async function openSocket(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  // What the server does to it later is the test's business, not an uncaught error.
  socket.on('error', () => undefined);
  return socket;
}

function portOf(backend: Backend): number {
  return Number(new URL(backend.lab.endpoint).port);
}

forEachBackend('account document', (backend) => {
  it('read -> its name and its own URL', async () => {
    const { resource } = await backend.client().getDatabaseAccount();
    expect(resource).toBeDefined();
    expect(resource?.consistencyPolicy).toEqual(expect.any(String));

    const document = parseJson<{
      id: string;
      writableLocations: { name: string; databaseAccountEndpoint: string }[];
      readableLocations: { name: string; databaseAccountEndpoint: string }[];
      userConsistencyPolicy: { defaultConsistencyLevel: string };
      enableMultipleWriteLocations: boolean;
    }>(await backend.raw.send('GET', '/'));
    // With the id "localhost" the SDK would read the account again for every operation.
    expect(document.id).not.toBe('localhost');
    expect(document.id).not.toBe('');
    expect(document.userConsistencyPolicy.defaultConsistencyLevel).toEqual(expect.any(String));
    expect(document.enableMultipleWriteLocations).toBe(false);
    const locations = [...document.writableLocations, ...document.readableLocations];
    expect(locations.length).toBeGreaterThanOrEqual(2);
    for (const { name, databaseAccountEndpoint } of locations) {
      expect(name).not.toBe('');
      expect(new URL(databaseAccountEndpoint).protocol).toBe(new URL(backend.lab.endpoint).protocol);
    }
  });

  it.skipIf(backend.live)('read -> the endpoint of the request', async () => {
    const document = parseJson<{ writableLocations: { databaseAccountEndpoint: string }[] }>(
      await backend.raw.send('GET', '/'),
    );
    const [location] = document.writableLocations;
    expect(new URL(location?.databaseAccountEndpoint ?? '').origin).toBe(
      new URL(backend.lab.endpoint).origin,
    );
  });

  it('several operations of the SDK -> one read', async () => {
    const paths: string[] = [];
    const client = backend.client({
      connectionPolicy: { enableBackgroundEndpointRefreshing: false },
      onRequest: (context, next) => {
        paths.push(`${context.method} ${context.path}`);
        return next(context);
      },
    });
    for (let i = 0; i < 4; i += 1) await client.database(backend.lab.databaseId).read();
    expect(paths.filter((path) => path === 'GET ' || path === 'GET /').length).toBeLessThanOrEqual(1);
    expect(paths.filter((path) => path.includes('/dbs/')).length).toBe(4);
  });

  it('every reply -> activity id, version and charge', async () => {
    for (const path of ['/', '/dbs', `/dbs/${backend.lab.databaseId}`, '/dbs/nowhere']) {
      const { headers } = await backend.raw.send('GET', path);
      expect(headers['x-ms-activity-id'], path).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers['x-ms-request-charge'], path).toMatch(/^\d+(\.\d+)?$/);
      expect(headers['date'], path).toBeDefined();
    }
  });

  it('a connection string -> accepted', async () => {
    const connectionString = `AccountEndpoint=${backend.lab.endpoint};AccountKey=${backend.lab.key};`;
    const client = new backend.sdk.CosmosClient(connectionString);
    const { statusCode } = await client.database(backend.lab.databaseId).read();
    client.dispose();
    expect(statusCode).toBe(200);
  });
});

forEachBackend('master key', (backend) => {
  it('another key through the SDK -> 401', async () => {
    const client = backend.client({ key: Buffer.alloc(64, 7).toString('base64') });
    const error = await failure(client.database(backend.lab.databaseId).read());
    expect(error.code).toBe(401);
    expect(error.message).not.toBe('');
    expect(error.body?.code).toEqual(expect.any(String));
  });

  it('another verb, type, link or date -> 401 with a JSON body', async () => {
    const path = `/dbs/${backend.lab.databaseId}`;
    const { raw } = backend;
    expect((await raw.send('GET', path)).status).toBe(200);
    expect(refusalOf(await raw.send('GET', path, { signAs: { link: 'dbs/another' } }))).toBe('401/0');
    expect(refusalOf(await raw.send('GET', path, { signAs: { type: 'colls' } }))).toBe('401/0');
    expect(refusalOf(await raw.send('GET', path, { signAs: { method: 'DELETE' } }))).toBe('401/0');
    expect(refusalOf(await raw.send('GET', path, { key: Buffer.alloc(64, 1).toString('base64') }))).toBe(
      '401/0',
    );
    const otherDate = new Date(Date.now() - 2 * MINUTE_MS).toUTCString();
    expect(refusalOf(await raw.send('GET', path, { headers: { 'x-ms-date': otherDate } }))).toBe('401/0');
  });

  it('the signed link -> case and names unescaped', async () => {
    const id = 'Mixed Case é 100%';
    await backend.lab.database.containers.create({
      id,
      partitionKey: hashKey(),
    });
    const { statusCode } = await backend.lab.database.container(id).read();
    expect(statusCode).toBe(200);
    await backend.lab.database.container(id).delete();
  });

  it('a date 14 minutes off -> accepted, 16 minutes -> refused', async () => {
    const path = `/dbs/${backend.lab.databaseId}`;
    const at = (minutes: number): Promise<Reply> =>
      backend.raw.send('GET', path, { date: new Date(Date.now() + minutes * MINUTE_MS) });
    expect((await at(-14)).status).toBe(200);
    expect(refusalOf(await at(-16))).toBe('401/0');
    expect(refusalOf(await at(16))).toBe('401/0');
  });

  it.each([
    ['no authorization', { authorization: undefined }],
    ['an empty authorization', { authorization: '' }],
    ['nonsense', { authorization: 'open sesame' }],
    ['broken escapes', { authorization: 'type%3Dmaster%26ver%3D1.0%26sig%3D%E0%A4%A' }],
    ['a signature that is not base64', { authorization: encodeURIComponent('type=master&ver=1.0&sig=!') }],
    ['another version', { authorization: encodeURIComponent('type=master&ver=9.9&sig=AAAA') }],
    ['no date', { 'x-ms-date': undefined }],
    ['a date that is none', { 'x-ms-date': 'yesterday' }],
  ])('%s -> 401', async (_what, headers) => {
    expect(refusalOf(await backend.raw.send('GET', `/dbs/${backend.lab.databaseId}`, { headers }))).toBe(
      '401/0',
    );
  });
});

forEachBackend('transport', (backend) => {
  it('several requests -> one connection', async () => {
    const agent = backend.lab.endpoint.startsWith('https:')
      ? new https.Agent({ keepAlive: true, maxSockets: 1 })
      : new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (): Promise<Reply> =>
      exchange({ method: 'GET', endpoint: backend.lab.endpoint, path: '/dbs', agent });
    const replies = [await ask(), await ask(), await ask()];
    agent.destroy();
    expect(replies.map((reply) => reply.reusedSocket)).toEqual([false, true, true]);
  });

  it.skipIf(backend.live || outsideAddress() === undefined)(
    'a request from another address -> refused',
    async () => {
      const error = await failure(openSocket(portOf(backend), outsideAddress()));
      expect(error.code).toBe('ECONNREFUSED');
    },
  );

  it.skipIf(backend.live || outsideAddress() === undefined)(
    'another --host -> serves there, but the admin routes only on loopback',
    async () => {
      await using emulator = await startTestEmulator({ host: '0.0.0.0' });
      const { port } = new URL(emulator.endpoint);
      const outside = `http://${outsideAddress()}:${port}`;
      const inside = `http://127.0.0.1:${port}`;
      const state = '/_emulator/state';
      expect(refusalOf(await exchange({ method: 'GET', endpoint: outside, path: state }))).toBe('403/0');
      expect((await exchange({ method: 'GET', endpoint: inside, path: state })).status).toBe(200);
      const account = new RawAccount({ endpoint: outside, key: emulator.key });
      expect((await account.send('GET', '/dbs')).status).toBe(200);
      account.close();
    },
  );

  it.skipIf(backend.live)('another key than the published one -> accepted', async () => {
    const key = Buffer.alloc(64, 42).toString('base64');
    await using lab = await backend.freshLab({ key });
    expect(lab.emulator.connectionString).toContain(`AccountKey=${key}`);
    expect(lab.emulator.connectionString).toContain(`AccountEndpoint=${lab.endpoint}`);
    const { statusCode } = await lab.database.read();
    expect(statusCode).toBe(200);
    const stranger = lab.client({ key: backend.lab.key });
    expect((await failure(stranger.database('contract').read())).code).toBe(401);
  });

  it.skipIf(backend.live)('idle or incomplete sockets -> the emulator closes', async () => {
    const emulator = await startTestEmulator();
    const account = new RawAccount(emulator);
    await account.send('GET', '/dbs');
    const port = Number(new URL(emulator.endpoint).port);
    const silent = await openSocket(port);
    const halfSpoken = await openSocket(port);
    halfSpoken.write('POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"id":');
    await within(emulator.close(), WITHIN_MS, 'closing');
    expect((await failure(openSocket(port))).code).toBe('ECONNREFUSED');
    account.close();
    silent.destroy();
    halfSpoken.destroy();
  });

  it.skipIf(backend.live)('the port is in use -> an error that says so', async () => {
    const error = await failure(startTestEmulator({ port: portOf(backend) }));
    expect(error.message).toMatch(/EADDRINUSE|in use/);
  });
});

describe('https and Entra tokens', () => {
  forEachBackend('https', (backend) => {
    it.skipIf(backend.live)('the SDK trusts the certificate -> served', async () => {
      await using lab = await backend.freshLab({ https: true });
      expect(lab.endpoint).toMatch(/^https:/);
      const certificate = lab.emulator.certificate ?? '';
      expect(certificate).toContain('BEGIN CERTIFICATE');
      expect(certificate).not.toContain('PRIVATE KEY');
      const { statusCode } = await lab.client().database('contract').read();
      expect(statusCode).toBe(200);
    });

    it.skipIf(backend.live)('the certificate is not trusted -> the SDK refuses it', async () => {
      await using emulator = await startTestEmulator({ https: true });
      const asked = exchange({ method: 'GET', endpoint: emulator.endpoint, path: '/' });
      expect((await failure(asked)).code).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    });

    it.skipIf(backend.live)('a restart -> another certificate', async () => {
      await using first = await startTestEmulator({ https: true });
      await using second = await startTestEmulator({ https: true });
      expect(first.certificate).not.toBe(second.certificate);
      expect(backend.lab.emulator.certificate).toBeUndefined();
    });

    it.skipIf(backend.live)('an Entra token -> accepted for data if aad is on', async () => {
      await using lab = await backend.freshLab({ https: true, settings: { aad: true } });
      const { container } = await lab.container();
      const client = lab.client({ aadCredentials: credential });
      const same = lab.through(client, container);
      const { statusCode } = await same.items.create({ id: 'a', pk: 'p' });
      expect(statusCode).toBe(201);
      const { resource } = await same.item('a', 'p').read<{ id: string }>();
      expect(resource?.id).toBe('a');
      const [result] = await same.items.bulk([{ operationType: 'Read', id: 'a', partitionKey: 'p' }]);
      expect(result?.statusCode).toBe(200);

      await lab.admin.account({ aad: false });
      const error = await failure(same.item('a', 'p').read());
      expect(error.code).toBe(401);
      expect(error.body?.code).toEqual(expect.any(String));
    });

    it.skipIf(backend.live)('an Entra token that is not a JWT or has expired -> refused', async () => {
      await using emulator = await startTestEmulator({ https: true, settings: { aad: true } });
      const ask = (token: string): Promise<Reply> =>
        exchange({
          method: 'GET',
          endpoint: emulator.endpoint,
          path: '/dbs',
          ca: emulator.certificate,
          headers: { authorization: `type=aad&ver=1.0&sig=${token}`, 'x-ms-version': '2020-07-15' },
        });
      expect((await ask(jwt())).status).toBe(200);
      expect(refusalOf(await ask('not.a'))).toBe('401/0');
      expect(refusalOf(await ask('just-words'))).toBe('401/0');
      expect(refusalOf(await ask(jwt({ exp: Math.floor(Date.now() / 1000) - 3600 })))).toBe('401/0');
    });

    it.skipIf(backend.live)('an Entra identity creates or resizes a container -> 403', async () => {
      await using lab = await backend.freshLab({ https: true, settings: { aad: true } });
      const client = lab.client({ aadCredentials: credential });
      const create = client
        .database('contract')
        .containers.create({ id: 'mine', partitionKey: { paths: ['/pk'] } });
      const error = await failure(create);
      expect(error.code).toBe(403);
      expect(error.substatus).toBe(5300);
    });
  });
});

forEachBackend('bad input', (backend) => {
  const anyBody = { 'content-type': 'application/json' };

  it('invalid requests -> their status and a JSON body', async () => {
    const { wire } = await backend.container();
    const { raw } = backend;
    const docs = `${wire.path}/docs`;
    const key = { 'x-ms-documentdb-partitionkey': '["a"]' };
    const post = (body: string | Buffer, headers: Record<string, string> = key): Promise<Reply> =>
      raw.send('POST', docs, { body, headers });

    expect(refusalOf(await post('{"id":'))).toBe('400/0');
    expect(refusalOf(await post('[]'))).toBe('400/0');
    expect(refusalOf(await post('"text"'))).toBe('400/0');
    expect(refusalOf(await post('null'))).toBe('400/0');
    expect(refusalOf(await post(''))).toBe('400/0');
    expect(refusalOf(await post('{"id":"a","pk":"a"} trailing'))).toBe('400/0');
    expect(refusalOf(await post(Buffer.from([0x7b, 0xff, 0xfe, 0x00])))).toBe('400/0');
    expect(refusalOf(await post('{"id":"a","pk":"a"}', { 'x-ms-documentdb-partitionkey': '["a"' }))).toBe(
      '400/0',
    );
    expect(refusalOf(await post('{"id":"a","pk":"a"}', { 'x-ms-documentdb-partitionkey': '"a"' }))).toBe(
      '400/0',
    );
    expect(
      refusalOf(await post('{"id":"a","pk":"a"}', { 'x-ms-documentdb-partitionkey': '["a","b"]' })),
    ).toBe('400/0');
    expect(refusalOf(await post('{"id":"a","pk":"a"}', {}))).toBe('400/0');
    expect(refusalOf(await raw.send('POST', '/dbs', { body: '{"id":7}', headers: anyBody }))).toBe('400/0');
    expect(refusalOf(await raw.send('POST', '/dbs', { body: '{}', headers: anyBody }))).toBe('400/0');
    expect(refusalOf(await raw.send('GET', docs, { headers: { 'x-ms-max-item-count': 'many' } }))).toBe(
      '400/0',
    );
  });

  it.skipIf(backend.live)('an unknown route -> 404', async () => {
    const { raw } = backend;
    expect(refusalOf(await raw.send('GET', '/nothing/here/at/all'))).toBe('404/0');
    expect(refusalOf(await raw.send('PUT', '/dbs', { body: '{}' }))).toBe('405/0');
    expect(refusalOf(await raw.send('GET', '/_emulator/unknown'))).toBe('404/0');
    expect(refusalOf(await raw.send('GET', '/%E0%A4%A', { signAs: { type: '', link: '' } }))).toBe('400/0');
  });

  it('a body of 3 MB -> 413, and the emulator serves on', async () => {
    const { wire } = await backend.container();
    const body = JSON.stringify({ id: 'big', pk: 'a', fill: 'x'.repeat(3 * 1024 * 1024) });
    expect(refusalOf(await wire.create(body, ['a']))).toBe('413/0');
    expect((await wire.create('{"id":"small","pk":"a"}', ['a'])).status).toBe(201);
  });

  it.skipIf(backend.live)('bytes that are not HTTP -> the emulator serves on', async () => {
    const port = portOf(backend);
    const garbage = await openSocket(port);
    garbage.write(Buffer.from([0, 1, 2, 3, 255, 254, 13, 10, 13, 10]));
    const absurd = await openSocket(port);
    absurd.write(`GET / HTTP/1.1\r\nhost: x\r\nx-absurd: ${'h'.repeat(100_000)}\r\n\r\n`);
    const cut = await openSocket(port);
    cut.write('POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"id"');
    cut.destroy();
    // Wait for the server's word on the first two rather than for some time to pass.
    const ended = (socket: Socket): Promise<void> =>
      new Promise((resolve) => {
        socket.resume();
        socket.once('close', () => resolve());
      });
    await within(ended(garbage), WITHIN_MS, 'hanging up on garbage');
    await within(ended(absurd), WITHIN_MS, 'hanging up on absurd headers');
    await delay(0);
    expect((await backend.raw.send('GET', '/dbs')).status).toBe(200);
  });
});
