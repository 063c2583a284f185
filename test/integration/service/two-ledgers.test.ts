/** Two migrations into one target: the second is refused, whenever it starts. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RESERVATION_ID } from '../../../src/preflight/reservation.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { byDay } from '../../helpers/generated.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';
import { Move } from '../../helpers/migration/move.ts';
import { order, orders, Tapped, write } from '../../helpers/migration/tapped.ts';
import { envOf, SPEC } from '../../helpers/migration/typed.ts';
import { startCosmig, type CosmigProcess } from '../../helpers/process/cosmig-process.ts';

const OTHERS = 'belongs to a migration with another ledger';

const otherLedger = (move: Move): string => join(move.ledgerPath, '..', 'other.db');

/** Everything in the target, the reservation included. */
async function inTarget({ target }: Move): Promise<readonly string[]> {
  const { resources } = await target.items.query<{ id: string }>('SELECT c.id FROM c').fetchAll();
  return resources.map(({ id }) => id).toSorted();
}

function crashAt(wanted: CrashPoint): (point: CrashPoint) => void {
  return (point) => {
    if (point === wanted) throw new Error('the process ends here');
  };
}

describe('the reservation of the target', () => {
  test.each(byDay(['anchored', 'page-read', 'intended', 'committed'] as const, { every: 2 }))(
    'another copy has come as far as "%s", and crashed -> refused; the first one continues',
    async (point) => {
      await using move = await Move.open();
      await write(move, orders(20));
      await expect(move.run('copy', { onPoint: crashAt(point) })).rejects.toThrow('ends here');
      const other = { ledger: [otherLedger(move)] };
      await expect(move.run('copy', { flags: other })).rejects.toMatchObject({
        exitCode: 7,
        message: `the target shop/by-tenant ${OTHERS}`,
        why: expect.stringContaining(move.ledgerPath),
        hint: expect.stringContaining(RESERVATION_ID),
      });
      await move.run('copy');
      expect(await inTarget(move)).toEqual(
        orders(20)
          .map(({ id }) => id)
          .toSorted(),
      );
      await expect(move.run('copy', { flags: other })).rejects.toMatchObject({ exitCode: 7 });
    },
  );

  test('the first ledger is lost -> another may begin when the reservation is deleted', async () => {
    await using move = await Move.open();
    await write(move, orders(5));
    await expect(move.run('copy', { onPoint: crashAt('anchored') })).rejects.toThrow('ends here');
    const other = { ledger: [otherLedger(move)] };
    await expect(move.run('copy', { flags: other })).rejects.toThrow(OTHERS);
    await move.target.item(RESERVATION_ID, RESERVATION_ID).delete();
    await move.run('copy', { flags: other });
    expect(await inTarget(move)).toHaveLength(5);
  });

  /** Does something right before the reservation is created. */
  function beforeReserving(act: (move: Move) => Promise<unknown>, { move, tap }: Tapped): void {
    tap.meddle = async ({ what, body }, forward) => {
      if (what === 'batch' && body.includes('"Create"') && body.includes(RESERVATION_ID)) await act(move);
      return forward();
    };
  }

  test('another copy reserves the target at the same moment -> refused, and its reservation stays', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(5));
    const theirs = { id: RESERVATION_ID, tenantId: RESERVATION_ID, cosmig: { ledger: 'another' } };
    beforeReserving(async ({ target }) => target.items.create(theirs), tapped);
    await expect(move.run('copy')).rejects.toThrow(OTHERS);
    expect(await inTarget(move)).toEqual([RESERVATION_ID]);
  });

  test('the same ledger is begun by another process during the preflight -> the copy continues', async () => {
    await using tapped = await Tapped.open();
    const { move, tap } = tapped;
    await write(move, orders(5));
    let other: Promise<unknown> | undefined;
    tap.meddle = async ({ mode }, forward) => {
      if (mode === 'all-versions' && other === undefined) {
        other = move.run('copy', { onPoint: crashAt('committed') }).catch((error: unknown) => error);
        await other;
      }
      return forward();
    };
    // The request that is held back must not time out, or a second one would continue too early.
    await move.run('copy', { timing: { requestTimeoutMs: 20_000 } });
    expect(await other).toMatchObject({ message: 'the process ends here' });
    expect(await inTarget(move)).toEqual(
      orders(5)
        .map(({ id }) => id)
        .toSorted(),
    );
  });

  test('documents arrive between the preflight and the reservation -> refused, and no reservation stays', async () => {
    await using tapped = await Tapped.open();
    const { move } = tapped;
    await write(move, orders(5));
    beforeReserving(async ({ target }) => target.items.create(order(7)), tapped);
    await expect(move.run('copy')).rejects.toMatchObject({ message: expect.stringContaining('by-tenant') });
    expect(await inTarget(move)).toEqual(['o7']);
  });

  test.each([
    ['an empty source', '/tenantId', { count: 0 }],
    ['the id as key', '/id', {}],
    ['a nested key', '/where/city', {}],
    ['two levels', ['/tenantId', '/customerId'], {}],
    ['documents that expire', '/tenantId', { defaultTtl: 3600 }],
    ['unique keys', '/tenantId', { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } }],
  ] as const)(
    'a target with %s -> reserved, and the copy leaves no reservation',
    async (_name, key, settings) => {
      const { count = 3, ...target } = settings as { readonly count?: number };
      const paths = typeof key === 'string' ? [key] : [...key];
      const kind = paths.length > 1 ? { kind: 'MultiHash', version: 2 } : {};
      const partitionKey = { paths, ...kind } as never;
      await using move = await Move.open({
        target: { ...target, partitionKey },
        flags: { partitionKey: paths },
      });
      const all = orders(count, { where: { city: 'Ulm' } });
      await write(move, all);
      let reservations: readonly string[] = [];
      const onPoint = (point: CrashPoint): void => {
        if (point === 'anchored') throw new Error('look');
      };
      await expect(move.run('copy', { onPoint })).rejects.toThrow('look');
      reservations = await inTarget(move);
      expect(reservations).toEqual([RESERVATION_ID]);
      await move.run('copy');
      expect(await inTarget(move)).toEqual(all.map(({ id }) => id).toSorted());
    },
  );

  test('replicas of the target lag -> the reservation is found all the same', async () => {
    await using move = await Move.open();
    await write(move, orders(20));
    await move.admin.account({ replicaLagMs: 60_000 });
    await expect(move.run('copy', { onPoint: crashAt('anchored') })).rejects.toThrow('ends here');
    const { ended } = startCosmig(['copy', '--dry-run', ...argv(move, otherLedger(move))], envOf(move));
    expect((await ended).stderr).toContain(OTHERS);
    await move.run('copy');
    await move.admin.account({ replicaLagMs: 0 });
    expect(await inTarget(move)).not.toContain(RESERVATION_ID);
  });

  test('a dry run finds the reservation of another -> says so, and changes nothing', async () => {
    await using move = await Move.open();
    await write(move, orders(5));
    await expect(move.run('copy', { onPoint: crashAt('anchored') })).rejects.toThrow('ends here');
    const { ended } = startCosmig(['copy', '--dry-run', ...argv(move, otherLedger(move))], envOf(move));
    const { code, stderr } = await ended;
    expect(code).toBe(7);
    expect(stderr).toContain(OTHERS);
    expect(await inTarget(move)).toEqual([RESERVATION_ID]);
  });
});

