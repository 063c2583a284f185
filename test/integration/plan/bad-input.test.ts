/** What can go wrong around `cosmig plan`: each has a plain answer, and nothing is written to any container. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { assert } from '../../../src/lib/assert.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Tap, type Meddle, type TapRequest } from '../../helpers/migration/tap.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { write } from '../../helpers/migration/tapped.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_none, n) => ({
    id: `o${n}`,
    customerId: n % 10 < 7 ? 'giant' : `c${n % 9}`,
    tenantId: `t${n % 200}`,
    createdAt: `on day ${n}`,
    label: n % 2 === 0 ? null : 'odd',
  }));

let move: Move;
let tap: Tap;

/** What would change something: all but reads and queries. */
function isWrite({ method, headers }: TapRequest): boolean {
  return method !== 'GET' && headers['content-type'] !== 'application/query+json';
}

/** An account that refuses every write, as it does for a read-only key. */
const readOnly: Meddle = async (request, forward) =>
  isWrite(request) ? { status: 403, headers: {}, body: Buffer.from('{"code":"Forbidden"}') } : forward();

/** Whether a request is for a page of the pass, which begins by asking every range for its end. */
function isOfPass({ mode, headers }: TapRequest): boolean {
  if (mode !== 'latest-version') return false;
  if (headers['if-none-match'] === '*') hasBegun = true;
  return hasBegun && headers['if-none-match'] !== '*';
}
let hasBegun = false;

/** Does something right before the nth page of the pass is read. */
const beforePage = (nth: number, step: () => Promise<unknown>): Meddle => {
  let pages = 0;
  return async (request, forward) => {
    if (isOfPass(request)) {
      pages += 1;
      if (pages === nth) await step();
    }
    return readOnly(request, forward);
  };
};

beforeEach(async () => {
  move = await Move.open({ settings: { pageBytes: 5000, avad: false }, source: { throughput: 60_000 } });
  tap = await Tap.open(move.emulator);
  tap.meddle = readOnly;
  move.connectionString = tap.connectionString;
  hasBegun = false;
});

afterEach(async () => {
  const writes = tap.seen.filter(isWrite);
  await tap[Symbol.asyncDispose]();
  await move[Symbol.asyncDispose]();
  // Holds for every test of this file: no request of any kind that would write.
  assert(tap.seen.length > 0, 'the recorder saw requests');
  assert(writes.length === 0, `${writes.length} requests would have written`);
});

const plan = async (...argv: readonly string[]): Promise<Ran> =>
  runCosmig(['plan', '--source', 'shop/orders', ...argv], { env: envOf(move), clock: systemClock });

interface Planned {
  readonly documents: number;
  readonly sampled: number;
  readonly leftOut: { readonly documents: number; readonly covered: number } | null;
  readonly candidates: readonly {
    readonly key: string;
    readonly refused: Readonly<Record<string, number>>;
    readonly missing: number;
    readonly distinct: { readonly estimate: number };
    readonly verdict: { readonly blockers: readonly { readonly code: string; readonly text: string }[] };
  }[];
  readonly recommendation: { readonly action: string; readonly why: readonly string[] };
  readonly observed: unknown;
  readonly notes: readonly string[];
}

const read = ({ stdout }: Ran): Planned => JSON.parse(stdout) as Planned;

test.each([[[]], [['--candidate', '/tenantId']], [['--sample', '5%']], [['--observe', '1s']]])(
  'an empty container, %j -> nothing was measured, and it says so',
  async (argv) => {
    const ran = await plan('--json', ...argv);
    expect(ran.code).toBe(0);
    const { documents, sampled, recommendation } = read(ran);
    expect([documents, sampled]).toEqual([0, 0]);
    expect(recommendation).toMatchObject({
      action: 'keep',
      why: ['no document was read, so nothing could be measured'],
    });
    expect((await plan(...argv)).stdout).toMatch(/the container is empty/);
  },
);

