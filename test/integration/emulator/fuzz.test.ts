/**
 * Bad input never hurts the emulator. Whatever is asked, it answers with a status it means and a JSON body
 * that says why not; it keeps answering; and what was stored stays stored, in memory and on disk alike.
 */
import * as http from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { elementsOf } from '../../../src/emulator/json/json-text.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import {
  garbageRequests,
  inShort,
  KEPT_MARK,
  PLACES,
  signed,
  type GarbageRequest,
} from '../../helpers/emulator/fuzz-requests.ts';
import { asHeaderJson, exchange, RawAccount, type Headers, type Reply } from '../../helpers/emulator/raw.ts';
import { draws } from '../../helpers/generated.ts';
import { until } from '../../helpers/wait.ts';
import { chosenSeed } from '../../helpers/seed.ts';

/** By day a few seconds; other seeds find what one does not, so the night has a fresh one. */
const ROUNDS = draws(3000);
const REQUESTS_PER_ROUND = 8;

const QUIET = {
  ru: 'off', avad: false, numbers: 'verbatim', queries: 'direct', replicaLagMs: 0, pageBytes: 4 * 1024 * 1024, rangeLimitBytes: 1e12,
  ttlPurgeDelayMs: 2000, retentionSeconds: 604_800, logicalPartitionLimitBytes: 1e12,
} as const; // prettier-ignore

/** Such a name cannot be put into a URL. */
const HALF_CHARACTER = /\p{Surrogate}/u;

const folder = mkdtempSync(join(tmpdir(), 'cosmig-fuzz-'));
const data = join(folder, 'account.db');
const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
const seen = new Map<string, number>();

let emulator: TestEmulator;
let raw: RawAccount;
let kept: ReadonlyMap<string, string>;

beforeAll(async () => {
  emulator = await startTestEmulator({ data });
  raw = new RawAccount(emulator);
  await mustSend('POST', '/dbs', { id: PLACES.database });
  for (const id of [PLACES.kept, PLACES.play]) {
    const definition = {
      id,
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      ...(id === PLACES.play ? { defaultTtl: -1 } : {}),
    };
    await mustSend('POST', `/dbs/${PLACES.database}/colls`, definition, { 'x-ms-offer-throughput': '12000' });
  }
  for (let number = 0; number < 60; number += 1) {
    const document = {
      id: `${KEPT_MARK}${number}`,
      pk: `${KEPT_MARK}${number % 7}`,
      text: `é\n${'x'.repeat(number * 40)}`,
    };
    await mustSend('POST', docs(PLACES.kept), document, {
      'x-ms-documentdb-partitionkey': asHeaderJson([document.pk]),
    });
  }
  kept = await readKept();
});

afterAll(async () => {
  agent.destroy();
  raw.close();
  await emulator.close();
  rmSync(folder, { recursive: true });
});

function docs(container: string): string {
  return `/dbs/${PLACES.database}/colls/${container}/docs`;
}

