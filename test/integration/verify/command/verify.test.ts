import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
    text: `order ${n}`,
  }));

describe('verify: a container without writes', () => {
  let move: Move;
  beforeAll(async () => {
    move = await Move.open();
    await putAll(move, orders(400));
    await move.run('copy');
    await move.run('catch-up');
  });
  afterAll(async () => move[Symbol.asyncDispose]());

  test('equal sides -> proven, each document read once per side', async () => {
    const verdict = await verifyMove(move);
    expect(verdict).toMatchObject({
      equal: true,
      source: { count: 400 },
      target: { count: 400 },
      inFlight: 0,
      samples: [],
      settings: [],
    });
    const { digests, lookedAtAgain } = verdict.details as unknown as {
      digests: Record<string, string>;
      lookedAtAgain: number;
    };
    expect(digests['source']).toBe(digests['target']);
    expect(lookedAtAgain).toBe(0);
  });

  const named = (n: number, tenant = `t${n % 5}`): object => ({
    id: `o${n}`,
    sourceKey: [`c${n % 17}`],
    targetKey: [tenant],
  });
  const target = (n: number): Order => ({ ...orders(n + 1)[n], id: `o${n}` });

  /** What is done to the target, what is found, and how it is repaired. */
  const planted: readonly {
    readonly what: string;
    readonly plant: () => Promise<unknown>;
    readonly samples: readonly object[];
    readonly repair: () => Promise<unknown>;
  }[] = [
    {
      what: 'a flipped byte',
      plant: async () => move.target.items.upsert({ ...target(7), text: 'order 6' }),
      samples: [{ kind: 'different', ...named(7) }],
      repair: async () => move.target.items.upsert(target(7)),
    },
    {
      what: 'a dropped property',
      plant: async () => move.target.items.upsert({ ...target(8), text: undefined }),
      samples: [{ kind: 'different', ...named(8) }],
      repair: async () => move.target.items.upsert(target(8)),
    },
    {
      what: 'a stale version',
      plant: async () => move.target.items.upsert({ ...target(9), n: 8 }),
      samples: [{ kind: 'different', ...named(9) }],
      repair: async () => move.target.items.upsert(target(9)),
    },
    {
      what: 'two changes that make up for each other',
      plant: async () => {
        await move.target.items.upsert({ ...target(10), n: 11 });
        await move.target.items.upsert({ ...target(11), n: 10 });
      },
      samples: [
        { kind: 'different', ...named(10) },
        { kind: 'different', ...named(11) },
      ],
      repair: async () => {
        await move.target.items.upsert(target(10));
        await move.target.items.upsert(target(11));
      },
    },
    {
      what: 'a duplicate under another key',
      plant: async () => move.target.items.upsert({ ...target(12), tenantId: 't9' }),
      samples: [{ kind: 'extra', ...named(12, 't9') }],
      repair: async () => move.target.item('o12', 't9').delete(),
    },
    {
      what: 'a document under another key only',
      plant: async () => {
        await move.target.items.upsert({ ...target(13), tenantId: 't9' });
        await move.target.item('o13', 't3').delete();
      },
      samples: [{ kind: 'wrongSlot', ...named(13, 't9') }],
      repair: async () => {
        await move.target.items.upsert(target(13));
        await move.target.item('o13', 't9').delete();
      },
    },
    {
      what: 'a document that is lacking',
      plant: async () => move.target.item('o14', 't4').delete(),
      samples: [{ kind: 'missing', ...named(14) }],
      repair: async () => move.target.items.upsert(target(14)),
    },
    {
      what: 'a document without a source document',
      plant: async () => move.target.items.upsert({ id: 'x', customerId: 'c1', tenantId: 't1' }),
      samples: [{ kind: 'extra', id: 'x', sourceKey: ['c1'], targetKey: ['t1'] }],
      repair: async () => move.target.item('x', 't1').delete(),
    },
  ];

  test.each(planted)('$what -> found, and nothing else', async ({ plant, samples, repair }) => {
    await plant();
    try {
      const verdict = await verifyMove(move);
      expect(verdict).toMatchObject({ equal: false, inFlight: 0 });
      expect(verdict.samples.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1))).toEqual(samples);
      expect(JSON.stringify(verdict)).not.toContain('order ');
    } finally {
      await repair();
    }
  });

  test('other order of members, other spelling of a number -> equal', async () => {
    const { id, ...others } = target(15);
    await move.target.items.upsert(
      Object.fromEntries(Object.entries({ ...others, id }).toReversed()) as Order,
    );
    const verdict = await verifyMove(move);
    expect(verdict).toMatchObject({ equal: true, details: { lookedAtAgain: 1 } });
    await move.target.items.upsert(target(15));
  });
});
