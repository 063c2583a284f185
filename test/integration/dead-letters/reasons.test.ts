/** Every reason of a dead letter, each by a real case, all in one copy: no poison stops the run or harms its neighbours. */
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { REASONS, type Letter, type Reason } from '../../../src/state/dead-letters.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { Tap, type Meddle } from '../../helpers/migration/tap.ts';

const TIMING = { requestTimeoutMs: 5000 };

/** An order with its own mail, which must be unique in the target. */
function order(id: string, customerId: string, more: object = {}): Order {
  return { id, customerId, tenantId: 'P', mail: `${id} of ${customerId}`, ...more };
}

const neighbours = (from: string, count: number): Order[] =>
  Array.from({ length: count }, (_, n) => order(`${from}${n}`, `c${n % 7}`, { tenantId: `t${n % 3}` }));

/** Just below 2 MB, without the added property. */
const BIG = order('big', 'z', { pad: '' });
const big = { ...BIG, pad: 'x'.repeat(2 * 1024 * 1024 - JSON.stringify(BIG).length - 4) };
const LONG_ID = 'i'.repeat(1024);
/** The limit of a logical partition, set once the source is filled. */
const PARTITION_BYTES = 300_000;

interface Case {
  readonly documents: readonly Order[];
  /** A change after which the document can be moved. */
  readonly repaired: Order;
}

/** Cases that ordinary writes can create. Where two documents claim a slot, either may get it. */
const CASES: Readonly<Partial<Record<Reason, Case>>> = {
  collision: {
    documents: [order('twice', 'a'), order('twice', 'b')],
    repaired: order('twice', '?', { tenantId: 'Q' }),
  },
  'unique-key': {
    documents: [order('u1', 'a', { mail: 'same' }), order('u2', 'b', { mail: 'same' })],
    repaired: order('?', '?', { mail: 'another' }),
  },
  'missing-key': {
    documents: [order('lacks', 'a', { tenantId: undefined })],
    repaired: order('lacks', 'a'),
  },
  'invalid-key': {
    documents: [order('odd', 'a', { tenantId: { of: 'no use' } })],
    repaired: order('odd', 'a'),
  },
  'key-conflict': {
    documents: [order('holds', 'a', { pk: 'mine' })],
    repaired: order('holds', 'a'),
  },
  'key-too-long': {
    documents: [order('long', 'a', { tenantId: 'k'.repeat(102) })],
    repaired: order('long', 'a', { tenantId: 'k'.repeat(101) }),
  },
  'too-large': {
    documents: [big],
    repaired: order('big', 'z', { pad: 'x' }),
  },
  'partition-full': {
    documents: ['a', 'b', 'c'].map((customer) =>
      order(`full ${customer}`, customer, { tenantId: 'full', pad: 'x'.repeat(140_000) }),
    ),
    repaired: order('?', '?', { pad: 'x' }),
  },
};

/** Ids that the service no longer accepts, but that old documents of the source have. */
const OLD_IDS = [
  ['long id', LONG_ID],
  ['slash', 'a/b'],
] as const;

const oldIds: Meddle = async (request, forward) => {
  if (request.container !== 'orders') return forward();
  const body = renamed(request.body, (own, old) => [old, own]);
  const reply = await forward(body);
  return { ...reply, body: renamed(reply.body, (own, old) => [own, old]) };
};

function renamed(bytes: Buffer, pair: (own: string, old: string) => readonly [string, string]): Buffer {
  let text = bytes.toString();
  for (const [own, old] of OLD_IDS) {
    const [from, to] = pair(own, old);
    text = text.replaceAll(`"id":${JSON.stringify(from)}`, `"id":${JSON.stringify(to)}`);
  }
  return Buffer.from(text);
}

const lettersOf = (move: Move): Letter[] =>
  move.ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 100 }));
const reasonsOf = (move: Move): Reason[] => lettersOf(move).map(({ reason }) => reason);

