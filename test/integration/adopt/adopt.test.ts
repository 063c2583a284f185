/** A target that another ledger or another tool has filled is adopted by a new ledger. */
import { copyFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { CanceledError } from '../../../src/lib/errors.ts';
import { RESERVATION_ID } from '../../../src/preflight/reservation.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { MoverLock } from '../../../src/state/lock.ts';
import { completeAdoption, isComparisonDue } from '../../../src/workflows/adopt.ts';
import { byDay } from '../../helpers/generated.ts';
import {
  adopt,
  AVAD,
  complete,
  crashAt,
  expectEqual,
  lose,
  order,
  orders,
  refusalOf,
  versions,
} from '../../helpers/migration/adopting.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { cosmig, typed, SPEC } from '../../helpers/migration/typed.ts';

describe('a lost ledger', () => {
  test('after the copy -> counts, and nothing is written without --yes; copies that are right stay untouched', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await move.run('copy');
    lose(move);
    const before = await versions(move.target);
    for (const parts of [{ adoptsTarget: true }, { adoptsTarget: true }, {}]) {
      expect(await refusalOf(move.run('copy', { flags: { yes: ['false'] }, ...parts }))).toMatchObject({
        exitCode: 3,
        message: 'the target shop/by-tenant has 60 documents that this ledger has not copied',
        details: { same: 60, different: 0, wrongSlot: 0, missing: 0, extra: 0, strangers: 0 },
      });
    }
    expect(await versions(move.target)).toEqual(before);
    // The ledger has begun, so --adopt-target is not needed again.
    await move.run('copy');
    expect(await complete(move)).toBe(true);
    expect(await versions(move.target)).toEqual(before);
    await move.put(order(1, { tenantId: 'moved' }));
    await move.source.item('o2', 'c2').delete();
    expect((await move.run('catch-up')).sweepPending).toBe(false);
    await expectEqual(move);
  });

  test('in the middle of the copy -> its reservation is taken over, and only what is missing is created', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await expect(move.run('copy', { onPoint: crashAt('committed', 3) })).rejects.toThrow('ends here');
    const before = (await versions(move.target)).filter((one) => !one.startsWith(RESERVATION_ID));
    expect(before.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThan(60);
    const ofOther = await refusalOf(adopt(move, { flags: { ledger: [`${move.ledgerPath}.new`] } }));
    expect(ofOther).toMatchObject({
      exitCode: 7,
      message: `the target belongs to the migration of the ledger ${move.ledgerPath}`,
    });
    lose(move);
    await move.put(order(3, { n: 'changed since' }));
    const { documents } = await adopt(move);
    expect(documents.written).toBe(
      60 - before.length + (before.some((one) => one.startsWith('o3 ')) ? 1 : 0),
    );
    const after = await versions(move.target);
    expect(after.join()).not.toContain(RESERVATION_ID);
    expect(after).toEqual(expect.arrayContaining(before.filter((one) => !one.startsWith('o3 '))));
    expect(await complete(move)).toBe(true);
    await expectEqual(move);
  });

  test('in the tail, while the application writes -> moves, deletes and changes since are in the target', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders, { id: 'without the source key', tenantId: 't0' });
    await move.run('copy');
    await move.put(order(1, { tenantId: 'moved' }), order(70));
    await move.run('catch-up');
    lose(move);
    // While no ledger watches.
    await move.source.item('o4', 'c1').delete();
    await move.put(order(1, { tenantId: 'moved again' }), order(5, { n: 'changed' }), order(71));
    const pause = new AbortController();
    const application = (async () => {
      for (let n = 0; !pause.signal.aborted; n += 1) {
        await move.put(order(n % 40, { n: `version ${n}`, tenantId: `t${n % 5}` }), order(100 + n));
        if (n % 7 === 6) await move.source.item(`o${100 + n}`, `c${(100 + n) % 3}`).delete();
        await delay(5);
      }
    })();
    await adopt(move);
    const compared = complete(move);
    await delay(500);
    pause.abort();
    await application;
    expect(await compared).toBe(true);
    expect((await move.run('catch-up')).sweepPending).toBe(false);
    await expectEqual(move);
    await runCutover(move.parts(), CUTOVER);
  });

  test('in the middle of a reverse window -> the source is adopted in the other direction, and nothing is lost', async () => {
    await using move = await Move.open(AVAD);
    const { source, target } = move;
    const turns = new Turns(move);
    await move.put(...orders);
    await move.run('copy');
    await turns.cutOver(0);
    const change = async (from: number): Promise<void> => {
      const { id, ...changed } = order(from, { changed: true });
      await target.item(id, `t${from % 2}`).replace({ id, ...changed });
      // The old key changes: the copy in the source moves.
      await target
        .item(`o${from + 1}`, `t${(from + 1) % 2}`)
        .replace(order(from + 1, { customerId: 'moved' }));
      await target.item(`o${from + 2}`, `t${from % 2}`).delete();
      await target.items.create(order(from + 100));
    };
    await change(0);
    await expect(turns.run(1, 'catch-up', { onPoint: crashAt('moved') })).rejects.toThrow('ends here');
    const ledger = turns.parts(1).spec.ledger;
    lose({ ledgerPath: ledger });
    await change(10);
    const again = ['--source', 'shop/by-tenant', '--target', 'shop/orders', '--partition-key', '/customerId'];
    const settings = [...again, '--ledger', `${move.ledgerPath}.again`];
    const copy = await typed(move, 'copy', '--adopt-target', '--yes', ...settings);
    expect([copy.code, copy.stderr]).toEqual([0, expect.anything()]);
    await change(20);
    const tail = await typed(move, 'tail', '--until-caught-up', ...settings);
    expect([tail.code, tail.stderr]).toEqual([0, expect.anything()]);
    const verify = await typed(move, 'verify', ...settings);
    expect([verify.code, verify.stderr]).toEqual([0, expect.anything()]);
    expect(await move.documents(source)).toEqual(await move.documents(target));
    expect(await move.documents(target)).toHaveLength(60);
  });

  test('its mover still runs -> refused', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await expect(move.run('copy', { onPoint: crashAt('committed', 3) })).rejects.toThrow('ends here');
    // The file was deleted under the mover, which has the lock.
    lose(move);
    const lock = MoverLock.take(move.ledgerPath);
    const refusal = await refusalOf(adopt(move, { flags: { ledger: [`${move.ledgerPath}.new`] } }));
    expect(refusal).toMatchObject({ exitCode: 7, why: expect.stringContaining('a cosmig is working with') });
    lock.release();
    await adopt(move, { flags: { ledger: [`${move.ledgerPath}.new`] } });
  });
});

