/**
 * Every kind of error among many documents, from the copy to the verdict. `COSMIG_PLANTED_DOCUMENTS=1000000` is the
 * whole of it: some minutes, and 2 GB for the emulator.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectiveKey } from '../../../../src/epk/effective-key.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { opKey, WireContainer } from '../../../helpers/emulator/wire-container.ts';
import { sized } from '../../../helpers/nightly.ts';

const COUNT = Number(process.env['COSMIG_PLANTED_DOCUMENTS'] ?? sized({ daily: 5_000, nightly: 50_000 }));
const TIMEOUT_MS = 60_000 + 3 * COUNT;
const random = seededRandom(Number(process.env['COSMIG_SEED'] ?? 20_260));
/** Ten ranges on each side, with enough RU/s for the copy. */
const SIZE = { throughput: 100_000 };
/** Generous, because the emulator runs in this process. */
const PATIENT = { requestTimeoutMs: 30_000 };
const BULK = 100;
const CUSTOMERS = 9973;

const customerOf = (n: number): string => `c${n % CUSTOMERS}`;
const tenantOf = (n: number): string => `t${n % 211}`;
/** Has an odd number above 2^53, which JSON.parse would round. */
const textOf = (n: number): string =>
  `{"id":"o${n}","customerId":"${customerOf(n)}","tenantId":"${tenantOf(n)}","n":${n},"big":${9_007_199_254_740_993n + 2n * BigInt(n)},"text":"order"}`;

let move: Move;
let raw: RawAccount;
let [source, target]: WireContainer[] = [];
beforeAll(async () => {
  move = await Move.open({ source: SIZE, target: SIZE });
  raw = new RawAccount(move.emulator);
  [source, target] = [new WireContainer(raw, 'shop', 'orders'), new WireContainer(raw, 'shop', 'by-tenant')];
  await fill(source);
  await move.admin.split('shop/orders');
  await move.run('copy', { timing: PATIENT });
}, TIMEOUT_MS);
afterAll(async () => {
  raw.close();
  await move[Symbol.asyncDispose]();
});

async function fill(container: WireContainer): Promise<void> {
  const ranges = await container.ranges();
  const waiting = ranges.map((): number[] => []);
  const send = async (range: number): Promise<void> => {
    const operations = (waiting[range] ?? []).splice(0).map((n) => {
      const key = JSON.stringify(opKey(customerOf(n)));
      return `{"operationType":"Create","resourceBody":${textOf(n)},"partitionKey":${key}}`;
    });
    if (operations.length === 0) return;
    const { status } = await container.bulk(ranges[range]?.id ?? '', `[${operations.join(',')}]`);
    if (status !== 200) throw new Error(`filling answered ${status}`);
  };
  const places = Array.from({ length: CUSTOMERS }, (_, n) => {
    const place = effectiveKey('hash-v1', [customerOf(n)]);
    return ranges.findLastIndex(({ minInclusive }) => minInclusive <= place);
  });
  for (let n = 0; n < COUNT; n += 1) {
    const range = places[n % CUSTOMERS] ?? 0;
    const list = waiting[range] ?? [];
    if (list.push(n) === BULK) await send(range);
  }
  for (const range of ranges.keys()) await send(range);
}

/** In the target. */
async function put(n: number, text: string, tenant = tenantOf(n)): Promise<void> {
  expect((await target?.upsert(text, [tenant]))?.status).toBeLessThan(300);
}

async function drop(n: number): Promise<void> {
  expect((await target?.delete(`o${n}`, [tenantOf(n)]))?.status).toBe(204);
}

type Plant = (n: number, other: number) => Promise<void>;

/** Changes to the target, with the kind that verify must report, and the second document where there are two. */
const PLANTED: readonly { readonly what: string; readonly kind: string; readonly plant: Plant }[] = [
  {
    what: 'one flipped byte',
    kind: 'different',
    plant: async (n) => put(n, textOf(n).replace('"order"', '"orfer"')),
  },
  {
    what: 'a rounded integer',
    kind: 'different',
    plant: async (n) =>
      put(
        n,
        textOf(n).replace(/"big":(\d+)/, (_all, big: string) => `"big":${BigInt(Number(big))}`),
      ),
  },
  {
    what: 'a dropped property',
    kind: 'different',
    plant: async (n) => put(n, textOf(n).replace(/,"n":\d+/, '')),
  },
  {
    what: 'a stale version',
    kind: 'different',
    plant: async (n) => put(n, textOf(n).replace(`"n":${n}`, `"n":${n - 1}`)),
  },
  {
    what: 'two changes that make up for each other',
    kind: 'different different',
    plant: async (n, other) => {
      await put(n, textOf(n).replace(`"n":${n}`, `"n":${other}`));
      await put(other, textOf(other).replace(`"n":${other}`, `"n":${n}`));
    },
  },
  {
    what: 'a duplicate under another key',
    kind: 'extra',
    plant: async (n) => put(n, textOf(n).replace(`"${tenantOf(n)}"`, '"tX"'), 'tX'),
  },
  {
    what: 'a document under another key only',
    kind: 'wrongSlot',
    plant: async (n) => {
      await put(n, textOf(n).replace(`"${tenantOf(n)}"`, '"tX"'), 'tX');
      await drop(n);
    },
  },
  { what: 'a document that is lacking', kind: 'missing', plant: drop },
];

test(
  `planted differences among ${COUNT} documents -> all are found, each by its name, and nothing else`,
  async () => {
    expect(await verifyMove(move, { timing: { ...PATIENT, pageSize: 1000 } })).toMatchObject({
      equal: true,
      source: { count: COUNT },
      target: { count: COUNT },
      details: { lookedAtAgain: 0 },
    });
    const used = new Set<number>();
    const anywhere = (): number => {
      const n = 1 + random.below(COUNT - 1);
      if (used.has(n)) return anywhere();
      used.add(n);
      return n;
    };
    const expected: { kind: string; id: string; sourceKey: string[]; targetKey: string[] }[] = [];
    for (const { kind, plant } of PLANTED) {
      const [n, other] = [anywhere(), anywhere()];
      await plant(n, other);
      const isElsewhere = kind === 'extra' || kind === 'wrongSlot';
      for (const [i, one] of kind.split(' ').entries()) {
        const who = i === 0 ? n : other;
        const targetKey = [isElsewhere ? 'tX' : tenantOf(who)];
        expected.push({ kind: one, id: `o${who}`, sourceKey: [customerOf(who)], targetKey });
      }
    }
    await put(0, '{"id":"extra","customerId":"c1","tenantId":"t1"}', 't1');
    expected.push({ kind: 'extra', id: 'extra', sourceKey: ['c1'], targetKey: ['t1'] });

    const verdict = await verifyMove(move, { timing: { ...PATIENT, pageSize: 1000 } });
    expect(verdict).toMatchObject({ equal: false, inFlight: 0, details: { lookedAtAgain: expected.length } });
    const byId = (one: { readonly id: unknown }, two: { readonly id: unknown }): number =>
      String(one.id) < String(two.id) ? -1 : 1;
    expect(verdict.samples.toSorted(byId)).toEqual(expected.toSorted(byId));
    // Each is read once a side; of those that differ both sides are asked twice.
    const seconds = (verdict.durationMs / 1000).toFixed(1);
    if (COUNT > 50_000) process.stdout.write(`compared ${COUNT} documents a side in ${seconds} s\n`);
  },
  TIMEOUT_MS,
);