/** Without `changed-by-others`, which is a reason only after a cutover (test/integration/turns). */
const REPORTED: Readonly<Record<Exclude<Reason, 'changed-by-others'>, unknown>> = {
  collision: {
    code: 'slot-taken',
    why: expect.stringMatching(
      /^"twice" of \["[ab]"\] in the source has the same id and the same target key$/,
    ),
  },
  'unique-key': { code: '409', why: 'another document in the target has the same values in a unique key' },
  'missing-key': { code: 'missing-key', why: '/tenantId is missing, which /pk is made of' },
  'invalid-key': { code: 'invalid-key', why: expect.stringMatching(/^\/tenantId cannot serve for \/pk: /) },
  'key-conflict': { code: 'key-conflict', why: '/pk is taken' },
  'key-too-long': { code: 'key-too-long', why: 'the key has 102 bytes, and the target takes 101' },
  'too-large': {
    code: 'too-large',
    why: expect.stringMatching(/^\d+ bytes are more than the service stores$/),
  },
  'partition-full': { code: '403/1014', why: 'the logical partition of its target key is full' },
  'bad-id': { code: 'bad-id', why: 'id is longer than 1023 bytes' },
  'foreign-document': {
    code: 'foreign',
    why: 'the slot is taken by a document that cosmig has not written',
  },
  rejected: { code: '400', why: 'the target does not take this document' },
};

interface Filled extends AsyncDisposable {
  readonly move: Move;
  readonly tap: Tap;
  /** Orders that nothing is wrong with. */
  readonly ordinary: readonly Order[];
}