const argv = (move: Move, ledger: string): readonly string[] => [
  ...SPEC.filter((word) => word !== move.ledgerPath),
  '--ledger',
  ledger,
];

function copy(move: Move, ledger: string): CosmigProcess {
  return startCosmig(['copy', ...argv(move, ledger)], envOf(move));
}

const pause = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

describe('two processes', () => {
  test.each(byDay([0, 40, 250], { every: 3, from: 1 }))(
    'the second starts %d ms after the first -> one copies, and the other is refused',
    async (offsetMs) => {
      await using move = await Move.open();
      await write(move, orders(60));
      await using one = copy(move, move.ledgerPath);
      await pause(offsetMs);
      await using other = copy(move, otherLedger(move));
      const ended: readonly Ran[] = await Promise.all([one.ended, other.ended]);
      expect(ended.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 7]);
      const refused = ended.find(({ code }) => code === 7);
      expect(refused?.stderr).toContain('the target shop/by-tenant belongs to a migration');
      expect(await inTarget(move)).toEqual(
        orders(60)
          .map(({ id }) => id)
          .toSorted(),
      );
    },
  );

  test.each(byDay([500, 900], { every: 2 }))(
    'the first is killed after %d ms, and both start again -> one copies, and the other is refused',
    async (killedMs) => {
      await using move = await Move.open();
      await write(move, orders(60));
      await using one = copy(move, move.ledgerPath);
      await using other = copy(move, otherLedger(move));
      await pause(killedMs);
      one.kill('SIGKILL');
      await Promise.all([one.ended, other.ended]);
      await using again = copy(move, move.ledgerPath);
      await using otherAgain = copy(move, otherLedger(move));
      const ended = await Promise.all([again.ended, otherAgain.ended]);
      expect(ended.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 7]);
      expect(await inTarget(move)).toEqual(
        orders(60)
          .map(({ id }) => id)
          .toSorted(),
      );
    },
  );
});
