/** A turn that crashes: it resumes, and it is never begun a second time. */
import { rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { whenAborted } from '../../../src/lib/abort.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { readTurns } from '../../../src/state/turns/chain.ts';
import { byDay } from '../../helpers/generated.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig } from '../../helpers/migration/typed.ts';
import { Turns } from '../../helpers/migration/turns.ts';

const order = (id: number, more: object = {}): Order => ({
  id: `${id}`,
  customerId: `c${id % 3}`,
  tenantId: `t${id % 5}`,
  ...more,
});

class Crash extends Error {}

/** Returns the parts of a run that ends at the n-th time a point is reached. */
function crashAt(at: CrashPoint, times = 1) {
  let seen = 0;
  return {
    onPoint: (point: CrashPoint): void => {
      if (point === at && (seen += 1) === times) throw new Crash(at);
    },
  };
}

async function cutOver(): Promise<{ readonly move: Move; readonly turns: Turns }> {
  const move = await Move.open({ settings: { avad: true } });
  const turns = new Turns(move);
  await move.put(...Array.from({ length: 60 }, (_, i) => order(i)));
  await turns.run(0, 'copy');
  await turns.cutOver(0);
  return { move, turns };
}

async function change({ target }: Move): Promise<void> {
  for (let id = 0; id < 20; id += 1) await target.items.upsert(order(id, { changed: true }));
  for (let id = 20; id < 30; id += 1) await target.item(`${id}`, `t${id % 5}`).delete();
  for (let id = 30; id < 40; id += 1) await target.items.upsert({ ...order(id), customerId: 'moved' });
  for (let id = 100; id < 110; id += 1) await target.items.create(order(id));
}

const POINTS = [
  'map-page',
  'index-step',
  'page-read',
  'intended',
  'outcomes-known',
  'moved',
  'removed',
] as const;
test.each(byDay(POINTS, { every: 3 }))(
  'turns: a crash at "%s" in the reverse stream -> the next run completes it',
  async (point) => {
    const { move, turns } = await cutOver();
    await using _closed = move;
    await change(move);
    await expect(turns.run(1, 'catch-up', crashAt(point))).rejects.toThrow(Crash);
    const { documents } = await turns.run(1, 'catch-up');
    expect(documents.deadLettered).toBe(0);
    expect(await move.documents(move.source)).toEqual(await move.documents(move.target));
  },
);

test('turns: a crash right after the commit of a rollback -> the next one does what is left', async () => {
  const { move, turns } = await cutOver();
  await using _closed = move;
  await change(move);
  await turns.run(1, 'catch-up');
  const never = { stopWriters: whenAborted, deadlineMs: 100 };
  await expect(turns.cutOver(1, never)).rejects.toThrow('the cutover did not finish in time');
  await expect(turns.cutOver(1, {}, crashAt('cut-over'))).rejects.toThrow(Crash);
  const calls: string[] = [];
  await turns.cutOver(1, { onCommit: async () => void calls.push('switched') });
  expect(calls).toEqual(['switched']);
  await move.source.items.create(order(300));
  await turns.run(2, 'catch-up');
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('turns: the ledger of a turn is lost -> refused, since changes were replicated with it', async () => {
  const { move, turns } = await cutOver();
  await using _closed = move;
  await turns.run(1, 'catch-up');
  rmSync(turns.parts(1).spec.ledger);
  const typedIn = await cosmig(move, 'reverse', '--until-caught-up');
  expect([typedIn.code, typedIn.stderr]).toEqual([
    7,
    expect.stringMatching(
      /is missing, and changes were replicated[^]*with the two containers swapped, and --adopt-target/,
    ),
  ]);
  await expect(turns.run(1, 'catch-up')).rejects.toThrow('is missing, and changes were replicated with it');
});

test('turns: the application was not switched over yet -> refused', async () => {
  const move = await Move.open({ settings: { avad: true } });
  await using _closed = move;
  const turns = new Turns(move);
  await move.put(order(1));
  await turns.run(0, 'copy');
  await expect(turns.cutOver(0, {}, crashAt('cut-over'))).rejects.toThrow(Crash);
  await expect(turns.run(1, 'catch-up')).rejects.toThrow('its remaining steps are not done');
});

test('turns: the ledger of a turn was only half made -> it counts as not begun, and the next run completes it', async () => {
  const { move, turns } = await cutOver();
  await using _closed = move;
  const { ledger } = turns.parts(1).spec;
  // As a kill leaves it that came before the first transaction.
  writeFileSync(ledger, '');
  expect(readTurns(move.ledgerPath)).toMatchObject([{ hasBegun: true }, { hasBegun: false }]);
  await change(move);
  await turns.run(1, 'catch-up');
  expect(await move.documents(move.source)).toEqual(await move.documents(move.target));
});
