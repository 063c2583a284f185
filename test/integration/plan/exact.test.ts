/** `cosmig plan --exact` on a container whose documents are known: splits, kills, and values that no sketch keeps. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ChangeFeed } from '../../../src/cosmos/feed/feed.ts';
import { wholeOf } from '../../../src/cosmos/feed/ranges.ts';
import { parseCandidate, planOf } from '../../../src/plan/candidates/candidate.ts';
import { countExactly } from '../../../src/plan/exact/count-exactly.ts';
import { ExactEntries } from '../../../src/plan/exact/exact-entries.ts';
import { ExactFile } from '../../../src/plan/exact/exact-file.ts';
import type { MeasureParts } from '../../../src/plan/pass/candidate-measure.ts';
import { PageMeasure } from '../../../src/plan/pass/page-measure.ts';
import { uniqueKeysOf } from '../../../src/plan/unique/unique-values.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { planPass, showPlainly, withSide, type PassOrder } from '../../helpers/plan/plan-pass.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { killedPlan } from '../../helpers/process/killed-plan.ts';

const KEYS = ['/tenantId', '/tenantId,/n', '/pk={tenantId}-{day}', '/id'];
const COUNT = 300;

const orders: readonly Order[] = Array.from({ length: COUNT }, (_, n) => ({
  id: `o${n % 150}`,
  customerId: `c${n}`,
  tenantId: n % 3 === 0 ? 'giant' : `t${n % 7}`,
  day: `2026-01-0${1 + (n % 5)}`,
  mail: `m${n % 40}`,
  n,
}));

async function filled(): Promise<{ readonly move: Move; readonly order: PassOrder }> {
  const move = await Move.open({ source: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } } });
  await putAll(move, [...orders]);
  const { connectionString, ledgerPath } = move;
  return { move, order: { connectionString, path: `${ledgerPath}-plan`, keys: KEYS, exact: true } };
}

const countOf = (tenant: string): number => orders.filter(({ tenantId }) => tenantId === tenant).length;

const keysOf = ({ id, tenantId, n, day }: Order): string[] =>
  [tenantId, JSON.stringify([tenantId, n]), `${String(tenantId)}-${String(day)}`, id].map(String);
const repeated = (texts: readonly string[]): number => texts.length - new Set(texts).size;

/** What a person would count. */
function truth(candidate: number): unknown {
  const keys = orders.map((order) => keysOf(order)[candidate] ?? '');
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  const sizes = [...counts.values()].toSorted((one, other) => other - one);
  return {
    documents: COUNT,
    distinct: counts.size,
    max: sizes[0],
    top10: sizes.slice(0, 10).reduce((sum, size) => sum + size, 0),
    squares: sizes.reduce((sum, size) => sum + size * size, 0),
    collisions: repeated(orders.map(({ id }, at) => `${keys[at] ?? ''} ${id}`)),
    conflicts: repeated(orders.map(({ mail }, at) => `${keys[at] ?? ''} ${String(mail)}`)),
  };
}

async function counted(order: PassOrder): Promise<unknown[]> {
  const { exact } = await planPass(order);
  return (exact ?? []).map(({ documents, distinct, itemsPerKey, top10, squares, collisions, conflicts }) => ({
    documents,
    distinct: distinct.at(-1),
    max: itemsPerKey.max,
    top10,
    squares,
    collisions: collisions.documents,
    conflicts: conflicts[0]?.documents,
  }));
}

const all = (): unknown[] => KEYS.map((_key, candidate) => truth(candidate));