describe('a target that another tool has filled', () => {
  /** Copies that an upsert has lost, stale, moved and extra ones, and documents of other origin. */
  async function fill(move: Move): Promise<void> {
    const twin = { id: 'twin', tenantId: 't0' };
    await move.put(...orders, { ...twin, customerId: 'c1' }, { ...twin, customerId: 'c2' });
    const documents = [
      ...orders.filter(({ n }) => Number(n) % 10 !== 9),
      { ...twin, customerId: 'c2' },
      order(3, { n: 'stale' }),
      order(5, { tenantId: 'old key' }),
      order(200),
    ];
    for (const one of documents) await move.target.items.upsert(one);
    // The copy of o6 is only where o6 was before.
    await move.target.item('o6', 't0').delete();
    await move.target.items.upsert(order(6, { tenantId: 'old key' }));
    // Not copies: without a customer no source document can have been their original.
    await move.target.items.upsert({ id: 'settings', tenantId: 't0', colour: 'red' });
    await move.target.item('o7', 't1').delete();
    await move.target.items.upsert({ id: 'o7', tenantId: 't1', note: 'not an order' });
  }

  test('each document ends where it belongs, strangers stay, and nothing is overwritten unseen', async () => {
    await using move = await Move.open(AVAD);
    await fill(move);
    const shown = await typed(move, 'copy', ...SPEC, '--adopt-target');
    expect(shown.code).toBe(3);
    expect(shown.stderr).toContain('has 58 documents that this ledger has not copied');
    expect(shown.stderr).toContain(
      '51 up to date, 1 with other content, 2 under another key, 2 whose document is not in the source, 2 that no',
    );
    const counted = await typed(move, 'copy', ...SPEC, '--json');
    expect(JSON.parse(counted.stdout)).toMatchObject({
      complete: false,
      adoption: { same: 51, different: 1, wrongSlot: 2, missing: 8, extra: 2, strangers: 2 },
      error: { code: 'not-ready' },
    });
    const done = await cosmig(move, 'copy');
    // The lost twin and o7 are dead letters, since their slots are taken.
    expect(done.code).toBe(5);
    expect(done.stderr).toContain('2 documents are not in the target');
    expect(done.stderr).toContain(
      '2 documents of the target stay, because nothing shows that they are copies',
    );
    const letters = await typed(move, 'dead-letters', 'list', '--json');
    expect(letters.stdout).toContain('"collision"');
    expect(letters.stdout).toContain('"foreign-document"');
    const target = await move.documents(move.target);
    const strangers = target.filter(({ customerId }) => customerId === undefined);
    expect(strangers.map(({ id }) => id).toSorted()).toEqual(['o7', 'settings']);
    const dead = (one: Order): boolean =>
      one.id === 'o7' || (one.id === 'twin' && one['customerId'] === 'c1');
    const source = await move.documents(move.source);
    expect(target.filter((one) => !strangers.includes(one))).toEqual(source.filter((one) => !dead(one)));
    // Repairs leave strangers too, and the next copy does not compare again.
    expect((await cosmig(move, 'verify', '--repair')).code).toBe(4);
    expect(isComparisonDue(move.ledgerPath)).toBe(false);
    expect((await move.documents(move.target)).length).toBe(target.length);
  });

  test('under derived keys -> contents are compared as they would be written', async () => {
    const flags = { derive: ['/pk={tenantId}-{customerId}'] };
    await using move = await Move.open({ ...AVAD, flags, target: { partitionKey: '/pk' } });
    await move.put(...orders);
    await move.run('copy');
    lose(move);
    const stranger = order(8, { pk: 'by hand' });
    await move.target.items.upsert(stranger);
    const refusal = await refusalOf(adopt(move, { yes: false }));
    expect(refusal).toMatchObject({
      details: { same: 60, different: 0, missing: 0, extra: 0, strangers: 1 },
    });
    const { documents } = await adopt(move);
    expect(documents.written).toBe(0);
  });

  test('an empty target -> it is a copy like any other', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await adopt(move);
    expect(await complete(move)).toBe(true);
    await expectEqual(move);
  });
});

