import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { byDay } from '../../helpers/generated.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { figuresOf, planPass, type PassOrder } from '../../helpers/plan/plan-pass.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { killedPlan } from '../../helpers/process/killed-plan.ts';

const KEYS = ['/tenantId', '/tenantId,/n', '/pk={tenantId}-{day}'];

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n % 150}`,
    customerId: `c${n}`,
    tenantId: n % 3 === 0 ? 'giant' : `t${n % 7}`,
    day: `2026-01-0${1 + (n % 5)}`,
    n,
  }));

async function filled(count: number): Promise<{ readonly move: Move; readonly order: PassOrder }> {
  const move = await Move.open();
  await putAll(move, orders(count));
  return {
    move,
    order: { connectionString: move.connectionString, path: `${move.ledgerPath}-plan`, keys: KEYS },
  };
}

describe('plan: the pass over the source', () => {
  test('all documents -> each counts once, for each candidate', async () => {
    const { move, order } = await filled(300);
    await using _ = move;
    const measured = await planPass(order);
    const { candidates, totals } = measured.measure;
    expect(totals.documents).toBe(300);
    expect(candidates.map(({ documents }) => documents)).toEqual([300, 300, 300, 300]);
    const tenants = new Map<string, number>();
    for (const { tenantId } of orders(300))
      tenants.set(String(tenantId), 1 + (tenants.get(String(tenantId)) ?? 0));
    const [single, , , current] = candidates;
    expect(single?.samples[0]?.distinct()).toEqual({
      estimate: tenants.size,
      low: tenants.size,
      high: tenants.size,
    });
    const [first] = single?.biggest.heaviest(1) ?? [];
    expect(first?.documents).toEqual({ low: tenants.get('giant'), high: tenants.get('giant') });
    const places = new Set(orders(300).map(({ id, tenantId }) => `${id} ${String(tenantId)}`));
    expect(single?.slots.repeats().estimate).toBe(300 - places.size);
    expect(current?.slots.repeats().estimate).toBe(0);
    expect(measured.readRu).toBeGreaterThan(0);
    // Values of keys may be personal data.
    expect(statSync(order.path).mode & 0o777).toBe(0o600);
  });

  test('a range splits in the middle -> as without the split', async () => {
    const { move, order } = await filled(300);
    await using _ = move;
    const truth = figuresOf(await planPass({ ...order, path: `${order.path}-other` }));
    let pages = 0;
    const splits: Array<Promise<void>> = [];
    const measured = await planPass({
      ...order,
      onProgress: () => {
        pages += 1;
        if (pages === 4 || pages === 9) splits.push(move.admin.split('shop/orders'));
      },
    });
    await Promise.all(splits);
    expect(splits.length).toBe(2);
    expect(measured.parts.length).toBeGreaterThan(1);
    expect(figuresOf(measured)).toEqual(truth);
  });

  test.each(byDay([1, 5, 11], { every: 3, from: 1 }))(
    'killed after page %i -> resumes, and finds the same',
    async (killAfter) => {
      const { move, order } = await filled(300);
      await using _ = move;
      const truth = figuresOf(await planPass({ ...order, path: `${order.path}-other` }));
      await killedPlan({ ...order, killAfter }, `${move.ledgerPath}.log`);
      const said: string[] = [];
      let pages = 0;
      const measured = await planPass({
        ...order,
        say: (text) => said.push(text),
        onProgress: () => (pages += 1),
      });
      expect(said).toEqual([expect.stringMatching(/^resuming the plan started at /)]);
      expect(figuresOf(measured)).toEqual(truth);
      // 15 pages and the end of the feed; the page that was in flight may be read again.
      expect(pages).toBeLessThanOrEqual(16 - killAfter + 1);
    },
  );

  test.each(byDay([2, 6], { every: 2, from: 1 }))(
    'a sample is killed after page %i -> resumes at the same positions',
    async (killAfter) => {
      const { move, order } = await filled(1200);
      await using _ = move;
      const sample = { ...order, share: 0.2, seed: 7 };
      const truth = await planPass({ ...sample, path: `${order.path}-other` });
      expect(truth.measure.totals.documents).toBeLessThan(600);
      const { seed: _seed, ...child } = { ...sample, killAfter };
      await killedPlan(child, `${move.ledgerPath}.log`);
      const measured = await planPass({ ...sample, seed: 8 });
      expect(figuresOf(measured)).toEqual(figuresOf(truth));
    },
  );

  test('other candidates, or the container created again -> starts again, and says so', async () => {
    const { move, order } = await filled(40);
    await using _ = move;
    await planPass(order);
    const said: string[] = [];
    const say = (text: string): number => said.push(text);
    await planPass({ ...order, keys: ['/n'], say });
    await move.source.delete();
    await move.client.database('shop').containers.create({ id: 'orders', partitionKey: '/customerId' });
    const empty = await planPass({ ...order, keys: ['/n'], say });
    expect(empty.measure.totals.documents).toBe(0);
    expect(said).toEqual([
      expect.stringMatching(/^starting again: .* of other candidates/),
      expect.stringMatching(/^starting again: .* of another container/),
    ]);
  });

  test('the container is deleted meanwhile -> a plain answer', async () => {
    const { move, order } = await filled(300);
    await using _ = move;
    let deleted: Promise<unknown> | undefined;
    const late = planPass({ ...order, onProgress: () => void (deleted ??= move.source.delete()) });
    await expect(late).rejects.toMatchObject({ message: expect.stringMatching(/shop\/orders/) });
    await deleted;
  });

  test('dearer than --max-ru -> refused before it begins, unless accepted', async () => {
    const { move, order } = await filled(300);
    await using _ = move;
    let pages = 0;
    const dear = { ...order, ruMax: 5, onProgress: () => (pages += 1) };
    await expect(planPass(dear)).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/^reading the source costs about \d+ RU$/),
    });
    expect(pages).toBe(0);
    await expect(planPass({ ...dear, isAccepted: true })).resolves.toBeDefined();
  });

  test('a damaged plan file -> refused, with what to do', async () => {
    const { move, order } = await filled(60);
    await using _ = move;
    await planPass(order);
    const bytes = readFileSync(order.path);
    const at = bytes.lastIndexOf('"documents":60');
    expect(at).toBeGreaterThan(0);
    bytes.write('"documents":61', at);
    writeFileSync(order.path, bytes);
    await expect(planPass(order)).rejects.toMatchObject({
      exitCode: 7,
      hint: expect.stringMatching(/^delete .*-plan and run the same command again/),
    });
  });
});

describe('plan: a sample', () => {
  test('5 % of many documents, after a split -> of the whole feed, and about as many', async () => {
    const { move, order } = await filled(1200);
    await using _ = move;
    await move.admin.split('shop/orders');
    const shares: number[] = [];
    const lasts = new Set<number>();
    for (let seed = 1; seed <= 12; seed += 1) {
      const path = `${order.path}-${seed}`;
      const { measure, parts } = await planPass({ ...order, path, share: 0.1, seed });
      shares.push(measure.totals.documents / 1200);
      for (const { fenceLsn, documents } of parts) if (documents > 0) lasts.add(fenceLsn);
    }
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    expect(mean).toBeGreaterThan(0.08);
    expect(mean).toBeLessThan(0.12);
    // From the beginning of the feed to its end.
    expect(Math.min(...lasts)).toBeLessThan(200);
    expect(Math.max(...lasts)).toBeGreaterThan(1000);
  });

  test('half of a small container -> costs about half of everything', async () => {
    const { move, order } = await filled(1200);
    await using _ = move;
    const timing = { pageSize: 1000 };
    const whole = await planPass({ ...order, path: `${order.path}-all`, timing });
    const half = await planPass({ ...order, share: 0.5, timing });
    expect(half.sample.share).toBe(0.5);
    expect(half.readRu / whole.readRu).toBeLessThan(0.65);
    const read = half.measure.totals.documents;
    expect(half.readRu / read).toBeLessThan((whole.readRu / 1200) * 1.2);
    // Every stretch that has documents is worth its request.
    expect(read / half.sample.stretches).toBeGreaterThan(8);
  });

  test('a sample that would cost as much as everything -> everything is read, also when resumed', async () => {
    const { move, order } = await filled(12);
    await using _ = move;
    const said: string[] = [];
    const say = (text: string): number => said.push(text);
    for (const wanted of ['reading everything, since this sample would cost as much', 'resuming']) {
      const { measure, sample } = await planPass({ ...order, share: 0.9, say });
      expect([sample.share, measure.totals.documents]).toEqual([1, 12]);
      expect(said.pop()).toContain(wanted);
    }
  });
});
