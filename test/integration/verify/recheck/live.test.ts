import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CanceledError } from '../../../../src/lib/errors.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';
import { setClock } from '../../../helpers/clock.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
  }));

/** Writes, moves and deletes until it is stopped. */
async function write(
  move: Move,
  { seed, stop }: { readonly seed: number; readonly stop: AbortSignal },
): Promise<number> {
  const random = seededRandom(seed);
  let writes = 0;
  while (!stop.aborted) {
    const n = random.below(300);
    const order = { id: `o${n}`, customerId: `c${n % 17}`, tenantId: `t${random.below(5)}`, n: writes };
    if (random.below(8) === 0)
      await move.source
        .item(order.id, order.customerId)
        .delete()
        .catch(() => undefined);
    else await move.source.items.upsert(order);
    writes += 1;
    await delay(2);
  }
  return writes;
}

describe('verify: an application writes and a tail runs', () => {
  test.each([1, 2])(
    'seed %i -> no difference is confirmed, and both sides are proven equal in the end',
    async (seed) => {
      await using move = await Move.open({ settings: { avad: true, retentionSeconds: 3600 } });
      await putAll(move, orders(300));
      await move.run('copy');
      const [drain, stop] = [new AbortController(), new AbortController()];
      const tail = move.run('tail', { drain: drain.signal }).catch((error: unknown) => error);
      const writing = write(move, { seed, stop: stop.signal });
      let lookedAtAgain = 0;
      for (let round = 0; round < 4; round += 1) {
        const verdict = await verifyMove(move, { deadlineMs: 700, fresh: true });
        expect(verdict.differences).toEqual({ missing: 0, extra: 0, different: 0, wrongSlot: 0 });
        expect(verdict.equal).not.toBe(false);
        lookedAtAgain += Number(verdict.details['lookedAtAgain']);
      }
      stop.abort();
      expect(await writing).toBeGreaterThan(10);
      const quiet = await verifyMove(move, { deadlineMs: 90_000, fresh: true });
      expect(quiet).toMatchObject({ equal: true, inFlight: 0 });
      // Else no document was in flight, and this has shown nothing.
      expect(lookedAtAgain).toBeGreaterThan(0);
      drain.abort(new CanceledError('SIGTERM'));
      await tail;
    },
  );
});

describe('verify: nothing is replicated', () => {
  test('clock set back -> still ends at its deadline', async () => {
    await using move = await Move.open();
    await putAll(move, orders(20));
    await move.run('copy');
    await move.put({ id: 'new', customerId: 'c', tenantId: 't' });
    let rounds = 0;
    const clock = setClock(() => (rounds > 1 ? -3_600_000 : 0));
    const onProgress = ({ stage }: { readonly stage: string }): void => {
      if (stage === 'rechecking' || stage === 'counting') rounds += 1;
    };
    for (const level of ['digest', 'count'] as const) {
      rounds = 0;
      const verdict = await verifyMove(move, { level, deadlineMs: 400, clock, onProgress });
      expect(verdict).toMatchObject({ equal: null, inFlight: 1 });
    }
  });

  test('documents in flight -> listed with their age, and nothing is proven', async () => {
    await using move = await Move.open();
    await putAll(move, orders(20));
    await move.run('copy');
    await move.put(
      { id: 'o3', customerId: 'c3', tenantId: 't3', n: 99 },
      { id: 'new', customerId: 'c', tenantId: 't' },
    );
    const verdict = await verifyMove(move, { deadlineMs: 300 });
    expect(verdict).toMatchObject({
      equal: null,
      inFlight: 2,
      differences: { missing: 0, extra: 0, different: 0, wrongSlot: 0 },
      waitsFor: '1 range of the source has changes that are not replicated yet',
    });
    const listed = verdict.details.listed?.inFlight ?? [];
    const named = listed.map(({ id, kind }) => `${String(id)} ${kind}`);
    expect(named.toSorted()).toEqual(['new missing', 'o3 different']);
    expect(verdict.details.oldestInFlightMs).toBe(Math.max(...listed.map(({ ageMs }) => ageMs)));
    // The next comparison resumes this one: the documents have been in flight since the first look of the first.
    const later = await verifyMove(move, { deadlineMs: 300 });
    for (const { id, ageMs } of listed) {
      const same = later.details.listed?.inFlight.find((one) => one.id === id);
      expect(same?.ageMs).toBeGreaterThan(ageMs);
    }
    await move.run('catch-up');
    await expect(verifyMove(move)).resolves.toMatchObject({ equal: true });
  });

  test('delete that no feed reports -> extra', async () => {
    await using move = await Move.open({ flags: { deletes: ['reconcile'] } });
    await putAll(move, orders(20));
    await move.run('copy');
    await move.run('catch-up');
    await move.source.item('o3', 'c3').delete();
    const verdict = await verifyMove(move, { flags: { deletes: ['reconcile'] } });
    expect(verdict).toMatchObject({
      equal: false,
      samples: [{ kind: 'extra', id: 'o3', sourceKey: ['c3'], targetKey: ['t3'] }],
    });
  });

  test('delete that the mover will still see -> in flight', async () => {
    await using move = await Move.open({ settings: { avad: true, retentionSeconds: 3600 } });
    await putAll(move, orders(20));
    await move.run('copy');
    await move.run('catch-up');
    await move.source.item('o3', 'c3').delete();
    await expect(verifyMove(move, { deadlineMs: 300 })).resolves.toMatchObject({ equal: null, inFlight: 1 });
    await move.run('catch-up');
    await expect(verifyMove(move)).resolves.toMatchObject({ equal: true });
  });
});
