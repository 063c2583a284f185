/** Request units: what things cost, who has to wait, and for how long. Facts SVC-28 to SVC-36. */
import type { OfferDefinition, OperationInput } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { chargeOf, headerOf, parseJson, type Reply, substatusOf } from '../helpers/emulator/raw.ts';
import { until } from '../helpers/wait.ts';
import {
  type Doc,
  type Operation,
  type OperationResult,
  opKey,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { forEachBackend, forEachEmulator } from './backend.ts';

/** Nothing is indexed, so writes cost their size alone. */
const UNINDEXED = {
  indexingPolicy: { indexingMode: 'none' as const, automatic: false, includedPaths: [], excludedPaths: [] },
};

function sized(id: string, kib: number, pk = 'p'): Doc {
  const empty = JSON.stringify({ id, pk, fill: '' });
  return { id, pk, fill: 'x'.repeat(kib * 1024 - empty.length) };
}

/** Long enough for the account to see who wants what: a few refills. */
const CONTENTION_MS = 2500;
const LANES = 3;

async function create(wire: WireContainer, doc: Doc, headers: Record<string, string> = {}): Promise<Reply> {
  return wire.create(JSON.stringify(doc), [doc['pk']], headers);
}

/** Writes until the range has had enough; far more often than any budget here lasts. */
async function exhaust(wire: WireContainer, pk: string): Promise<Reply> {
  for (let n = 0; n < 200; n += 1) {
    const reply = await create(wire, sized(`x${n}-${Math.random()}`, 64, pk));
    if (reply.status === 429) return reply;
  }
  throw new Error('no request was throttled');
}

forEachBackend(
  'charges',
  (backend) => {
    it.skipIf(backend.live)('a document of at most 1 KB -> the charges of the table', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const at = ['p'];
      expect(chargeOf(await create(wire, { id: 'a', pk: 'p' }))).toBeCloseTo(4.95, 2);
      expect(chargeOf(await wire.read('a', at))).toBeCloseTo(1, 2);
      expect(chargeOf(await wire.replace('a', '{"id":"a","pk":"p","n":1}', at))).toBeCloseTo(9.9, 2);
      expect(chargeOf(await wire.upsert('{"id":"a","pk":"p","n":2}', at))).toBeCloseTo(9.9, 2);
      expect(chargeOf(await wire.upsert('{"id":"b","pk":"p"}', at))).toBeCloseTo(4.95, 2);
      const patch = JSON.stringify([{ op: 'set', path: '/n', value: 3 }]);
      expect(chargeOf(await wire.patch('a', patch, at))).toBeCloseTo(10.3, 2);
      expect(chargeOf(await wire.delete('a', at))).toBeCloseTo(4.95, 2);
      expect(chargeOf(await wire.delete('a', at))).toBeCloseTo(1.24, 2);
    });

    it.skipIf(backend.live)('a larger document -> higher charges', async () => {
      const { wire } = await backend.container(UNINDEXED);
      for (const [kib, write, read] of [
        [8, 7.04, 1.33],
        [64, 22.67, 4.76],
        [256, 98.29, 20.28],
      ] as const) {
        const written = await until(
          async () => {
            const reply = await create(wire, sized(`k${kib}`, kib));
            return reply.status === 201 ? reply : undefined;
          },
          { what: `room for ${kib} KB` },
        );
        // System properties add a little to the size that was sent.
        expect(chargeOf(written) / write, `${kib} KB write`).toBeCloseTo(1, 1);
        const got = await until(
          async () => {
            const reply = await wire.read(`k${kib}`, ['p']);
            return reply.status === 200 ? reply : undefined;
          },
          { what: 'a read' },
        );
        expect(chargeOf(got) / read, `${kib} KB read`).toBeCloseTo(1, 1);
      }
    });

    it('more indexed terms -> higher charges', async () => {
      const { wire } = await backend.container();
      const plain = chargeOf(await create(wire, { id: 'plain', pk: 'p' }));
      const terms = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`t${n}`, n]));
      const indexed = chargeOf(await create(wire, { id: 'indexed', pk: 'p', ...terms }));
      expect(plain).toBeGreaterThan(4);
      expect(indexed - plain).toBeGreaterThan(2);
      const expected = backend.live ? indexed - plain : 4;
      expect(indexed - plain).toBeCloseTo(expected, 1);
    });

    it('feeds, queries and failures -> charged as well', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const scope = { rangeId: (await wire.onlyRange()).id };
      await wire.seed(['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, pk: 'p' })));
      const page = await wire.feed(scope, 'beginning');
      const empty = await wire.feed(scope, { etag: page.etag });
      const query = await wire.query('SELECT * FROM c', scope);
      const missing = await wire.read('ghost', ['p']);
      const conflict = await wire.create('{"id":"a","pk":"p"}', ['p']);
      for (const reply of [page.reply, empty.reply, query, missing, conflict])
        expect(chargeOf(reply)).toBeGreaterThan(0);
      expect(chargeOf(query)).toBeGreaterThan(2);
      if (backend.live) return;
      expect(chargeOf(page.reply)).toBeCloseTo(5, 1);
      expect(chargeOf(empty.reply)).toBeCloseTo(2, 0);
      expect(chargeOf(conflict)).toBeCloseTo(1.24, 2);
    });

    it('a bulk request -> a charge per operation, and their sum', async () => {
      const { container, wire } = await backend.container(UNINDEXED);
      const ops = ['a', 'b', 'c'].map((id): Operation => ({
        operationType: 'Create',
        resourceBody: { id, pk: 'p' },
        partitionKey: opKey('p'),
      }));
      const reply = await wire.bulk((await wire.onlyRange()).id, ops);
      const results = parseJson<OperationResult[]>(reply);
      const sum = results.reduce((total, result) => total + result.requestCharge, 0);
      expect(sum).toBeGreaterThan(3);
      expect(chargeOf(reply)).toBeCloseTo(sum, 1);
      const each = backend.live ? sum / 3 : 4.95;
      for (const result of results) expect(result.requestCharge).toBeCloseTo(each, 2);
      const { requestCharge } = await container.item('a', 'p').read();
      expect(requestCharge).toBeGreaterThan(0);
    });
  },
  { ru: 'metered' },
);

