/** The raw lane end to end: every odd document, byte for byte, there and back; and what never leaves the process. */
import { createServer } from 'node:http';
import { Agent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { ChangeFeed } from '../../../src/cosmos/feed/feed.ts';
import { readRanges, wholeOf } from '../../../src/cosmos/feed/ranges.ts';
import { latestVersionScan, replyScan } from '../../../src/documents/page-scan.ts';
import { must } from '../../../src/lib/assert.ts';
import { ContainerLab } from '../../helpers/emulator/container-requests.ts';
import { startTestEmulator } from '../../helpers/emulator/emulator.ts';

const signal = new AbortController().signal;

const BIG = 'x'.repeat(2_000_000);
const ODD: Readonly<Record<string, string>> = {
  'long integers and numbers as they were written':
    '{"id":"n","pk":"a","l":9223372036854775807,"m":1.10,"z":-0,"e":1E+2,"f":0.1000000000000000055511151231257827}',
  'escapes that need not be':
    '{"id":"esc\\u0061ped","pk":"a","t":"\\/\\u00e9\\"\\\\\\n\\u2028","é":"é\u2028"}',
  'lone surrogates': '{"id":"\\ud83d","pk":"a","t":"\\udc00\\ud83d"}',
  'names of prototypes': '{"id":"p","pk":"a","__proto__":{"x":1},"constructor":null,"":0}',
  'space between everything': '{ "id" :\t"s" ,\n"pk" : "a" , "list" : [ ] }',
  'ids no URL can hold': '{"id":"a?b c%#","pk":"a"}',
  'order and names that stand twice': '{"z":1,"id":"o","a":[{"b":1,"a":2}],"pk":"a","1":0}',
  'two megabytes': `{"id":"big","pk":"a","t":"${BIG}"}`,
};

/** What the service appends; everything before is the document as it was. */
const appended = (text: string): string => text.slice(0, -1).trimEnd();

test.each(Object.entries(ODD))('document text: %s -> given back byte for byte', async (_name, text) => {
  await using lab = await ContainerLab.open();
  const created = await lab.send([{ do: 'create', key: ['a'], text }]);
  expect(created).toMatchObject({ answered: true, outcomes: [{ kind: 'done', status: 201 }] });

  const page = await new ChangeFeed(lab.requests, { mode: 'latest-version', range: await lab.range() }).read(
    'beginning',
    {
      signal,
    },
  );
  const scan = latestVersionScan([]).scan(page.bytes);
  const fromFeed = scan.bytes(0, scan.nodes.document).toString();
  expect(fromFeed.startsWith(appended(text)), 'the feed gives it back').toBe(true);

  const id = (JSON.parse(text) as { id: string }).id;
  const read = await lab.send([{ do: 'read', key: ['a'], id }]);
  if (!read.answered) throw new Error(read.trouble.what);
  const reply = replyScan([]).scan(read.bytes);
  expect(reply.bytes(0, reply.nodes.document).toString().startsWith(appended(text)), 'a read too').toBe(true);
  expect(lab.account.transport.size).toBe(0);
});

test('many requests of one kind at once -> the SDK makes one of them, and the others use its signature', async () => {
  const seen: string[] = [];
  let seenAtFirst = 0;
  const server = createServer((request, response) => {
    const isFirst = seen.push(request.headers['x-ms-documentdb-partitionkeyrangeid'] as string) === 1;
    request.resume();
    setTimeout(
      () => {
        if (isFirst) seenAtFirst = seen.length;
        response.writeHead(200, { etag: '"1"' }).end('[]');
      },
      isFirst ? 100 : 0,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}/`;
    using account = new Account({ endpoint, key: Buffer.from('k').toString('base64') });
    const requests = new ContainerRequests(account, { database: 'd', container: 'c' });
    const ranges = ['0', '1', '2', '3', '4'];
    const bySdk = vi.spyOn(account.transport, 'sendRequest');
    const body = Buffer.from('[]');
    const all = await Promise.all(ranges.map(async (rangeId) => requests.batch({ signal, rangeId, body })));
    expect(all.map(({ ok }) => ok)).toEqual(ranges.map(() => true));
    expect(seen.toSorted()).toEqual(ranges);
    expect(seenAtFirst).toBe(1);
    expect(bySdk).toHaveBeenCalledTimes(1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('a request -> no private header leaves, the given bytes are sent, the SDK does not parse the reply', async () => {
  const seen: Array<{ headers: string; body: string }> = [];
  // Not UTF-8: code that converts it to text would change it.
  const answer = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        headers: JSON.stringify(request.rawHeaders),
        body: Buffer.concat(chunks).toString('latin1'),
      });
      response.writeHead(200, { etag: '"1"', 'x-ms-request-charge': '1.37' }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    using account = new Account({
      endpoint: `http://127.0.0.1:${port}/`,
      key: Buffer.from('k').toString('base64'),
    });
    const requests = new ContainerRequests(account, { database: 'd', container: 'c' });
    const given = Buffer.from([0x5b, 0xf0, 0x28, 0x8c, 0x5d]);
    const batch = await requests.batch({ signal, rangeId: '7', body: given });
    const feed = await requests.feed({
      signal,
      what: 'docs',
      rangeId: '7',
      options: { useLatestVersionFeed: true },
    });
    for (const exchange of [batch, feed]) {
      if (!exchange.ok) throw new Error(exchange.trouble.what);
      expect(exchange.reply.body.equals(answer)).toBe(true);
      expect(exchange.reply.chargeRu).toBe(1.37);
    }
    expect(must(seen[0], 'a batch was sent').body).toBe(given.toString('latin1'));
    for (const { headers } of seen) {
      expect(headers).not.toContain('cosmig');
      expect(headers).toContain('type%3Dmaster');
    }
    expect(seen).toHaveLength(2);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe('by Entra ID', () => {
  /** A token as Entra ID makes them, but not signed. */
  const token = (): string => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 3600 })}.${part('signature')}`;
  };

  test('over TLS -> documents pass; without a token -> denied, and nothing is sent', async () => {
    await using emulator = await startTestEmulator({ https: true, settings: { aad: true } });
    const agent = new Agent({ ca: emulator.certificate, keepAlive: true });
    let refusal: Error | undefined;
    const credential = {
      getToken: async () => {
        if (refusal !== undefined) throw refusal;
        // About to end, so that it is asked for again and again.
        return { token: token(), expiresOnTimestamp: Date.now() + 1000 };
      },
    };
    try {
      const { endpoint, key } = emulator;
      using owner = new Account({ endpoint, key }, { agent });
      const { database } = await owner.client.databases.create({ id: 'shop' });
      await database.containers.create({ id: 'orders', partitionKey: '/pk' });
      using account = new Account({ endpoint, credential }, { agent });
      const requests = new ContainerRequests(account, { database: 'shop', container: 'orders' });
      const [range] = await readRanges(requests, { signal });
      const feed = new ChangeFeed(requests, {
        mode: 'latest-version',
        range: wholeOf(must(range, 'there is a range')),
      });
      expect(await feed.read('beginning', { signal })).toMatchObject({ status: 304 });

      refusal = Object.assign(new Error('no'), { name: 'CredentialUnavailableError' });
      using other = new Account({ endpoint, credential }, { agent });
      const body = Buffer.from('[]');
      const batch = await new ContainerRequests(other, requests.name).batch({ signal, rangeId: '0', body });
      expect(batch).toMatchObject({ ok: false, trouble: { kind: 'denied', status: 0 } });
    } finally {
      agent.destroy();
    }
  });

  test('an untrusted certificate -> fatal at once', async () => {
    await using emulator = await startTestEmulator({ https: true });
    using account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
    const requests = new ContainerRequests(account, { database: 'shop', container: 'orders' });
    await expect(readRanges(requests, { signal })).rejects.toMatchObject({ trouble: { kind: 'fatal' } });
  });
});