describe('plan --exact', () => {
  test('all documents -> as a person counts them; the file is for its owner, and gone at the end', async () => {
    const { move, order } = await filled();
    await using _ = move;
    const seen: string[] = [];
    const file = `${order.path}-exact`;
    const onProgress = (): void => void seen.push((statSync(file).mode & 0o777).toString(8));
    const found = await counted({ ...order, onProgress });
    expect(found.slice(0, KEYS.length)).toEqual(all());
    expect(new Set(seen)).toEqual(new Set(['600']));
    expect(existsSync(file)).toBe(false);
    // The figures of the finished pass are kept, without reading or counting again.
    let pages = 0;
    expect(await counted({ ...order, onProgress: () => (pages += 1) })).toEqual(found);
    expect([pages, existsSync(file)]).toEqual([0, false]);
  });

  test('values are shown as they are in the documents, which are found again in the feed', async () => {
    const { move, order } = await filled();
    await using _ = move;
    const { exact } = await planPass(order);
    const byCustomer = exact?.at(-1);
    expect(byCustomer?.largest).toHaveLength(10);
    for (const { value, documents } of byCustomer?.largest ?? []) {
      expect(value).toMatch(/^"c\d+"$/);
      expect(documents).toBe(1);
    }
    const [byTenant] = exact ?? [];
    expect(byTenant?.largest[0]).toMatchObject({ value: '"giant"', documents: 100 });
    const { examples } = byTenant?.conflicts[0] ?? { examples: [] };
    expect(examples.length).toBeGreaterThan(0);
    for (const { key, values } of examples)
      expect([key, values]).toEqual([
        expect.stringMatching(/^"(?:giant|t\d)"$/),
        expect.stringMatching(/^"m\d+"$/),
      ]);
  });

  test('texts that no sketch has kept -> read again, unless all documents of the value were changed since', async () => {
    const { move, order } = await filled();
    await using _ = move;
    const signal = new AbortController().signal;
    const texts = ['/tenantId', '/n'];
    await withSide(order, async (side) => {
      using file = new ExactFile(`${order.path}-exact`);
      const uniqueKeys = uniqueKeysOf(side.facts.settings.uniqueKeyPolicy);
      const entries = new ExactEntries(file, { levels: [1, 1], uniqueKeys: 1 }, []);
      const candidates = texts.map((text): MeasureParts => ({
        plan: planOf(parseCandidate(text), side.facts.keyPaths),
        kind: 'hash-v2',
        endTs: 0,
        show: showPlainly,
      }));
      const measure = new PageMeasure(candidates, 0, { uniqueKeys, exact: entries });
      for (const range of side.ranges.list.map(wholeOf)) {
        entries.beginPart(range);
        const mode = 'latest-version';
        const pages = new ChangeFeed(side.requests, { mode, range, pageSize: 50 }).pages('beginning', {
          signal,
          timeoutMs: side.timeoutMs,
          patience: side.patience.fresh(),
        });
        for await (const page of pages) {
          if (page.status === 304) break;
          measure.take(page.bytes, Number.MAX_SAFE_INTEGER);
        }
      }
      entries.unsaved();
      // The range splits, and of the tenants t0 and of the document 7 every document is replaced.
      await move.admin.split('shop/orders');
      const changed = orders.filter(({ tenantId, n }) => tenantId === 't0' || n === 7);
      await Promise.all(changed.map(async (one) => move.source.items.upsert({ ...one, late: 1 })));
      const [byTenant, byNumber] = await countExactly({
        side,
        entries,
        candidates,
        uniqueKeys,
        measures: new PageMeasure(candidates, 0, { uniqueKeys }).candidates,
        canFind: true,
        signal,
      });
      const sizes = new Map(byTenant?.largest.map(({ value, documents }) => [value, documents]));
      expect([...sizes.keys()].toSorted()).toEqual(
        [
          '"giant"',
          ...[1, 2, 3, 4, 5, 6].map((n) => `"t${n}"`),
          '(a value whose documents have changed since)',
        ].toSorted(),
      );
      expect([sizes.get('"giant"'), sizes.get('"t1"')]).toEqual([100, countOf('t1')]);
      expect(byTenant?.collisions.documents).toBeGreaterThan(0);
      expect(byTenant?.collisions.examples.length).toBeGreaterThan(0);
      for (const { id, key } of byTenant?.collisions.examples ?? [])
        expect(
          orders.filter((one) => `"${one.id}"` === id && `"${String(one.tenantId)}"` === key),
        ).toHaveLength(2);
      for (const { id, key, values } of byTenant?.conflicts[0]?.examples ?? []) {
        const same = orders.filter(
          (one) => `"${String(one.tenantId)}"` === key && `"${String(one.mail)}"` === values,
        );
        expect(same.length).toBeGreaterThan(1);
        expect(same.map((one) => `"${one.id}"`)).toContain(id);
      }
      expect(byNumber?.collisions).toEqual({ documents: 0, examples: [] });
    });
  });

  test('a range splits in the middle -> as without the split', async () => {
    const { move, order } = await filled();
    await using _ = move;
    let pages = 0;
    const splits: Array<Promise<void>> = [];
    const found = await counted({
      ...order,
      onProgress: () => {
        pages += 1;
        if (pages === 4 || pages === 9) splits.push(move.admin.split('shop/orders'));
      },
    });
    await Promise.all(splits);
    expect([splits.length, found.slice(0, KEYS.length)]).toEqual([2, all()]);
  });

  test.each([1, 6, 15])(
    'killed after page %i, in the middle of a chunk -> resumes, and counts the same',
    async (killAfter) => {
      const { move, order } = await filled();
      await using _ = move;
      await killedPlan({ ...order, killAfter }, `${move.ledgerPath}.log`);
      // What a write that was cut off would have left behind.
      const file = `${order.path}-exact`;
      if (existsSync(file)) writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.alloc(777, 7)]));
      const said: string[] = [];
      const found = await counted({ ...order, say: (text) => said.push(text) });
      expect(said[0]).toMatch(/^resuming the plan started at /);
      expect(found.slice(0, KEYS.length)).toEqual(all());
    },
  );

  test('another plan is started over it -> its file is removed', async () => {
    const { move, order } = await filled();
    await using _ = move;
    const stop = new AbortController();
    const aborted = planPass({
      ...order,
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('enough')),
    });
    await expect(aborted).rejects.toThrow('enough');
    expect(existsSync(`${order.path}-exact`)).toBe(true);
    await planPass({ ...order, exact: false });
    expect(existsSync(`${order.path}-exact`)).toBe(false);
  });

  test('documents change after they were read -> each counts at most once, and values of others are found', async () => {
    const { move, order } = await filled();
    await using _ = move;
    let pages = 0;
    const changes: Array<Promise<unknown>> = [];
    const { exact, measure } = await planPass({
      ...order,
      onProgress: () => {
        pages += 1;
        if (pages === 5)
          for (const one of orders.slice(0, 60))
            changes.push(move.source.items.upsert({ ...one, late: true }));
      },
    });
    await Promise.all(changes);
    expect(exact?.[0]?.documents).toBe(measure.totals.documents);
    expect(measure.totals.documents).toBeLessThanOrEqual(COUNT);
    for (const { value } of exact?.at(-1)?.largest ?? [])
      expect(value).toMatch(/^"c\d+"$|have changed since/);
  });
});