test('one document -> measured like any other', async () => {
  await write(move, orders(1));
  const ran = await plan('--candidate', '/tenantId', '--json');
  expect(ran.code).toBe(0);
  expect(read(ran).documents).toBe(1);
  expect(read(ran).candidates.map(({ distinct }) => distinct.estimate)).toEqual([1, 1]);
  expect((await plan('--candidate', '/tenantId')).stdout).toMatch(/the only document was read/);
});

test.each([
  ['/nowhere', 'unknown-path', /no document has a value at this path/],
  ['/tenantId,/nowhere', 'unknown-path', /at every path that this key is made of/],
  ['/pk={nowhere}-{tenantId}', 'unknown-path', /at every path that this key is made of/],
  ['/pk={createdAt|month}', 'refused-documents', /40 with a value that the template cannot use/],
])('the candidate %s -> exit code 4 after the plan: %s', async (key, code, text) => {
  await write(move, orders(40));
  const ran = await plan('--candidate', key, '--json');
  expect(ran.code).toBe(4);
  expect(read(ran).candidates[1]?.verdict.blockers).toMatchObject([
    { code, text: expect.stringMatching(text) },
  ]);
});

test('one candidate of two cannot be the key -> the other is measured all the same', async () => {
  await write(move, orders(40));
  const ran = await plan('--candidate', '/nowhere', '--candidate', '/tenantId', '--json');
  expect(ran.code).toBe(0);
  expect(read(ran).candidates.map(({ key }) => key)).toEqual(['/customerId', '/nowhere', '/tenantId']);
});

test.each([
  ['/pk={tenantId', /this brace is never closed/],
  ['/pk={tenantId|nofilter}', /there is no filter nofilter/],
  ['/customerId,/customerId', /names \/customerId twice/],
  ['', /a path begins with a slash/],
])('the candidate %j -> exit code 2, before anything is read', async (key, why) => {
  const ran = await plan('--candidate', key);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(why)]);
  expect(tap.seen.filter(({ what }) => what === 'read-feed')).toEqual([]);
  await plan('--candidate', '/tenantId');
});

test('documents without ids -> in no figure of a key, and said', async () => {
  await write(move, orders(40));
  tap.meddle = async (request, forward) => {
    const reply = await readOnly(request, forward);
    const body = Buffer.from(reply.body.toString().replaceAll('"id":"o3",', ''));
    return request.what === 'read-feed' ? { ...reply, body } : reply;
  };
  const ran = await plan('--candidate', '/tenantId', '--json');
  expect(ran.code).toBe(0);
  const { documents, candidates, notes } = read(ran);
  expect([documents, candidates[1]?.refused]).toEqual([40, { 'bad-id': 1 }]);
  expect(notes.join('\n')).toMatch(/1 document without an id that the service accepts is in no figure/);
});

test.each([
  [[], /^the source container shop\/orders was deleted$/m],
  [['--sample', '50%'], /^the source container shop\/orders was deleted$/m],
])('the container is deleted meanwhile, %j -> named, and no figures', async (argv, message) => {
  await write(move, orders(600));
  tap.meddle = beforePage(5, () => move.source.delete());
  const ran = await plan('--candidate', '/tenantId', ...argv);
  expect([ran.code, ran.stdout]).toEqual([3, '']);
  expect(ran.stderr.replace(/^cosmig: /m, '')).toMatch(message);
});

test('the container is deleted while the feed is followed -> named', async () => {
  await write(move, orders(40));
  let isDeleted = false;
  tap.meddle = async (request, forward) => {
    const isFollowing = tap.seen.filter(({ headers }) => headers['if-none-match'] === '*').length > 12;
    if (isFollowing && !isDeleted) {
      isDeleted = true;
      await move.source.delete();
    }
    return readOnly(request, forward);
  };
  const ran = await plan('--candidate', '/tenantId', '--observe', '60s');
  expect([ran.code, ran.stderr]).toEqual([3, expect.stringMatching(/shop\/orders was deleted$/m)]);
});

