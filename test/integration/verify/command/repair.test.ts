import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/lib/random.ts';
import { Ledger } from '../../../../src/state/ledger.ts';
import { compareAndRepair } from '../../../../src/workflows/repair.ts';
import { bulkLoad } from '../../../helpers/emulator/bulk-load.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { Packaged } from '../../../helpers/process/packaged.ts';
import { QUICK_COMPARE } from '../../../helpers/quick-timing.ts';
import type { Ran } from '../../../helpers/run-cosmig.ts';
import { envOf, SPEC, typed } from '../../../helpers/migration/typed.ts';
import { until } from '../../../helpers/wait.ts';

/** Runs a command that must not warn. */
function cosmigOf(move: Move): (...argv: string[]) => Promise<Ran> {
  return (...argv) => typed(move, ...argv, ...SPEC);
}

/**
 * `writers` write in parallel until stopped, each with a pause between two writes; every `deletes`-th operation is a
 * delete, which no feed reports.
 */
function applicationOf(
  { source }: Move,
  { deletes = 4, writers = 1, bytes = 0, pauseMs = 10 } = {},
): { readonly written: () => number; readonly stop: () => Promise<number> } {
  const random = seededRandom(3);
  const stop = new AbortController();
  let [written, deleted] = [0, 0];
  const work = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await setTimeout(pauseMs);
      const n = random.below(300);
      const [id, customerId] = [`o${n}`, `c${n % 7}`];
      written += 1;
      if (random.below(deletes) > 0)
        await source.items.upsert({
          id,
          customerId,
          tenantId: `t${random.below(9)}`,
          text: 'x'.repeat(bytes),
        });
      else {
        const { statusCode } = await source
          .item(id, customerId)
          .delete()
          .catch(() => ({ statusCode: 404 }));
        if (statusCode === 204) deleted += 1;
      }
    }
  };
  const ended = Promise.all(Array.from({ length: writers }, work));
  return {
    written: () => written,
    stop: async () => {
      stop.abort();
      await ended;
      return deleted;
    },
  };
}

const ORDERS = Array.from({ length: 300 }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n % 7}`,
  tenantId: `t${n % 9}`,
}));

/** A hundred writes a second need more than 400 RU/s. */
const AMPLE = { throughput: 10_000 };

test('verify --repair: application writes and deletes, deletes not reported, no tail -> proven equal', async () => {
  await using move = await Move.open({ source: AMPLE, target: AMPLE });
  const cosmig = cosmigOf(move);
  await bulkLoad(move.source, ORDERS);
  await move.put({ id: 'gone', customerId: 'c', tenantId: 't' });
  expect((await cosmig('copy')).code).toBe(0);
  await move.source.item('gone', 'c').delete();
  const application = applicationOf(move);
  let repaired: Ran;
  let deleted: number;
  try {
    repaired = await cosmig('verify', '--repair', '--json', '--deadline', '30s');
  } finally {
    deleted = await application.stop();
  }
  expect(deleted).toBeGreaterThan(0);
  expect([repaired.code, JSON.parse(repaired.stdout)]).toMatchObject([0, { equal: true, inFlight: 0 }]);
  expect(repaired.stderr).toContain('repairing ');

  // So the gate is open, and the cutover takes out what was deleted since.
  const cut = await cosmig('cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s');
  expect([cut.code, cut.code === 0 ? '' : cut.stderr]).toEqual([0, '']);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

/** About six on an idle machine. */
const RUNS_MAX = 36;
const RUN_S = 3;
/**
 * A machine that needs that long to start a run gets no further with it, so each run after these has a second more. That is
 * too little for a whole comparison even in the last.
 */
const SHORT_RUNS = 16;

test('verify --repair: each run too short for a comparison -> a later run finishes', async () => {
  await using move = await Move.open({ settings: { pageBytes: 2000 }, source: AMPLE, target: AMPLE });
  const cosmig = cosmigOf(move);
  for (const order of ORDERS) await move.put(order);
  expect((await cosmig('copy')).code).toBe(0);
  await move.admin.faults([{ match: { op: 'read-feed', coll: 'by-tenant' }, effect: { delayMs: 220 } }]);
  const application = applicationOf(move, { pauseMs: 40 });
  const codes: number[] = [];
  const runS = (n: number): number => RUN_S + Math.max(0, n - SHORT_RUNS);
  try {
    while (codes.at(-1) !== 0 && codes.length < RUNS_MAX)
      codes.push((await cosmig('verify', '--repair', '--for', `${runS(codes.length)}s`)).code);
  } finally {
    await application.stop();
  }
  expect(codes.length).toBeGreaterThan(2);
  expect(codes).toEqual(codes.map((_code, n) => (n < codes.length - 1 ? 8 : 0)));
});

test('verify --repair: more writes than the target takes -> says so', async () => {
  await using move = await Move.open({ source: AMPLE });
  const cosmig = cosmigOf(move);
  for (let n = 0; n < 60; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 9}` });
  expect((await cosmig('copy')).code).toBe(0);
  // The target takes about fifteen of these a second, so the first of them take longer than the command may.
  const application = applicationOf(move, { deletes: 1_000_000, writers: 3, bytes: 4000, pauseMs: 30 });
  try {
    await until(() => application.written() > 150, { what: 'many writes' });
    const { code, stderr } = await cosmig('verify', '--repair', '--deadline', '3s');
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('it is not proven that source and target are equal'),
    ]);
    expect(stderr).toContain('changes that are not replicated yet');
    expect(stderr).toContain('the target takes fewer writes than arrive: give it more RU/s');
  } finally {
    await application.stop();
  }
});

