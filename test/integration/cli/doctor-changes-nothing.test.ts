/**
 * `cosmig doctor` changes nothing. Every request passes a recorder between cosmig and the account: each one is a read, or a
 * batch in which every operation that could change something is refused.
 */
import { createServer, request, type IncomingMessage } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { PLACES, SPEC, typed } from '../../helpers/migration/typed.ts';

interface Seen {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly status: number;
  readonly reply: string;
}

/** Passes requests on to an account, and keeps them with their replies. */
class Recorder implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #server;

  constructor(endpoint: string) {
    const { hostname, port, host } = new URL(endpoint);
    this.#server = createServer((incoming, outgoing) => {
      void (async (): Promise<void> => {
        const sent = await buffer(incoming);
        const { method = '', url = '' } = incoming;
        const headers = { ...incoming.headers, host };
        const onward = request({ hostname, port, method, path: url, headers });
        onward.end(sent);
        const [answer] = (await once(onward, 'response')) as [IncomingMessage];
        const got = await buffer(answer);
        const status = answer.statusCode ?? 0;
        this.seen.push({ method, headers, body: sent.toString(), status, reply: got.toString() });
        outgoing.writeHead(status, answer.headers);
        outgoing.end(got);
      })();
    });
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

type Parsed = ReadonlyArray<Readonly<Record<string, unknown>>>;

/** Says what a request could have changed; nothing for a read. */
function changeOf({ method, headers, body, status, reply }: Seen): string[] {
  if (method === 'GET') return [];
  if (method !== 'POST') return [`${method} ${status}`];
  if (headers['x-ms-documentdb-isquery']?.toString().toLowerCase() === 'true') return [];
  if (headers['content-type'] === 'application/query+json') return [];
  if (headers['x-ms-cosmos-is-batch-request'] === undefined) return [`POST ${status}`];
  const replies = JSON.parse(reply) as Parsed;
  return (JSON.parse(body) as Parsed).flatMap(({ operationType }, row) => {
    const answered = Number(replies[row]?.['statusCode']);
    return operationType === 'Read' || answered >= 400 ? [] : [`${String(operationType)} ${answered}`];
  });
}

/** Every file in the folder of the ledger, with its contents. */
const filesOf = (move: Move): string[] =>
  readdirSync(dirname(move.ledgerPath)).map(
    (file) => `${file} ${readFileSync(join(dirname(move.ledgerPath), file)).toString('base64')}`,
  );

test.each<[situation: string, hasBegun: boolean, flags: readonly string[]]>([
  ['before a migration into a container that exists', false, SPEC],
  [
    'before a migration that creates its target',
    false,
    [...PLACES.slice(0, 2), '--target', 'shop/new', '--partition-key', '/tenantId', '--create-target'],
  ],
  ['while a migration lasts', true, SPEC],
])('cosmig doctor: %s -> no request changes anything', async (_situation, hasBegun, flags) => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: 'o1', customerId: 'c', tenantId: 't' }, { id: 'o2', customerId: 'd', tenantId: 't' });
  if (hasBegun) await move.run('copy');
  await using recorder = new Recorder(move.emulator.endpoint);
  move.connectionString = move.connectionString.replace(move.emulator.endpoint, await recorder.open());
  const state = async (): Promise<unknown> => {
    const { containers } = await move.admin.state();
    // Reading costs RU, and changes nothing else.
    const withoutCharges = JSON.stringify(containers, (name, value: unknown) =>
      ['ru', 'ruLastSecond'].includes(name) ? undefined : value,
    );
    return [withoutCharges, filesOf(move)];
  };
  const before = await state();
  const ran = await typed(move, 'doctor', ...flags);
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(/^next: cosmig \w+.*\n$/m)]);
  expect(recorder.seen.flatMap(changeOf)).toEqual([]);
  // The recorder did see what it looks for.
  expect(recorder.seen.some(({ headers }) => headers['x-ms-cosmos-is-batch-request'] !== undefined)).toBe(
    true,
  );
  expect(await state()).toEqual(before);
});
