import { describe, expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { Move, type MoveOptions, type Order } from '../../helpers/migration/move.ts';

const AVAD: MoveOptions = { settings: { avad: true } };

const order = (id: string, customerId: unknown, tenantId: unknown, more: object = {}): Order => ({
  id,
  customerId,
  tenantId,
  ...more,
});

async function same(move: Move): Promise<void> {
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
}

describe('tail: changes after the copy', () => {
  test('creates, updates and moves -> replicated, and a moved document leaves its old slot', async () => {
    await using move = await Move.open();
    await move.put(order('1', 'a', 'P'), order('2', 'a', 'P'), order('3', 'b', 'Q'));
    await move.run('copy');
    await move.put(order('1', 'a', 'P', { n: 2 }), order('2', 'a', 'R'), order('4', 'c', 'Q'));
    const { documents } = await move.run('catch-up');
    expect(documents).toMatchObject({ written: 3, moved: 1, deadLettered: 0 });
    await same(move);
  });

  test.each([
    ['all versions', true],
    ['latest versions', false],
  ])(
    'the last change is alone on its page, feed of %s -> replicated before the run ends',
    async (_feed, avad) => {
      await using move = await Move.open({ settings: { avad, pageBytes: 2000 } });
      await move.put(order('0', 'a', 'P'));
      await move.run('copy');
      // Whatever fits on a page, one of these has a last page with one change.
      for (let changes = 1; changes <= 8; changes += 1) {
        for (let n = 0; n < changes; n += 1)
          await move.put(order(`${n}`, 'a', 'P', { changes, pad: 'x'.repeat(300) }));
        expect((await move.run('catch-up')).complete).toBe(true);
        await same(move);
      }
    },
  );

  test('a range that has just had changes -> asked again sooner than a quiet one', async () => {
    await using move = await Move.open();
    await move.run('copy');
    await move.put(order('1', 'a', 'P'));
    const drain = new AbortController();
    const committedMs: number[] = [];
    const writing: Promise<void>[] = [];
    const onPoint = (point: CrashPoint): void => {
      if (point !== 'committed') return;
      committedMs.push(performance.now());
      if (committedMs.length === 1) writing.push(move.put(order('2', 'a', 'P')));
      else drain.abort(new Error('both are there'));
    };
    // A range that has just had changes is asked after a quarter of it.
    const timing = { pollMs: 12_000 };
    await expect(move.run('tail', { drain: drain.signal, timing, onPoint })).rejects.toThrow('both');
    await Promise.all(writing);
    expect((committedMs[1] ?? Infinity) - (committedMs[0] ?? 0)).toBeLessThan(11_000);
    await same(move);
  });

  test('deletes that the source reports -> replicated', async () => {
    await using move = await Move.open(AVAD);
    await move.put(order('1', 'a', 'P'), order('2', 'a', 'P'), order('3', 'b', 'Q'));
    await move.run('copy');
    await move.source.item('2', 'a').delete();
    await move.put(order('3', 'b', 'R'));
    await move.source.item('3', 'b').delete();
    const { documents } = await move.run('catch-up');
    expect(documents.deadLettered).toBe(0);
    await same(move);
  });

  test('writes during the copy -> not lost, and no deleted document comes back', async () => {
    await using move = await Move.open({ settings: { avad: true, pageBytes: 2000 } });
    await move.put(...Array.from({ length: 60 }, (_, n) => order(`o${n}`, `c${n % 5}`, `t${n % 3}`)));
    let pages = 0;
    const busy: Promise<unknown>[] = [];
    await move.run('copy', {
      onPoint: (point: CrashPoint) => {
        if (point !== 'page-read' || pages > 10) return;
        pages += 1;
        busy.push(
          move.source.items.upsert(order(`o${pages}`, `c${pages % 5}`, 'moved')),
          move.source.item(`o${59 - pages}`, `c${(59 - pages) % 5}`).delete(),
        );
      },
    });
    await Promise.all(busy);
    await move.run('catch-up');
    expect(busy.length).toBeGreaterThan(4);
    await same(move);
  });

  test('the deleted marker -> the document leaves the target', async () => {
    await using move = await Move.open({ flags: { deletes: ['marker:/deleted'] } });
    await move.put(order('1', 'a', 'P'), order('2', 'a', 'P', { deleted: true }), order('3', 'b', 'Q'));
    await move.run('copy');
    expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['1', '3']);
    await move.put(order('1', 'a', 'P', { deleted: '2026-01-01' }), order('2', 'a', 'P', { deleted: false }));
    await move.run('catch-up');
    expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['2', '3']);
  });
});