forEachEmulator(
  'budgets',
  (backend) => {
    it('used up -> 429/3200 with a wait, then refilled', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const refused = await exhaust(wire, 'p');
      expect(substatusOf(refused)).toBe(3200);
      expect(parseJson(refused)).toMatchObject({ code: expect.any(String), message: expect.any(String) });
      const retryAfterMs = Number(headerOf(refused, 'x-ms-retry-after-ms'));
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThan(5000);
      expect(chargeOf(refused)).toBeLessThan(1);
      await until(async () => (await create(wire, { id: 'again', pk: 'p' })).status === 201, {
        what: 'the refill',
      });
    });

    it('a request exceeds the budget -> it completes, and later seconds pay', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const big = await create(wire, sized('big', 1800));
      expect(big.status).toBe(201);
      expect(chargeOf(big)).toBeGreaterThan(800);
      const next = await create(wire, { id: 'small', pk: 'p' });
      expect(next.status).toBe(429);
      expect(Number(headerOf(next, 'x-ms-retry-after-ms'))).toBeGreaterThan(100);
      await until(async () => (await create(wire, { id: 'small', pk: 'p' })).status === 201, {
        what: 'the debt paid',
      });
    });

    it('used up within a bulk request -> single operations are refused', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const { id: rangeId } = await wire.onlyRange();
      const ops = (round: number): Operation[] =>
        Array.from({ length: 25 }, (_, n) => ({
          operationType: 'Create',
          resourceBody: sized(`r${round}-${n}`, 60),
          partitionKey: opKey('p'),
        }));
      let throttled: OperationResult[] = [];
      for (let round = 0; round < 5 && throttled.length === 0; round += 1) {
        const reply = await wire.bulk(rangeId, ops(round));
        if (reply.status === 429) continue;
        throttled = parseJson<OperationResult[]>(reply).filter((result) => result.statusCode === 429);
      }
      expect(throttled.length).toBeGreaterThan(0);
      for (const result of throttled) {
        expect(result.subStatusCode).toBe(3200);
        expect(result.retryAfterMilliseconds).toBeGreaterThan(0);
      }
    });

    it('used up -> the SDK waits and succeeds', async () => {
      const { container } = await backend.container(UNINDEXED);
      let throttled = 0;
      const client = backend.client({
        onRequest: async (context, next) => {
          try {
            return await next(context);
          } catch (error) {
            if ((error as { code?: number }).code === 429) throttled += 1;
            throw error;
          }
        },
      });
      const same = backend.lab.through(client, container);
      // A debt of more than a second, so that the next ones are throttled however slow this machine is today.
      await same.items.create(sized('debt', 1500));
      await Promise.all(Array.from({ length: 24 }, (_, n) => same.items.create(sized(`d${n}`, 64))));
      expect(throttled).toBeGreaterThan(0);
      const impatient = backend.client({ connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });
      const hasty = backend.lab.through(impatient, container);
      const work = async (): Promise<void> => {
        for (let n = 0; n < 200; n += 1) await hasty.items.create(sized(`h${n}`, 64));
      };
      const error = await failure(work());
      expect(error).toMatchObject({ code: 429, substatus: 3200 });
      expect(error.retryAfterInMs).toBeGreaterThan(0);
    });

    it('the offer changes -> the budget changes at once', async () => {
      const { container, wire } = await backend.container(UNINDEXED);
      const refused = await exhaust(wire, 'p');
      expect(refused.status).toBe(429);
      const { resource, offer } = await container.readOffer();
      const content = { offerThroughput: 10_000 } as unknown as NonNullable<OfferDefinition['content']>;
      await offer?.replace({ ...resource, content });
      for (let n = 0; n < 60; n += 1) expect((await create(wire, sized(`after${n}`, 64))).status).toBe(201);
    });

    it('one range is busy -> its neighbour is not throttled', async () => {
      const { wire } = await backend.splitContainer(2, UNINDEXED);
      const [first, second] = await wire.ranges();
      const keys = Array.from({ length: 20 }, (_, n) => `k${n}`);
      // A cheap read shows the range of a key: its feed is empty in the other range.
      const homes = new Map<string, string>();
      for (const pk of keys)
        await until(async () => (await create(wire, { id: pk, pk })).status === 201, { what: 'seeding' });
      for (const range of [first, second]) {
        const { items } = await wire.drain({ rangeId: range?.id }, 'beginning');
        for (const doc of items) homes.set(doc.id, range?.id ?? '');
      }
      const busy = keys.find((pk) => homes.get(pk) === first?.id) ?? '';
      const quiet = keys.find((pk) => homes.get(pk) === second?.id) ?? '';
      await until(async () => (await wire.read(quiet, [quiet])).status === 200, { what: 'a quiet start' });
      await exhaust(wire, busy);
      expect((await wire.read(quiet, [quiet])).status).toBe(200);
    });

    it('both priorities compete -> Low is refused first', async () => {
      const { wire } = await backend.container(UNINDEXED);
      const served = { Low: 0, High: 0 };
      const endsAt = Date.now() + CONTENTION_MS;
      const press = async (priority: 'Low' | 'High', lane: number): Promise<void> => {
        for (let n = lane; Date.now() < endsAt; n += LANES) {
          const headers = { 'x-ms-cosmos-priority-level': priority };
          const reply = await create(wire, sized(`${priority}${n}`, 32), headers);
          if (reply.status === 201) served[priority] += 1;
        }
      };
      // Enough of them, and large enough, that there are not enough RU/s on a busy machine either.
      const lanes = Array.from({ length: LANES }, (_, lane) => lane);
      await Promise.all(lanes.flatMap((lane) => [press('Low', lane), press('High', lane)]));
      expect(served.Low).toBeGreaterThan(0);
      expect(served.High).toBeGreaterThan(served.Low);
    });

    it('ru is off -> no throttling, but replies still state charges', async () => {
      await using lab = await backend.freshLab({ settings: { ru: 'off' } });
      const { container, wire } = await lab.container(UNINDEXED);
      for (let n = 0; n < 40; n += 1) {
        const reply = await create(wire, sized(`d${n}`, 64));
        expect(reply.status).toBe(201);
        expect(chargeOf(reply)).toBeGreaterThan(20);
      }
      const operations = Array.from(
        { length: 50 },
        (_, n) => ({ operationType: 'Upsert', resourceBody: sized(`d${n}`, 30) }) as OperationInput,
      );
      const results = await container.items.bulk(operations);
      expect(results.every((result) => result.statusCode < 300)).toBe(true);
    });
  },
  { ru: 'metered' },
);
