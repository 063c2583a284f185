/** Load control against a container that meters its RU: budgets are kept, and a slow range does not slow the others. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { sendBatch } from '../../../src/cosmos/bulk/batch-request.ts';
import { Governor } from '../../../src/cosmos/load/governor.ts';
import { readRanges } from '../../../src/cosmos/feed/ranges.ts';
import { replyScan } from '../../../src/documents/page-scan.ts';
import { effectiveKey } from '../../../src/epk/effective-key.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { bodyOf } from '../../helpers/emulator/container-requests.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { hashKey } from '../../helpers/emulator/key-definitions.ts';

const { signal } = new AbortController();
const OPERATIONS = 10;

interface Result {
  readonly chargedRu: number;
  readonly done: number;
  readonly throttled: number;
  readonly doneByRange: readonly number[];
  readonly seconds: number;
}

/** Creates documents in all ranges, as fast as the governor allows, for so long. */
async function load(
  emulator: TestEmulator,
  options: { readonly containerRu: number; readonly ruPerSecond?: number; readonly forMs: number },
): Promise<Result> {
  const { containerRu, ruPerSecond, forMs } = options;
  using account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
  const requests = new ContainerRequests(account, { database: 'shop', container: 'orders' });
  const ranges = await readRanges(requests, { signal });
  const governor = new Governor({ clock: systemClock, random: seededRandom(1), ruPerSecond });
  governor.setCapacity(
    containerRu,
    ranges.map(({ id }) => id),
  );
  const total = { chargedRu: 0, throttled: 0 };
  const doneByRange = ranges.map(() => 0);
  const startedMs = Date.now();
  const endsMs = startedMs + forMs;

  const drive = async (index: number): Promise<void> => {
    const range = ranges[index];
    if (range === undefined) throw new Error('no such range');
    // A key of this range, found by trying.
    let key = randomUUID();
    const epk = (): string => effectiveKey('hash-v2', [key]);
    while (epk() < range.min || epk() >= range.max) key = randomUUID();
    const under = new Set<Promise<void>>();
    const one = async (): Promise<void> => {
      const ops = Array.from({ length: OPERATIONS }, () => ({
        do: 'create' as const,
        key: [key],
        text: JSON.stringify({ id: randomUUID(), pk: key }),
      }));
      const batch = { rangeId: range.id, signal, body: Buffer.from(bodyOf(ops)), count: OPERATIONS };
      const result = await sendBatch(requests, batch, replyScan([]));
      const outcomes = result.answered ? result.outcomes : [];
      const refused = result.answered
        ? outcomes.filter(({ kind }) => kind === 'throttled')
        : Array.from({ length: OPERATIONS }, () => result.trouble);
      const chargeRu = result.answered ? result.chargeRu : result.trouble.chargeRu;
      const hints = refused.map(({ retryAfterMs = 0 }) => retryAfterMs);
      governor.observe(range.id, {
        chargeRu,
        operations: OPERATIONS,
        throttled: refused.length,
        retryAfterMs: refused.length === 0 ? undefined : Math.max(...hints),
      });
      total.chargedRu += chargeRu;
      total.throttled += refused.length;
      doneByRange[index] = (doneByRange[index] ?? 0) + outcomes.filter(({ kind }) => kind === 'done').length;
    };
    while (Date.now() < endsMs) {
      const admission = governor.admit(range.id, { inFlight: under.size });
      if (admission === 'go') {
        const request: Promise<void> = one().finally(() => under.delete(request));
        under.add(request);
      } else if ('delayMs' in admission) await delay(admission.delayMs);
      else await Promise.race(under);
    }
    await Promise.all(under);
  };
  await Promise.all(ranges.map((_range, index) => drive(index)));
  const done = doneByRange.reduce((sum, count) => sum + count, 0);
  return { ...total, done, doneByRange, seconds: (Date.now() - startedMs) / 1000 };
}

/** A container of 4 ranges with RU of its own. */
async function open(emulator: TestEmulator, throughput: number): Promise<void> {
  using account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
  const { database } = await account.client.databases.create({ id: 'shop' });
  await database.containers.create({ id: 'orders', partitionKey: hashKey(), throughput });
  const path = 'shop/orders';
  while ((await emulator.admin.ranges(path)).length < 4) {
    const [widest] = [...(await emulator.admin.ranges(path))].sort((a, b) => widthOf(b) - widthOf(a));
    await emulator.admin.split(path, widest === undefined ? {} : { rangeId: widest.id });
  }
}

function widthOf({ min, max }: { readonly min: string; readonly max: string }): number {
  const at = (hex: string): number => Number.parseInt(hex.padEnd(4, '0').slice(0, 4), 16);
  return at(max) - at(min);
}

test('a budget of 30 % -> at most 31 % of the container is used, with no throttling', async () => {
  await using emulator = await startTestEmulator({ settings: { ru: 'metered' } });
  await open(emulator, 8000);
  const result = await load(emulator, { containerRu: 8000, ruPerSecond: 2400, forMs: 5000 });
  const share = result.chargedRu / (8000 * result.seconds);
  // How near it comes is for virtual time (test/unit/cosmos): here the machine has others to serve as well.
  expect(share).toBeGreaterThan(0.1);
  expect(share).toBeLessThan(0.31);
  expect(result.throttled).toBe(0);
});

test('no budget -> the whole container is used, with hardly any throttling', async () => {
  await using emulator = await startTestEmulator({ settings: { ru: 'metered' } });
  await open(emulator, 4000);
  const result = await load(emulator, { containerRu: 4000, forMs: 5000 });
  expect(result.chargedRu / (4000 * result.seconds)).toBeGreaterThan(0.3);
  expect(result.throttled / (result.throttled + result.done)).toBeLessThan(0.2);
});

test('a slow and throttled range -> the others are not slowed', async () => {
  await using emulator = await startTestEmulator({ settings: { ru: 'metered' } });
  await open(emulator, 4000);
  const calm = await load(emulator, { containerRu: 4000, forMs: 3000 });
  const [slow] = await emulator.admin.ranges('shop/orders');
  await emulator.admin.faults([
    {
      match: { op: 'batch', rangeId: slow?.id ?? '' },
      probability: 0.5,
      effect: { status: 429, retryAfterMs: 200 },
    },
    { match: { op: 'batch', rangeId: slow?.id ?? '' }, effect: { delayMs: 300 } },
  ]);
  const rough = await load(emulator, { containerRu: 4000, forMs: 3000 });
  const sorted = (counts: readonly number[]): number[] => [...counts].sort((a, b) => a - b).slice(1);
  for (const [index, count] of sorted(rough.doneByRange).entries())
    expect(count / (sorted(calm.doneByRange)[index] ?? 1)).toBeGreaterThan(0.3);
});
