/** Two checks of a document when something changed in between, or another document is in its slot. */
import { expect, test } from 'vitest';
import type { AccountSettings } from '../../../helpers/emulator/admin.ts';
import {
  before,
  isBatchOf,
  order,
  orders,
  SOURCE,
  Tapped,
  TARGET,
  write,
} from '../../../helpers/migration/tapped.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig, typed } from '../../../helpers/migration/typed.ts';
import { clockAt } from '../../../helpers/clock.ts';

const NOTHING = { missing: 0, extra: 0, different: 0, wrongSlot: 0 };

async function copied(settings: AccountSettings = {}): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true, ...settings } });
  await write(tapped.move, orders(20));
  await tapped.move.run('copy');
  return tapped;
}

test('verify recheck: document differs in another way each time -> in flight', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  await write(move, [order(7, { version: 1 })]);
  let looks = 0;
  tap.meddle = async ({ what, container }, forward) => {
    const reply = await forward();
    if (what !== 'batch' || container !== 'orders') return reply;
    looks += 1;
    if (looks > 1) return reply;
    // After the first look: the mover replicates what that look saw, and the source gets another version.
    await move.run('catch-up');
    await write(move, [order(7, { version: 2 })]);
    return reply;
  };
  const verdict = await verifyMove(move, {
    deadlineMs: 60_000,
    // The deadline passes after the second check.
    clock: clockAt(() => Date.now() + (looks < 2 ? 0 : 120_000)),
    timing: { requestTimeoutMs: 20_000 },
  });
  expect(looks).toBe(2);
  expect(verdict).toMatchObject({ equal: null, inFlight: 1 });
});

test('verify recheck: another document in its slot -> missing, not different', async () => {
  await using tapped = await copied();
  const { move } = tapped;
  await move.target.item('o7', 't2').delete();
  await move.target.items.create({ ...order(7), customerId: 'stranger' });
  expect(await verifyMove(move)).toMatchObject({
    equal: false,
    differences: { missing: 1, extra: 1, different: 0, wrongSlot: 0 },
  });
});

test.each(['open', 'waived'])(
  'verify recheck: document of an %s letter, and nothing of it was left in the target -> a copy is extra, and removed',
  async (state) => {
    const flags = { missingKey: ['dead-letter'] };
    await using move = await Move.open({ flags });
    await write(move, [...orders(5), { id: 'keyless', customerId: 'c1' }]);
    await move.run('copy');
    if (state === 'waived') await typed(move, 'dead-letters', 'discard', '1');
    expect(await verifyMove(move, { flags })).toMatchObject({ equal: true });
    await move.target.items.create({ id: 'keyless', customerId: 'c1', tenantId: 't9' });
    expect(await verifyMove(move, { flags })).toMatchObject({
      equal: false,
      differences: { ...NOTHING, extra: 1 },
      samples: [{ kind: 'extra', id: 'keyless', sourceKey: ['c1'], targetKey: ['t9'] }],
    });
    const repaired = await cosmig(move, 'verify', '--repair', '--missing-key', 'dead-letter');
    expect(repaired.stdout).toContain('equal');
    expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['o0', 'o1', 'o2', 'o3', 'o4']);
  },
);

test('verify recheck: document has moved meanwhile -> checked under its new key', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  await move.target.items.upsert(order(7, { wrong: 1 }));
  tap.meddle = before(isBatchOf('by-tenant'), {
    1: async () => {
      await write(move, [order(7, { tenantId: 'elsewhere' })]);
      move.connectionString = move.emulator.connectionString;
      await move.run('catch-up');
    },
  });
  expect(await verifyMove(move, { timing: { requestTimeoutMs: 20_000 } })).toMatchObject({ equal: true });
});

test.each([
  { name: 'orders', path: SOURCE },
  { name: 'by-tenant', path: TARGET },
])('verify recheck: a range of $name splits meanwhile -> all documents are found', async ({ name, path }) => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  for (let n = 0; n < 20; n += 1) await move.target.items.upsert(order(n, { wrong: 1 }));
  tap.meddle = before(isBatchOf(name), { 1: async () => move.admin.split(path) });
  let rounds = 0;
  let caughtUp: Promise<unknown> | undefined;
  const verdict = await verifyMove(move, {
    deadlineMs: 30_000,
    timing: { requestTimeoutMs: 20_000 },
    onProgress: ({ stage }) => {
      // Then the mover knows of the split, and it is known how far it is.
      if (stage === 'rechecking' && (rounds += 1) === 2) caughtUp = move.run('catch-up');
    },
  });
  await caughtUp;
  expect(verdict).toMatchObject({ equal: false, differences: { ...NOTHING, different: 20 } });
  expect(await move.admin.ranges(path)).toHaveLength(2);
});

test.each([
  { side: 'source', name: 'orders', key: '/customerId' },
  { side: 'target', name: 'by-tenant', key: '/tenantId' },
])('verify recheck: the $side was deleted and created again -> refused', async ({ side, name, key }) => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  await move.target.item('o7', 't2').delete();
  const { containers } = move.client.database('shop');
  tap.meddle = before(isBatchOf(name), {
    1: async () => {
      await move.client.database('shop').container(name).delete();
      await containers.create({ id: name, partitionKey: key });
    },
  });
  await expect(verifyMove(move)).rejects.toThrow(`the ${side} container was deleted and created again`);
});

test('verify recheck: documents too large for one reply -> all are checked', async () => {
  await using tapped = await copied({ ru: 'off', pageBytes: 4 * 1024 * 1024 });
  const { move } = tapped;
  const pad = 'x'.repeat(1_900_000);
  await write(move, [order(1, { pad }), order(2, { pad }), order(3, { pad })]);
  await move.run('catch-up', { timing: { requestTimeoutMs: 20_000 } });
  for (const n of [1, 2, 3]) await move.target.items.upsert(order(n, { pad, wrong: 1 }));
  const verdict = await verifyMove(move, { timing: { requestTimeoutMs: 20_000 } });
  expect(verdict).toMatchObject({ equal: false, differences: { ...NOTHING, different: 3 } });
});

test('verify recheck: large documents -> few at a time', async () => {
  const settings = { avad: true, ru: 'off', pageBytes: 4 * 1024 * 1024 } as const;
  await using tapped = await Tapped.open({ settings, target: { throughput: 100_000 } });
  const { move, tap } = tapped;
  const pad = 'x'.repeat(1_900_000);
  const large = Array.from({ length: 6 }, (_, n) => order(n, { pad }));
  await write(move, large);
  await move.run('copy', { timing: { requestTimeoutMs: 20_000 } });
  for (const { customerId, ...others } of large)
    await move.target.items.upsert({ ...others, customerId, wrong: 1 });
  let most = 0;
  const held = new Set<unknown>();
  tap.meddle = async ({ what, container, body }, forward) => {
    if (what !== 'batch') return forward();
    // The target is asked first, and then the source: what comes after that is of others.
    if (container === 'orders') held.clear();
    else for (const { id } of JSON.parse(body.toString()) as { id: unknown }[]) held.add(id);
    most = Math.max(most, held.size);
    return forward();
  };
  const verdict = await verifyMove(move, { timing: { requestTimeoutMs: 20_000 } });
  expect(verdict).toMatchObject({ equal: false, differences: { ...NOTHING, different: 6 } });
  // Of each of them both sides are in memory.
  expect(most).toBeLessThanOrEqual(4);
});