test('the container is deleted and created again -> no figure of either, and the next run measures the new one', async () => {
  await write(move, orders(600));
  tap.meddle = beforePage(5, async () => {
    await move.source.delete();
    await move.client.database('shop').containers.create({ id: 'orders', partitionKey: '/customerId' });
    await write(move, orders(30));
  });
  const ran = await plan('--candidate', '/tenantId');
  expect([ran.code, ran.stdout]).toEqual([3, '']);
  expect(ran.stderr).toMatch(/^cosmig: the source container shop\/orders was deleted and created again$/m);
  expect(ran.stderr).toMatch(/run the same command again: it begins with the new container/);
  const again = await plan('--candidate', '/tenantId', '--json');
  expect([again.code, read(again).documents]).toEqual([0, 30]);
  expect(again.stderr).toMatch(/was of another container/);
});

test('no container of this name -> exit code 3 at once, with the name that was probably meant', async () => {
  const near = await runCosmig(['plan', '--source', 'shop/ordesr'], { env: envOf(move), clock: systemClock });
  expect([near.code, near.stderr]).toEqual([
    3,
    expect.stringMatching(
      /^cosmig: there is no source container shop\/ordesr\n.*\n {2}now {2}did you mean shop\/orders\?/m,
    ),
  ]);
  await move.source.delete();
  const ran = await plan();
  expect([ran.code, ran.stderr]).toEqual([3, expect.stringMatching(/shop\/orders/)]);
});

test('deletes are not in the feed, with --observe -> works without that mode', async () => {
  await write(move, orders(40));
  const ran = await plan('--candidate', '/tenantId', '--observe', '1s', '--json');
  expect([ran.code, read(ran).observed]).toMatchObject([0, { writes: 0, updates: 0 }]);
  // One request asks whether the other mode is there, for the estimate of the migration.
  expect(tap.seen.filter(({ mode }) => mode === 'all-versions').length).toBeLessThanOrEqual(1);
});

test('an account that does not show its throughput to a reader -> planned all the same', async () => {
  await write(move, orders(40));
  // Offers are asked for with a query.
  tap.meddle = async (request, forward) =>
    request.method === 'POST'
      ? { status: 403, headers: {}, body: Buffer.from('{"code":"Forbidden"}') }
      : readOnly(request, forward);
  const ran = await plan('--candidate', '/tenantId', '--json');
  expect([ran.code, read(ran).documents]).toEqual([0, 40]);
});

test('throttled for long -> says what it waits for, ends with --for, and the next run finishes', async () => {
  await write(move, orders(600));
  let pages = 0;
  const throttled = {
    status: 429,
    headers: { 'x-ms-substatus': '3200', 'x-ms-retry-after-ms': '500', 'x-ms-request-charge': '0' },
    body: Buffer.from('{"code":"429"}'),
  };
  tap.meddle = async (request, forward) =>
    isOfPass(request) && (pages += 1) > 5 ? throttled : readOnly(request, forward);
  const ran = await plan('--candidate', '/tenantId', '--for', '7s');
  expect([ran.code, ran.stdout]).toEqual([8, '']);
  expect(ran.stderr).toMatch(
    /^plan: \d+ documents read \([\d.]+ %\), \d+ RU, waits: the service answered 429\/3200$/m,
  );
  expect(ran.stderr).toMatch(/run cosmig plan again; it continues where this one stopped/);
  tap.meddle = readOnly;
  const again = await plan('--candidate', '/tenantId', '--json');
  expect([again.code, read(again).documents]).toEqual([0, 600]);
});

test('documents that change during the pass -> counted, and the figures say what they rest on', async () => {
  await write(move, orders(600));
  tap.meddle = beforePage(5, () => write(move, orders(25)));
  const ran = await plan('--candidate', '/tenantId', '--json');
  expect(ran.code).toBe(0);
  const { documents, sampled, leftOut } = read(ran);
  const left = leftOut?.documents ?? 0;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(25);
  expect([documents, leftOut?.covered]).toEqual([sampled + left, sampled / (sampled + left)]);
  // The next run has the same figures, whatever changes later.
  await write(move, orders(300));
  const again = await plan('--candidate', '/tenantId');
  expect(again.stdout).toMatch(new RegExp(`${sampled} documents were read; ${left} changed`));
  // Once is enough.
  expect(again.stdout.replaceAll(/\s+/g, ' ').split('left out')).toHaveLength(2);
});