test('verify --repair: deletes were lost -> found once, then no longer pending', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const cosmig = cosmigOf(move);
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig('copy')).code).toBe(0);
  const unswept = (): boolean[] =>
    move.ledger(({ leases }) => leases.live().map(({ sweepPending }) => sweepPending));
  {
    const { spec } = move.parts();
    using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: 1, create: 'never' });
    for (const { number } of ledger.leases.live()) ledger.leases.change(number, { sweepPending: true });
  }
  await move.target.items.create({ id: 'lost', customerId: 'a', tenantId: 'P' });
  const { code, stderr } = await cosmig('verify', '--repair', '--deadline', '60s');
  expect([code, stderr]).toEqual([0, expect.stringContaining('repairing 1 difference')]);
  expect(unswept()).toEqual(unswept().map(() => false));
  expect(move.ledger(({ runs }) => runs.last()?.outcome)).toBe('done');
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['1']);
});

test('verify --repair: a rename while it compares -> still pending', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmigOf(move)('copy')).code).toBe(0);
  const parts = move.parts();
  {
    using ledger = Ledger.open({ path: parts.spec.ledger, spec: parts.spec, nowMs: 1, create: 'never' });
    for (const { number } of ledger.leases.live()) ledger.leases.change(number, { sweepPending: true });
  }
  const wire = new WireContainer(new RawAccount(move.emulator), 'shop', 'orders');
  const verdict = await compareAndRepair(parts, async () => {
    const equal = await verifyMove(move);
    expect((await wire.replace('1', '{"id":"2","customerId":"a","tenantId":"P"}', ['a'])).status).toBe(200);
    await until(async () => (await move.documents(move.target)).length === 2, {
      what: 'the renamed document',
    });
    return equal;
  });
  expect(verdict.equal).toBe(true);
  expect(move.ledger(({ leases }) => leases.live().every(({ sweepPending }) => sweepPending))).toBe(true);
  expect((await cosmigOf(move)('verify', '--repair', '--deadline', '60s')).code).toBe(0);
  expect(move.ledger(({ leases }) => leases.live().some(({ sweepPending }) => sweepPending))).toBe(false);
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['2']);
});

