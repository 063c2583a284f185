/** With `--ttl remaining` a copy must expire when its original does: the expiry of every document is compared. */
import { describe, expect, test } from 'vitest';
import { compareForCutover } from '../../../../src/workflows/compare.ts';
import { runCutover } from '../../../../src/engine/run.ts';
import { CUTOVER } from '../../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions, type Order } from '../../../helpers/migration/move.ts';
import { cosmig } from '../../../helpers/migration/typed.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const flags = { ttl: ['remaining'] };
const ON = { defaultTtl: -1 };
const TTL_S = 500_000;

const order = (n: number): Order => ({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 5}`, n });

/** A migration whose documents all expire, by their own `ttl` unless the container has a default. */
async function copied({ source = ON, ...options }: MoveOptions = {}): Promise<Move> {
  const move = await Move.open({ flags, source, target: ON, ...options });
  const own = source.defaultTtl === -1 ? { ttl: TTL_S } : {};
  await putAll(
    move,
    Array.from({ length: 40 }, (_, n) => ({ ...order(n), ...own })),
  );
  await move.run('copy');
  await move.run('catch-up');
  expect(await verifyMove(move, { flags })).toMatchObject({ equal: true, details: { lookedAtAgain: 0 } });
  return move;
}

/** Writes a copy again, with another `ttl`; undefined: with none. */
async function spoil(move: Move, n: number, ttl: number | undefined): Promise<void> {
  const { id, tenantId } = order(n);
  const { resource } = await move.target.item(id, tenantId as string).read<Order>();
  const { ttl: _was, ...others } = resource ?? order(n);
  await move.target.items.upsert({ ...others, ...(ttl === undefined ? {} : { ttl }) });
}

describe('verify: a copy was changed to expire at another time', () => {
  test.each([100, 250_000, 1_364_000, -1, undefined])(
    'ttl %s instead of 500,000 -> listed, repaired, and equal again',
    async (ttl) => {
      await using move = await copied();
      await spoil(move, 7, ttl);
      await expect(verifyMove(move, { flags })).resolves.toMatchObject({
        equal: false,
        differences: { different: 1 },
        samples: [{ kind: 'different', id: 'o7', sourceKey: ['c0'], targetKey: ['t2'] }],
        details: { lookedAtAgain: 1 },
      });
      const repaired = await cosmig(move, 'verify', '--repair', '--ttl', 'remaining', '--deadline', '60s');
      expect([repaired.code, repaired.stderr]).toEqual([
        0,
        expect.stringContaining('repairing 1 difference'),
      ]);
      const { resource } = await move.target.item('o7', 't2').read<{ ttl: number }>();
      expect(resource?.ttl).toBeGreaterThan(TTL_S - 600);
      expect(resource?.ttl).toBeLessThanOrEqual(TTL_S);
      await expect(verifyMove(move, { flags })).resolves.toMatchObject({ equal: true });
    },
  );

  test('original expires by the default of its container -> listed', async () => {
    await using move = await copied({ source: { defaultTtl: TTL_S } });
    await spoil(move, 7, 250_000);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'different', id: 'o7' }],
    });
  });

  test('after a clean comparison -> a cutover does not commit it as it is', async () => {
    await using move = await copied();
    await spoil(move, 7, 250_000);
    const run = move.parts();
    const verdicts: unknown[] = [];
    const result = await runCutover(run, {
      ...CUTOVER,
      prove: async (signal, scope) => {
        const found = await compareForCutover(run, { deadlineMs: 60_000, signal, scope });
        verdicts.push([found.equal, found.suspects.length]);
        return found;
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    expect(verdicts).toEqual([
      [false, 1],
      [true, 0],
      // What was written since all documents were compared: the repair.
      [true, 0],
    ]);
    const { resource } = await move.target.item('o7', 't2').read<{ ttl: number }>();
    expect(resource?.ttl).toBeGreaterThan(TTL_S - 600);
  });
});

test('verify: originals never expire, copies do by the default of the target -> all are listed', async () => {
  await using move = await Move.open({ flags, source: ON, target: { defaultTtl: 9000 } });
  await putAll(move, [order(1), order(2), { ...order(3), ttl: -1 }]);
  await move.run('copy');
  await expect(verifyMove(move, { flags })).resolves.toMatchObject({
    equal: false,
    differences: { different: 2 },
    samples: [
      { id: expect.stringMatching(/^o[12]$/) as string },
      { id: expect.stringMatching(/^o[12]$/) as string },
    ],
  });
});

describe('verify: TTL is off in the source and on in the target', () => {
  test.each([
    ['without a default', -1, ['o3']],
    ['with a default', 9000, ['o1', 'o3']],
  ])(
    '%s -> every copy that would expire is listed, and no cutover commits',
    async (_how, defaultTtl, ids) => {
      await using move = await Move.open({ flags, target: { defaultTtl } });
      await putAll(move, [order(1), { ...order(2), ttl: -1 }, { ...order(3), ttl: TTL_S }]);
      await move.run('copy');
      const found = await verifyMove(move, { flags });
      expect([found.equal, found.differences.different]).toEqual([false, ids.length]);
      expect(new Set(found.samples.map(({ id }) => id))).toEqual(new Set(ids));
      // A repair cannot change when the copies expire: the setting of the target is wrong.
      const run = move.parts();
      const cutover = runCutover(run, {
        ...CUTOVER,
        prove: (signal, scope) => compareForCutover(run, { deadlineMs: 60_000, signal, scope }),
      });
      await expect(cutover).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringContaining('not equal'),
      });
    },
  );

  test('no copy expires -> equal', async () => {
    await using move = await Move.open({ flags, target: ON });
    await putAll(move, [order(1), { ...order(2), ttl: -1 }]);
    await move.run('copy');
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({ equal: true });
  });

  test('off in the target too -> a ttl has no effect, and both sides are equal', async () => {
    await using move = await Move.open({ flags });
    await putAll(move, [{ ...order(3), ttl: TTL_S }]);
    await move.run('copy');
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({ equal: true });
  });
});

test.each([
  ['on both sides', TTL_S, { equal: true }],
  // The copy has expired long before its original.
  [
    'in the target only, where another process shortened its time',
    50,
    { equal: false, differences: { missing: 1 }, samples: [{ id: 'o7' }] },
  ],
])(
  'verify: documents expire while they are compared, %s -> nothing false is confirmed',
  async (_where, ttl, expected) => {
    await using move = await copied();
    if (ttl !== TTL_S) await spoil(move, 7, ttl);
    let isAhead: Promise<void> | undefined;
    const verdict = await verifyMove(move, {
      flags,
      deadlineMs: 5000,
      timing: { pageSize: 10 },
      onProgress: ({ source }) => {
        // Within one pass: some documents were read before they expired, and others were not.
        if (source >= 10) isAhead ??= move.admin.clock((ttl + 1) * 1000);
      },
    });
    await isAhead;
    expect(verdict).toMatchObject(expected);
  },
);

test('verify: copy outlives its original -> extra once the original has expired', async () => {
  await using move = await copied();
  await spoil(move, 7, 3 * TTL_S);
  await move.admin.clock((TTL_S + 1) * 1000);
  await expect(verifyMove(move, { flags })).resolves.toMatchObject({
    equal: false,
    differences: { extra: 1, different: 0, missing: 0 },
    samples: [{ kind: 'extra', id: 'o7' }],
  });
});

test('verify: TTL of the source was changed since the migration began -> refused', async () => {
  await using move = await copied();
  const { resource } = await move.source.read();
  await move.source.replace({ ...resource, id: 'orders', defaultTtl: 9000 });
  await expect(verifyMove(move, { flags })).rejects.toThrow(
    "the source container's TTL was changed after the migration began",
  );
});

describe('verify: default TTL of the target', () => {
  const differing = { equal: false, differences: { different: 10 } };
  /** Some expire by their own `ttl`, and ten by the default of their container, which is none. */
  async function copiedBoth(): Promise<Move> {
    const move = await Move.open({ flags, source: ON, target: ON });
    await putAll(
      move,
      Array.from({ length: 14 }, (_, n) => (n < 10 ? order(n) : { ...order(n), ttl: TTL_S })),
    );
    await move.run('copy');
    return move;
  }
  const setDefault = async (move: Move): Promise<void> => {
    const { resource } = await move.target.read();
    await move.target.replace({ ...resource, id: 'by-tenant', defaultTtl: 9000 });
  };

  test('changed after a clean comparison -> all documents are compared again', async () => {
    await using move = await copiedBoth();
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({ equal: true });
    await setDefault(move);
    await expect(verifyMove(move, { flags, level: 'changes' })).resolves.toMatchObject(differing);
  });

  test('changed after a comparison has read a part of the target and was stopped -> it starts from scratch', async () => {
    await using move = await copiedBoth();
    const stop = new AbortController();
    const stopped = verifyMove(move, {
      flags,
      signal: stop.signal,
      timing: { pageSize: 2 },
      onProgress: ({ target }) => {
        if (target > 2) stop.abort(new Error('enough'));
      },
    });
    await expect(stopped).rejects.toThrow('enough');
    await setDefault(move);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject(differing);
  });
});