describe('a map', () => {
  test('its range splits while it is read -> every document is mapped once', async () => {
    await using move = await Move.open(AVAD);
    await move.put(...orders);
    await move.run('copy');
    lose(move);
    let pages = 0;
    const stop = new AbortController();
    const onPoint = (point: CrashPoint): void => {
      if (point === 'map-page' && ++pages === 4) stop.abort(new CanceledError('SIGINT'));
    };
    await expect(adopt(move, { yes: false, drain: stop.signal, onPoint })).rejects.toThrow();
    expect(move.ledger(({ map }) => map.totals().mapped)).toBeLessThan(60);
    expect((await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'next cosmig copy shows what is in the target, and adopts it with --yes',
    );
    await move.admin.split('shop/by-tenant');
    await move.admin.split('shop/orders');
    const refusal = await refusalOf(adopt(move, { yes: false }));
    expect(refusal).toMatchObject({
      details: { same: 60, different: 0, wrongSlot: 0, missing: 0, extra: 0 },
    });
    expect(move.ledger(({ map }) => map.totals())).toEqual({ mapped: 60, strangers: 0 });
    await move.run('copy');
    expect((await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'next cosmig copy compares both sides, which completes the adoption of the target',
    );
    expect(await complete(move)).toBe(true);
  });
});

describe('a crash', () => {
  const POINTS = [
    ['anchored', 1],
    ['map-page', 1],
    ['map-page', 4],
    ['index-step', 1],
    ['page-read', 2],
    ['intended', 2],
    ['outcomes-known', 2],
    ['committed', 2],
    ['anchor-reached', 1],
  ] as const;
  test.each(byDay(POINTS, { every: 3 }))(
    'of the adoption at "%s" (%i) -> the same command continues',
    async (point, nth) => {
      await using move = await Move.open(AVAD);
      await move.put(...orders);
      await expect(move.run('copy', { onPoint: crashAt('committed', 4) })).rejects.toThrow('ends here');
      lose(move);
      await move.put(order(1, { tenantId: 'moved' }), order(2, { n: 'changed' }));
      await move.source.item('o4', 'c1').delete();
      await expect(adopt(move, { onPoint: crashAt(point, nth) })).rejects.toThrow('ends here');
      await adopt(move);
      expect(await complete(move)).toBe(true);
      await expectEqual(move);
      expect(move.ledger(({ map }) => map.totals().strangers)).toBe(0);
    },
  );

  test.each(byDay(['intended', 'removed', 'committed'] as const, { every: 3, from: 1 }))(
    'of the repair at "%s" -> the next copy compares again',
    async (point) => {
      await using move = await Move.open(AVAD);
      await move.put(...orders);
      await move.run('copy');
      lose(move);
      await move.source.item('o4', 'c1').delete();
      await move.source.item('o5', 'c2').delete();
      await adopt(move);
      await expect(complete(move, { onPoint: crashAt(point) })).rejects.toThrow('ends here');
      expect(isComparisonDue(move.ledgerPath)).toBe(true);
      await move.run('copy');
      expect(await complete(move)).toBe(true);
      expect(isComparisonDue(move.ledgerPath)).toBe(false);
      await expectEqual(move);
    },
  );
});

test('an older copy of a ledger whose migration was committed -> refused; a new ledger adopts the target', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await move.run('copy');
  const backup = `${move.ledgerPath}.backup`;
  const kept = Ledger.openReadonly(move.ledgerPath);
  kept.backup(backup);
  kept.close();
  await runCutover(move.parts(), CUTOVER);
  copyFileSync(backup, move.ledgerPath);
  const refusal = await refusalOf(move.run('copy'));
  expect(refusal).toMatchObject({ exitCode: 3, hint: expect.stringContaining('--adopt-target') });
  // The application uses the source again.
  await move.put(order(1, { n: 'written after the return' }));
  const flags = { ledger: [`${move.ledgerPath}.new`] };
  expect(await refusalOf(adopt(move, { flags: { ...flags, yes: ['false'] } }))).toMatchObject({
    details: { same: 59, different: 1 },
  });
  await adopt(move, { flags: { ...flags, yes: ['true'] } });
  expect(await completeAdoption(move.parts({ flags }), () => {})).toBe(true);
  await expectEqual(move);
});
