/**
 * The emulator answers programs, not web pages of other sites: its key is public and its admin routes need none, so any
 * page in a browser on the same machine could otherwise use it.
 */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { networkInterfaces } from 'node:os';
import { CosmosClient } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import {
  exchange,
  parseJson,
  RawAccount,
  refusalOf,
  type Headers,
  type Reply,
} from '../../helpers/emulator/raw.ts';
import { forEachEmulator } from '../backend.ts';

/** A container of a CI service may have no IPv6. */
const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

async function databasesBySdk({ connectionString }: TestEmulator): Promise<unknown[]> {
  const client = new CosmosClient(connectionString);
  const { resources } = await client.databases.readAll().fetchAll();
  client.dispose();
  return resources;
}

interface Page {
  readonly headers: Headers;
  readonly emulator: TestEmulator;
}

function state({ emulator: { endpoint }, headers }: Page): Promise<Reply> {
  return exchange({ method: 'GET', endpoint, path: '/_emulator/state', headers });
}

function databases({ emulator, headers }: Page): Promise<Reply> {
  const account = new RawAccount(emulator);
  return account.send('GET', '/dbs', { headers }).finally(() => account.close());
}

const FOREIGN: readonly (readonly [string, Headers])[] = [
  ['a name that was made to resolve to this machine', { host: 'evil.example:8081' }],
  ['a name that begins like a loopback one', { host: '127.0.0.1.evil.example' }],
  ['a name that ends like a loopback one', { host: 'evillocalhost' }],
  ['a name with a user before it', { host: 'localhost@evil.example' }],
  ['an address of another machine', { host: '192.0.2.7:8081' }],
  ['a page of another site', { origin: 'https://evil.example' }],
  ['a page without an origin, for example a sandboxed frame', { origin: 'null' }],
  ['a page of another site, as the browser says', { 'sec-fetch-site': 'cross-site' }],
];

forEachEmulator('web pages', (backend) => {
  it.each(FOREIGN)('%s -> 403 for data and admin routes', async (_what, headers) => {
    const page = { emulator: backend.lab.emulator, headers };
    expect(refusalOf(await state(page))).toBe('403/0');
    expect(refusalOf(await databases(page))).toBe('403/0');
  });

  it('a form of another site -> cannot split a range or change the faults', async () => {
    const { wire } = await backend.container();
    const { endpoint } = backend.lab;
    const headers = { 'content-type': 'text/plain', origin: 'https://evil.example' };
    const path = `/_emulator/containers/${wire.adminPath}/split`;
    const reply = await exchange({ method: 'POST', endpoint, path, headers, body: '{}' });
    expect(refusalOf(reply)).toBe('403/0');
    expect(await wire.ranges()).toHaveLength(1);
  });

  it('a browser asks whether a page may send more -> no page is allowed to', async () => {
    const { endpoint } = backend.lab;
    for (const origin of ['https://evil.example', 'null', 'http://localhost:3000']) {
      for (const path of ['/dbs', '/_emulator/faults']) {
        const headers = {
          origin,
          'access-control-request-method': 'PUT',
          'access-control-request-headers': 'x',
        };
        const reply = await exchange({ method: 'OPTIONS', endpoint, path, headers });
        expect(reply.status, `${origin} ${path}`).toBeGreaterThanOrEqual(400);
        const allowed = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'));
        expect(allowed, `${origin} ${path}`).toEqual([]);
      }
    }
  });

  it.skipIf(!hasIpv6)(
    'on the loopback address of IPv6 -> answered by it, and by no foreign name',
    async () => {
      await using emulator = await startTestEmulator({ host: '::1' });
      const { host } = new URL(emulator.endpoint);
      // Microsoft's SDK cannot use an address in brackets. The endpoint has one only if `localhost` is not `::1` here.
      expect(host.startsWith('[') ? [] : await databasesBySdk(emulator)).toEqual([]);
      expect((await state({ emulator, headers: {} })).status).toBe(200);
      expect((await databases({ emulator, headers: { host } })).status).toBe(200);
      for (const foreign of ['evil.example', '[2001:db8::7]:8081', '[::ffff:192.0.2.7]'])
        expect(refusalOf(await databases({ emulator, headers: { host: foreign } })), foreign).toBe('403/0');
    },
  );

  it('programs and pages of this machine -> answered', async () => {
    const { emulator } = backend.lab;
    const { port } = new URL(emulator.endpoint);
    const OWN: readonly Headers[] = [
      {},
      { host: `localhost:${port}` },
      { host: 'LOCALHOST' },
      { host: '127.1.2.3:9' },
      { host: '[::1]:8081' },
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const headers of OWN) {
      expect((await state({ emulator, headers })).status, JSON.stringify(headers)).toBe(200);
      expect((await databases({ emulator, headers })).status, JSON.stringify(headers)).toBe(200);
    }
  });

  it('an allowed name -> answered, and no other', async () => {
    await using emulator = await startTestEmulator({ allowHosts: ['Emulator.Internal'] });
    for (const headers of [{ host: 'emulator.internal:8081' }, { origin: 'http://emulator.internal:3000' }]) {
      expect((await databases({ emulator, headers })).status).toBe(200);
    }
    expect(refusalOf(await databases({ emulator, headers: { host: 'internal' } }))).toBe('403/0');
  });

  it('on every address -> by any address, but by no name that is not allowed', async () => {
    await using emulator = await startTestEmulator({ host: '0.0.0.0' });
    for (const host of ['192.0.2.7:8081', '[2001:db8::7]']) {
      expect((await databases({ emulator, headers: { host } })).status, host).toBe(200);
    }
    expect(refusalOf(await databases({ emulator, headers: { host: 'evil.example' } }))).toBe('403/0');
  });
});

forEachEmulator('the address of the account', () => {
  it('asked by another name -> the account names itself like that', async () => {
    await using emulator = await startTestEmulator({ host: '0.0.0.0', allowHosts: ['emulator'] });
    const account = new RawAccount(emulator);
    for (const host of ['192.0.2.7:28171', 'emulator:8081', 'localhost', '[::1]:8081']) {
      const document = parseJson<{ readableLocations: { databaseAccountEndpoint: string }[] }>(
        await account.send('GET', '/', { headers: { host } }),
      );
      expect(document.readableLocations[0]?.databaseAccountEndpoint).toBe(`http://${host}/`);
    }
    account.close();
  });
});