async function mustSend(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
  const reply = await raw.send(method, path, {
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return reply;
}

/** Every kept document as it is stored, by its id, read one by one. */
async function readKept(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (let number = 0; number < 60; number += 1) {
    const id = `${KEPT_MARK}${number}`;
    const key = asHeaderJson([`${KEPT_MARK}${number % 7}`]);
    const reply = await mustSend('GET', `${docs(PLACES.kept)}/${id}`, undefined, {
      'x-ms-documentdb-partitionkey': key,
    });
    texts.set(id, reply.text);
  }
  return texts;
}

async function ask(request: GarbageRequest): Promise<void> {
  const headers = { ...signed(request, emulator.key, new Date()), ...request.headers };
  const { method, path, body } = request;
  let reply: Reply;
  try {
    reply = await exchange({ method, path, headers, body, endpoint: emulator.endpoint, agent });
  } catch (error) {
    throw new Error(`no answer to ${inShort(request)}`, { cause: error });
  }
  const problem = problemOf(request, reply);
  if (problem !== undefined)
    throw new Error(`${problem}: ${reply.status} ${reply.text.slice(0, 200)} to ${inShort(request)}`);
  const kind = `${Math.floor(reply.status / 100)}xx`;
  seen.set(kind, (seen.get(kind) ?? 0) + 1);
  seen.set(String(reply.status), (seen.get(String(reply.status)) ?? 0) + 1);
}

function problemOf(request: GarbageRequest, reply: Reply): string | undefined {
  const { status, text } = reply;
  if (status >= 500 && status !== 501 && status !== 503) return 'an accident';
  if (request.auth !== 'good' && !request.path.startsWith('/_emulator') && status < 400)
    return 'let in without a right';
  if (Number.isNaN(Number.parseFloat(String(reply.headers['x-ms-request-charge'])))) return 'no charge';
  if (request.method === 'HEAD' || (text === '' && status < 400)) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'a body that is not JSON';
  }
  if (status < 400) return undefined;
  const { code, message } = body as { code?: unknown; message?: unknown };
  const isTold = typeof code === 'string' && code !== '' && typeof message === 'string' && message !== '';
  return isTold ? undefined : 'an error without code and message';
}

/** Nothing throttled, no time shifted, no range about to split: what is stored can be counted. */
async function calm(): Promise<void> {
  await emulator.admin.account(QUIET);
  await emulator.admin.clock(0);
  await emulator.admin.clearFaults();
  await until(async () => !(await isChanging()), { what: 'the ranges to settle' });
}

async function isChanging(): Promise<boolean> {
  const offers = JSON.parse((await mustSend('GET', '/offers')).text) as { Offers: { id: string }[] };
  for (const { id } of offers.Offers) {
    const reply = await mustSend('GET', `/offers/${id}`);
    if (reply.headers['x-ms-offer-replace-pending'] === 'true') return true;
  }
  for (const { database, id } of await containerViews()) {
    if (HALF_CHARACTER.test(id)) continue;
    const ranges = await mustSend(
      'GET',
      `/dbs/${encodeURIComponent(database)}/colls/${encodeURIComponent(id)}/pkranges`,
    );
    if (ranges.text.includes('"splitting"')) return true;
  }
  return false;
}

async function containerViews(): Promise<ContainerView[]> {
  return (await emulator.admin.state())['containers'] as ContainerView[];
}

interface RangeView {
  readonly min: string;
  readonly max: string;
  readonly documents: number;
  readonly bytes: number;
}

interface ContainerView {
  readonly database: string;
  readonly id: string;
  readonly ranges: readonly RangeView[];
}

/** The texts of all documents that a container shows. */
async function allDocuments(view: ContainerView): Promise<string[]> {
  const path = `/dbs/${encodeURIComponent(view.database)}/colls/${encodeURIComponent(view.id)}`;
  const texts: string[] = [];
  let continuation: string | undefined;
  do {
    const headers: Headers = {
      'x-ms-documentdb-isquery': 'true',
      'x-ms-documentdb-query-enablecrosspartition': 'true',
      'x-ms-continuation': continuation,
    };
    const reply = await mustSend('POST', `${path}/docs`, { query: 'SELECT * FROM c' }, headers);
    const list = reply.text.indexOf('[');
    for (const { start, end } of elementsOf(reply.text, list)) texts.push(reply.text.slice(start, end));
    continuation = reply.headers['x-ms-continuation'] as string | undefined;
  } while (continuation !== undefined);
  return texts;
}

/** What `/_emulator/state` says agrees with what the account shows when asked. */
async function expectCountersToAgree(): Promise<void> {
  const views = await containerViews();
  for (const view of views) {
    if (HALF_CHARACTER.test(view.id)) continue;
    await emulator.admin.send(
      'POST',
      `containers/${encodeURIComponent(view.database)}/${encodeURIComponent(view.id)}/purge-expired`,
    );
  }
  for (const view of await containerViews()) {
    expect(view.ranges.map((range) => range.min)).toEqual([
      '',
      ...view.ranges.slice(0, -1).map((range) => range.max),
    ]);
    expect(view.ranges.at(-1)?.max).toBe('FF');
    if (HALF_CHARACTER.test(view.id)) continue;
    const texts = await allDocuments(view);
    const count = view.ranges.reduce((sum, range) => sum + range.documents, 0);
    const bytes = view.ranges.reduce((sum, range) => sum + range.bytes, 0);
    expect({ id: view.id, count, bytes }).toEqual({
      id: view.id,
      count: texts.length,
      bytes: texts.reduce(
        (sum, text) => sum + Buffer.byteLength(text.slice(0, text.lastIndexOf(',"_rid":"'))) + 1,
        0,
      ),
    });
  }
}

test('garbage at every route -> refused with a reason, and nothing is lost', async () => {
  // Said before anything can go wrong: a run that hangs has a seed too.
  const seed = chosenSeed() | 0;
  process.stdout.write(`fuzz: COSMIG_SEED=${seed}\n`);
  const round = fc.array(garbageRequests, { minLength: REQUESTS_PER_ROUND, maxLength: REQUESTS_PER_ROUND });
  await fc.assert(
    fc.asyncProperty(round, async (requests) => {
      await Promise.all(requests.map(ask));
      const alive = await raw.send('GET', '/');
      expect(alive.status).toBe(200);
    }),
    { numRuns: ROUNDS, endOnFailure: true, seed },
  );
  await calm();
  expect(await readKept()).toEqual(kept);
  await expectCountersToAgree();
});

test('garbage -> reaches the handlers', () => {
  const counts = Object.fromEntries(seen);
  expect(counts['2xx']).toBeGreaterThan(draws(1000));
  expect(Object.keys(counts)).toEqual(
    expect.arrayContaining(['200', '201', '207', '304', '400', '401', '404', '405', '409', '413']),
  );
});

test('a restart after garbage -> the same data', async () => {
  const before = (await emulator.admin.state())['containers'];
  await emulator.close();
  raw.close();
  emulator = await startTestEmulator({ data });
  raw = new RawAccount(emulator);
  await calm();
  const without = (views: unknown): unknown =>
    JSON.parse(
      JSON.stringify(views, (name, value: unknown) =>
        name.startsWith('ru') || name === 'throttled' ? undefined : value,
      ),
    );
  expect(without((await emulator.admin.state())['containers'])).toEqual(without(before));
  expect(await readKept()).toEqual(kept);
  await expectCountersToAgree();
});