describe('tail: two documents for one slot', () => {
  test('the second -> a dead letter, until the first leaves the slot', async () => {
    await using move = await Move.open(AVAD);
    await move.put(order('7', 'a', 'P'), order('7', 'b', 'P'));
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ written: 1, deadLettered: 1 });
    const [letter] = move.ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 10 }));
    expect(letter).toMatchObject({ reason: 'collision', id: '"7"', targetKey: '["P"]' });
    const [held] = await move.documents(move.target);
    await move.source.item('7', String(held?.['customerId'])).delete();
    const { documents } = await move.run('catch-up');
    expect(documents.deadLettered).toBe(0);
    await same(move);
  });

  test('the document of a dead letter gets another slot -> the letter closes', async () => {
    await using move = await Move.open();
    await move.put(order('7', 'a', 'P'), order('7', 'b', 'P'));
    await move.run('copy');
    const [held] = await move.documents(move.target);
    await move.put(order('7', held?.['customerId'] === 'a' ? 'b' : 'a', 'Q'));
    expect((await move.run('catch-up')).documents.deadLettered).toBe(0);
    await same(move);
  });

  test('two documents swap slots -> each ends up in the slot of the other', async () => {
    await using move = await Move.open();
    await move.put(order('7', 'a', 'P'), order('7', 'b', 'Q'));
    await move.run('copy');
    await move.put(order('7', 'a', 'Q'), order('7', 'b', 'P'));
    const { documents } = await move.run('catch-up');
    expect(documents.deadLettered).toBe(0);
    await same(move);
  });

  test('a foreign document in the target -> left as it is', async () => {
    await using move = await Move.open();
    await move.put(order('7', 'a', 'P'));
    await move.run('copy');
    await move.target.items.create({ id: '8', tenantId: 'P', mine: true });
    await move.target.items.create({ id: '9', customerId: 'z', tenantId: 'P', mine: true });
    await move.put(order('8', 'a', 'P'), order('9', 'a', 'P'));
    expect((await move.run('catch-up')).documents.deadLettered).toBe(2);
    const reasons = move
      .ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 9 }))
      .map(({ reason }) => reason);
    expect(reasons).toEqual(['foreign-document', 'foreign-document']);
    expect((await move.documents(move.target)).filter(({ mine }) => mine === true)).toHaveLength(2);
  });

  test('a unique value is taken in the target -> the document waits until it is free', async () => {
    await using move = await Move.open({
      target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
    });
    await move.put(order('1', 'a', 'P', { mail: 'x' }), order('2', 'b', 'P', { mail: 'x' }));
    expect((await move.run('copy')).documents).toMatchObject({ written: 1, deadLettered: 1 });
    const [held] = await move.documents(move.target);
    await move.put({ ...held, mail: 'y' } as Order);
    expect((await move.run('catch-up')).documents.deadLettered).toBe(0);
    await same(move);
  });
});

describe('tail: a crash', () => {
  const points: readonly CrashPoint[] = [
    'anchored',
    'page-read',
    'intended',
    'outcomes-known',
    'committed',
    'takeover-intended',
    'moved',
    'removed',
    'anchor-reached',
    'index-step',
    'letter-retried',
  ];
  test.each(points)('at "%s" -> nothing is lost, and the next run completes it', async (at) => {
    await using move = await Move.open({ settings: { avad: true, pageBytes: 3000 } });
    const all = Array.from({ length: 40 }, (_, n) =>
      order(`o${n % 20}`, `c${n % 7}`, `t${(n % 20) % 3}`, { n }),
    );
    await move.put(...all);
    let struck = 0;
    const runUntil = async (goal: 'copy' | 'catch-up'): Promise<void> => {
      for (let tries = 0; ; tries += 1) {
        const crash = new AbortController();
        let passed = 0;
        try {
          await move.run(goal, {
            abort: crash.signal,
            onPoint: (point) => {
              if (point !== at || tries > 3) return;
              passed += 1;
              if (passed <= tries) return;
              struck += 1;
              crash.abort(new Error('crash'));
            },
          });
          return;
        } catch (error) {
          if (!crash.signal.aborted) throw error;
        }
      }
    };
    await runUntil('copy');
    for (let n = 0; n < 40; n += 1) {
      const { id, customerId } = all[n] as Order;
      if (n % 4 === 0) await move.put(order(id, customerId, `t${(n + 1) % 3}`, { again: n }));
      if (n % 5 === 0)
        await move.source
          .item(id, String(customerId))
          .delete()
          .catch(() => {});
    }
    await runUntil('catch-up');
    const open = move.ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 99 }));
    const waiting = new Set(open.map(({ id, sourceKey }) => `${id}${sourceKey}`));
    const nameOf = ({ id, customerId }: Order): string =>
      `${JSON.stringify(id)}${JSON.stringify([customerId])}`;
    const source = await move.documents(move.source);
    const target = await move.documents(move.target);
    expect(target).toEqual(source.filter((one) => !waiting.has(nameOf(one))));
    expect(open.every(({ reason }) => reason === 'collision')).toBe(true);
    expect(struck).toBeGreaterThan(0);
  });
});