async function fill(): Promise<Filled> {
  const move = await Move.open({
    target: { partitionKey: '/pk', uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
    flags: { derive: ['/pk={tenantId}'], missingKey: ['dead-letter'] },
  });
  const tap = await Tap.open(move.emulator);
  move.connectionString = tap.connectionString;
  tap.meddle = oldIds;
  const ordinary = neighbours('n', 150);
  await move.put(...ordinary.slice(0, 75), ...Object.values(CASES).flatMap(({ documents }) => documents));
  await move.put(...OLD_IDS.map(([own]) => order(own, 'a')), ...ordinary.slice(75));
  await move.admin.account({ logicalPartitionLimitBytes: PARTITION_BYTES });
  const close = async (): Promise<void> => {
    await tap[Symbol.asyncDispose]();
    await move[Symbol.asyncDispose]();
  };
  return { move, tap, ordinary, [Symbol.asyncDispose]: close };
}

const BEFORE_CUTOVER = REASONS.filter((one) => one !== 'changed-by-others').toSorted();
const BY_COPY = BEFORE_CUTOVER.filter((one) => one !== 'foreign-document');

test.each(['intended', 'outcomes-known'] as const)(
  'dead letters: crash at "%s" -> all survive',
  async (at) => {
    await using filled = await fill();
    const { move, ordinary } = filled;
    const crash = new AbortController();
    const onPoint = (point: CrashPoint): void => {
      if (point === at) crash.abort(new Error('crash'));
    };
    await expect(move.run('copy', { abort: crash.signal, onPoint, timing: TIMING })).rejects.toThrow('crash');
    await move.run('copy');
    expect(reasonsOf(move).toSorted()).toEqual(BY_COPY);
    const arrived = new Set((await move.documents(move.target)).map(({ id }) => id));
    expect(ordinary.filter(({ id }) => !arrived.has(id))).toEqual([]);
  },
);

test('dead letters: each reason by a real case -> neighbours arrive, and fixed documents are moved', async () => {
  await using filled = await fill();
  const { move, tap, ordinary } = filled;
  const copied = await move.run('copy', { timing: TIMING });
  expect(copied).toMatchObject({ complete: true, phase: 'tailing' });
  expect(reasonsOf(move).toSorted()).toEqual(BY_COPY);
  const arrived = new Set((await move.documents(move.target)).map(({ id }) => id));
  expect(ordinary.filter(({ id }) => !arrived.has(id))).toEqual([]);
  // One of two, one of two, two of three.
  expect(copied.documents).toMatchObject({ deadLettered: 10, written: 150 + 1 + 1 + 2 });

  // A stranger comes in between.
  await move.target.items.create({ id: 'stranger', pk: 'P', mail: 'unknown' });
  await move.put(order('stranger', 'a'));
  expect((await move.run('catch-up', { timing: TIMING })).documents).toMatchObject({ deadLettered: 11 });
  const open = lettersOf(move);
  expect(open.map(({ reason }) => reason).toSorted()).toEqual(BEFORE_CUTOVER);
  const reported = Object.fromEntries(open.map(({ reason, code, why }) => [reason, { code, why }]));
  expect(reported).toEqual(REPORTED);

  for (const { reason, id, sourceKey } of open) {
    const { repaired } = CASES[reason] ?? {};
    const [customerId] = JSON.parse(sourceKey) as string[];
    if (repaired !== undefined) await move.put({ ...repaired, id: JSON.parse(id) as string, customerId });
  }
  await move.run('catch-up', { timing: TIMING });
  expect(reasonsOf(move).toSorted()).toEqual(['bad-id', 'foreign-document', 'rejected']);
  const closed = move.ledger(({ letters }) => letters.list({ state: 'closed', after: 0, limit: 100 }));
  expect(closed.map(({ reason }) => reason).toSorted()).toEqual(Object.keys(CASES).toSorted());

  // What is left is for the operator.
  const cosmig = (line: string): Promise<Ran> => {
    const spec =
      '--source shop/orders --target shop/by-tenant --derive /pk={tenantId} --missing-key dead-letter';
    const env = { COSMIG_SOURCE_CONNECTION_STRING: tap.connectionString };
    const argv = `${line} --ledger ${move.ledgerPath} ${/^dead-letters (?!retry)/.test(line) ? '' : spec}`;
    return runCosmig(argv.trim().split(' '), { env, clock: systemClock });
  };
  const { code, stdout, stderr } = await cosmig('dead-letters retry --all --json');
  expect(code).toBe(5);
  expect(JSON.parse(stdout)).toMatchObject({ retried: 3, closed: 0, documents: { deadLettered: 3 } });
  expect(stderr).toContain('3 dead letters retried, 0 closed');
  await move.target.item('stranger', 'P').delete();
  expect((await cosmig('dead-letters retry --all')).stderr).toContain('3 dead letters retried, 1 closed\n');
  for (const { number } of lettersOf(move))
    expect((await cosmig(`dead-letters discard ${number}`)).code).toBe(0);
  expect((await cosmig('copy')).code).toBe(0);
  const waived: readonly string[] = OLD_IDS.map(([own]) => own);
  const wanted = (await move.documents(move.source)).filter(({ id }) => !waived.includes(id));
  expect(await move.documents(move.target)).toEqual(
    wanted.map((one) => ({ ...one, pk: one['tenantId'] })).toSorted(byText),
  );
});

test('dead letters: the service refuses to read an id, and the letter is tried again -> it stays', async () => {
  await using move = await Move.open();
  await using tap = await Tap.open(move.emulator);
  await move.put(order(OLD_IDS[0][0], 'a'), order('another', 'a'));
  // The feed shows the id; a request that names it is refused.
  tap.meddle = async (request, forward) =>
    request.what === 'read-feed' ? oldIds(request, forward) : forward();
  move.connectionString = tap.connectionString;
  await move.run('copy', { timing: TIMING });
  expect(reasonsOf(move)).toEqual(['bad-id']);
  const env = { COSMIG_SOURCE_CONNECTION_STRING: tap.connectionString };
  const argv = ['dead-letters', 'retry', '--all', '--ledger', move.ledgerPath];
  const spec = ['--source', 'shop/orders', '--target', 'shop/by-tenant', '--partition-key', '/tenantId'];
  const { code, stderr } = await runCosmig([...argv, ...spec], { env, clock: systemClock });
  expect([code, stderr]).toEqual([5, expect.stringContaining('1 dead letter retried, 0 closed')]);
  expect(reasonsOf(move)).toEqual(['bad-id']);
});

const byText = (one: Order, other: Order): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