test('verify --repair: several comparisons -> RU and time of all of them', async () => {
  await using move = await Move.open({ source: AMPLE, target: AMPLE });
  const cosmig = cosmigOf(move);
  for (let n = 0; n < 60; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 9}` });
  expect((await cosmig('copy')).code).toBe(0);
  const costs = (text: string): { ru: { source: number; target: number }; durationMs: number } =>
    JSON.parse(text) as ReturnType<typeof costs>;
  const { ru } = costs((await cosmig('verify', '--json')).stdout);
  await move.target.item('o7', 't7').delete();
  const repaired = costs((await cosmig('verify', '--repair', '--json')).stdout);
  // After the repair everything was read again.
  expect(repaired.ru.source).toBeGreaterThan(2 * ru.source);
  expect(repaired.ru.target).toBeGreaterThan(1.9 * ru.target);
  // The first comparison has two checks with a gap.
  expect(repaired.durationMs).toBeGreaterThan(QUICK_COMPARE.gapMs);
});

test('verify: a ledger of an older cosmig -> refused, and upgraded by --repair, which may write', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmigOf(move)('copy')).code).toBe(0);
  const later = await Packaged.build(mkdtempSync(join(tmpdir(), 'cosmig-later-')));
  later.addMigration('ledger', 'ALTER TABLE leases ADD COLUMN later TEXT;');
  const verify = async (...argv: string[]): Promise<[number | null, string]> => {
    const child = later.start(['verify', ...argv, ...SPEC], envOf(move));
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
    return [child.exitCode, stderr];
  };
  expect(await verify()).toEqual([7, expect.stringContaining('was created by an older cosmig')]);
  // On a busy machine there are lines of progress before it.
  const equal = [0, expect.stringMatching(/^next: .*\n$/m)];
  expect(await verify('--repair', '--deadline', '10s')).toEqual(equal);
  expect(await verify()).toEqual(equal);
  expect(await cosmigOf(move)('verify')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('is newer than this cosmig') as string,
  });
});

test('verify --repair: another run holds the ledger -> refused at once', async () => {
  await using move = await Move.open();
  const cosmig = cosmigOf(move);
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig('copy')).code).toBe(0);
  await move.target.item('1', 'P').delete();
  const stop = new AbortController();
  let isOn = false;
  const tail = move.run('tail', { drain: stop.signal, onSnapshot: () => (isOn = true) });
  try {
    await until(() => isOn, { what: 'a tail that works' });
    const { code, stderr } = await cosmig('verify', '--repair');
    expect([code, stderr]).toEqual([3, expect.stringContaining('another cosmig is working with')]);
    const skipped = await cosmig('verify', '--repair', '--skip-if-running');
    expect([skipped.code, skipped.stdout]).toEqual([
      0,
      expect.stringContaining('another cosmig is running with this ledger'),
    ]);
  } finally {
    stop.abort(new Error('enough'));
    await expect(tail).rejects.toThrow('enough');
  }
});

test('verify --repair: a difference that cannot be repaired -> reported, one attempt', async () => {
  await using move = await Move.open();
  const cosmig = cosmigOf(move);
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig('copy')).code).toBe(0);
  // Another program creates its document again when it is gone.
  const stop = new AbortController();
  const other = { id: 'other', customerId: 'b', tenantId: 'P' };
  const write = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await move.target.items.create(other).catch(() => {});
      await setTimeout(10);
    }
  };
  const written = write();
  const { code, stderr } = await cosmig('verify', '--repair', '--deadline', '10s');
  stop.abort();
  await written;
  expect(code).toBe(4);
  expect(stderr.match(/repairing 1 difference/g)).toHaveLength(1);
  expect(stderr).toContain('delete documents by hand that do not come from the source');
  expect(stderr).not.toContain('cosmig verify --repair');
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['1', 'other']);
});

test('verify --repair: --level count -> refused, a count names no documents', async () => {
  await using move = await Move.open();
  const { code, stderr } = await cosmigOf(move)('verify', '--repair', '--level', 'count');
  expect([code, stderr]).toEqual([2, expect.stringContaining('--repair and --level count were both given')]);
});
