/** All versions and deletes: what happened, not what is left of it. */
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { parseJson } from '../helpers/emulator/raw.ts';
import { until } from '../helpers/wait.ts';
import {
  type Doc,
  type Operation,
  type Position,
  type Scope,
  type Version,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { forEachBackend } from './backend.ts';
import { multiHashKey } from '../helpers/emulator/key-definitions.ts';

const SECOND_MS = 1000;
const AVAD = { mode: 'avad' } as const;

async function whole(wire: WireContainer): Promise<Scope> {
  return { rangeId: (await wire.onlyRange()).id };
}

async function versions(wire: WireContainer, from: Position, scope?: Scope): Promise<Version[]> {
  return (await wire.drain<Version>(scope ?? (await whole(wire)), from, AVAD)).items;
}

async function nowOf(wire: WireContainer, scope?: Scope): Promise<{ etag: string }> {
  const page = await wire.feed(scope ?? (await whole(wire)), 'now', AVAD);
  expect(page.status).toBe(304);
  return { etag: page.etag };
}

function idOf(version: Version): string | undefined {
  return version.current?.id ?? version.metadata.id;
}

function summaryOf(all: readonly Version[]): string[] {
  return all.map((version) => `${version.metadata.operationType} ${idOf(version)}`);
}

forEachBackend(
  'all versions and deletes',
  (backend) => {
    it.skipIf(!backend.servesAvad)('creates, replaces and deletes -> one entry each, in order', async () => {
      const { container, wire } = await backend.container();
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p', n: 1 });
      await container.item('a', 'p').replace({ id: 'a', pk: 'p', n: 2 });
      await container.items.upsert({ id: 'a', pk: 'p', n: 3 });
      await container.item('a', 'p').patch([{ op: 'incr', path: '/n', value: 1 }]);
      await container.items.upsert({ id: 'b', pk: 'p' });
      await container.item('a', 'p').delete();
      await container.items.create({ id: 'a', pk: 'p', n: 9 });
      const all = await versions(wire, start);
      expect(summaryOf(all)).toEqual([
        'create a',
        'replace a',
        'replace a',
        'replace a',
        'create b',
        'delete a',
        'create a',
      ]);
      expect(all.map((version) => version.current?.['n'])).toEqual([1, 2, 3, 4, undefined, undefined, 9]);
      // The latest-version feed shows only what is left of all that.
      const latest = await wire.drain(await whole(wire), 'beginning');
      expect(latest.items.map((doc) => doc.id)).toEqual(['b', 'a']);
    });

    it.skipIf(!backend.servesAvad)('an entry -> its time and the previous LSN', async () => {
      const { container, wire } = await backend.container();
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p' });
      await container.item('a', 'p').replace({ id: 'a', pk: 'p', n: 2 });
      await container.item('a', 'p').delete();
      const [created, replaced, deleted] = await versions(wire, start);
      expect(created?.metadata).toMatchObject({
        operationType: 'create',
        lsn: expect.any(Number),
        crts: created?.current?._ts,
      });
      expect(created?.metadata.previousImageLSN ?? 0).toBe(0);
      expect(created?.current).toMatchObject({
        id: 'a',
        pk: 'p',
        _rid: expect.any(String),
        _etag: expect.any(String),
      });
      expect(replaced?.metadata.previousImageLSN).toBe(created?.metadata.lsn);
      expect(deleted?.metadata.previousImageLSN).toBe(replaced?.metadata.lsn);
      expect(Number(deleted?.metadata.lsn)).toBeGreaterThan(Number(replaced?.metadata.lsn));
      expect(Number.isInteger(deleted?.metadata.crts)).toBe(true);
    });

    it.skipIf(!backend.servesAvad)('a delete -> id and key, without a body', async () => {
      const { container, wire } = await backend.container();
      await container.items.create({ id: 'a', pk: 'p', n: 1 });
      const start = await nowOf(wire);
      await container.item('a', 'p').delete();
      const [deleted] = await versions(wire, start);
      expect(Object.keys(deleted?.current ?? {})).toEqual([]);
      expect(deleted?.metadata).toMatchObject({
        operationType: 'delete',
        id: 'a',
        partitionKey: { pk: 'p' },
      });
      expect(deleted?.metadata.timeToLiveExpired ?? false).toBe(false);
    });

    it.skipIf(!backend.servesAvad)('a delete with a hierarchical key -> every level', async () => {
      const { container, wire } = await backend.container({
        partitionKey: multiHashKey('/tenant', '/user'),
      });
      await container.items.create({ id: 'a', tenant: 't', user: 7 });
      const start = await nowOf(wire);
      await container.item('a', ['t', 7]).delete();
      const [deleted] = await versions(wire, start);
      expect(deleted?.metadata).toMatchObject({ id: 'a', partitionKey: { tenant: 't', user: 7 } });
    });

    it.skipIf(backend.live)('an expiry -> an entry when the item is purged, not before', async () => {
      const { container, wire } = await backend.container({ defaultTtl: 30 });
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p' });
      await backend.admin.clock(60 * SECOND_MS);
      expect((await container.item('a', 'p').read()).statusCode).toBe(404);
      expect(summaryOf(await versions(wire, start))).toEqual(['create a']);
      await backend.admin.purgeExpired(wire.adminPath);
      const all = await versions(wire, start);
      expect(summaryOf(all)).toEqual(['create a', 'delete a']);
      expect(all[1]?.metadata).toMatchObject({ timeToLiveExpired: true, partitionKey: { pk: 'p' } });
    });

    it.skipIf(backend.live)('an expiry without a purge request -> an entry after a while', async () => {
      await using lab = await backend.freshLab({ settings: { avad: true, ttlPurgeDelayMs: 0 } });
      const { container, wire } = await lab.container({ defaultTtl: 30 });
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p' });
      await lab.admin.clock(60 * SECOND_MS);
      const all = await until(
        async () => {
          const seen = await versions(wire, start);
          return seen.length === 2 ? seen : undefined;
        },
        { what: 'the background purge' },
      );
      expect(all[1]?.metadata).toMatchObject({ operationType: 'delete', timeToLiveExpired: true });
    });

    it.skipIf(backend.live)('many items expire -> one entry each', async () => {
      const { wire } = await backend.container({ defaultTtl: 30 });
      const start = await nowOf(wire);
      await wire.seed(Array.from({ length: 10 }, (_, n) => ({ id: `d${n}`, pk: `k${n % 3}` })));
      await backend.admin.clock(60 * SECOND_MS);
      await backend.admin.purgeExpired(wire.adminPath);
      const all = await versions(wire, start);
      const expired = all.filter((version) => version.metadata.timeToLiveExpired === true);
      expect(new Set(expired.map(idOf))).toEqual(new Set(Array.from({ length: 10 }, (_, n) => `d${n}`)));
      expect(expired).toHaveLength(10);
    });

    it.skipIf(!backend.servesAvad)(
      'a start now or at an etag -> accepted; from the beginning or a time -> refused',
      async () => {
        const { wire } = await backend.container();
        const scope = await whole(wire);
        const atBeginning = await wire.readFeed(scope, 'beginning', AVAD);
        expect(atBeginning.status).toBe(400);
        expect(parseJson(atBeginning)['message']).toMatch(/retention/i);
        const atTime = await wire.readFeed(scope, 'beginning', { ...AVAD, since: new Date() });
        expect(atTime.status).toBe(400);
      },
    );

    it.skipIf(backend.live)('a position before the retention -> refused', async () => {
      await using lab = await backend.freshLab({ settings: { avad: true, retentionSeconds: 60 } });
      const { container, wire } = await lab.container();
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p' });
      await lab.admin.clock(30 * SECOND_MS);
      expect(summaryOf(await versions(wire, start))).toEqual(['create a']);
      await lab.admin.clock(120 * SECOND_MS);
      const late = await wire.readFeed(await whole(wire), start, AVAD);
      expect(late.status).toBe(400);
      expect(parseJson(late)['message']).toMatch(/retention/i);
      const again = await nowOf(wire);
      await container.items.create({ id: 'b', pk: 'p' });
      expect(summaryOf(await versions(wire, again))).toEqual(['create b']);
    });

    it.skipIf(backend.live)('avad is off -> refused', async () => {
      await using lab = await backend.freshLab({ settings: { avad: false } });
      const { wire } = await lab.container();
      const reply = await wire.readFeed(await whole(wire), 'now', AVAD);
      expect(reply.status).toBe(400);
      expect(parseJson(reply)['message']).toMatch(/must be enabled/i);
      await lab.admin.account({ avad: true });
      expect((await wire.readFeed(await whole(wire), 'now', AVAD)).status).toBe(304);
    });

    it.skipIf(!backend.servesAvad)(
      'a position of the latest-version feed -> refused, and the reverse',
      async () => {
        const { container, wire } = await backend.container();
        const scope = await whole(wire);
        const avad = await nowOf(wire);
        const latest = await wire.feed(scope, 'now');
        await container.items.create({ id: 'a', pk: 'p' });
        await container.item('a', 'p').replace({ id: 'a', pk: 'p', n: 2 });
        expect(summaryOf(await versions(wire, avad))).toEqual(['create a', 'replace a']);
        expect((await wire.drain(scope, { etag: latest.etag })).items.map((doc) => doc.id)).toEqual(['a']);
        expect((await wire.readFeed(scope, avad)).status).toBe(400);
        expect((await wire.readFeed(scope, { etag: latest.etag }, AVAD)).status).toBe(400);
      },
    );

    it.skipIf(!backend.servesAvad)(
      'a page limit within a transaction -> the page ends after it',
      async () => {
        const { wire } = await backend.container();
        const scope = await whole(wire);
        const start = await nowOf(wire);
        const ops = (ids: readonly string[]): Operation[] =>
          ids.map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' } }));
        await wire.seed([{ id: 'x', pk: 'p' }]);
        await wire.batch(ops(['a', 'b', 'c']), ['p']);
        await wire.batch(ops(['d', 'e', 'f']), ['p']);
        const { pages, items } = await wire.drain<Version>(scope, start, { ...AVAD, max: 2 });
        expect(items).toHaveLength(7);
        for (const page of pages) {
          const lsns = new Set(page.items.map((version) => version.metadata.lsn));
          const others = pages.filter((other) => other !== page).flatMap((other) => other.items);
          expect(others.filter((version) => lsns.has(version.metadata.lsn))).toEqual([]);
        }
        expect(new Set(items.map((version) => version.metadata.lsn)).size).toBe(3);
      },
    );

    it.skipIf(!backend.servesAvad)('nothing new -> 304 with an etag', async () => {
      const { container, wire } = await backend.container();
      const scope = await whole(wire);
      const start = await nowOf(wire);
      await container.items.create({ id: 'a', pk: 'p' });
      const page = await wire.feed<Version>(scope, start, AVAD);
      const end = await wire.feed<Version>(scope, { etag: page.etag }, AVAD);
      expect(end.status).toBe(304);
      await container.item('a', 'p').delete();
      expect(summaryOf(await versions(wire, { etag: end.etag }))).toEqual(['delete a']);
    });

    it.skipIf(!backend.servesAvad)('one key or a part of the key space -> only its entries', async () => {
      const { wire } = await backend.container();
      const { rangeId } = await whole(wire);
      const byKey = await nowOf(wire, { key: ['p'] });
      const parts = [
        { rangeId, startEpk: '', endEpk: '2' },
        { rangeId, startEpk: '2', endEpk: 'FF' },
      ];
      const starts = [await nowOf(wire, parts[0]), await nowOf(wire, parts[1])];
      const docs: Doc[] = Array.from({ length: 12 }, (_, n) => ({
        id: `d${n}`,
        pk: n === 0 ? 'p' : `k${n}`,
      }));
      await wire.seed(docs);
      await wire.delete('d0', ['p']);
      expect(summaryOf(await versions(wire, byKey, { key: ['p'] }))).toEqual(['create d0', 'delete d0']);
      const seen: string[] = [];
      for (const [n, part] of parts.entries()) {
        for (const version of await versions(wire, starts[n] ?? 'now', part)) seen.push(idOf(version) ?? '?');
      }
      expect(seen.sort()).toEqual(['d0', ...docs.map((doc) => doc.id)].sort());
    });

    it.skipIf(backend.live)("a split -> the children continue from the parent's position", async () => {
      const { container, wire } = await backend.container();
      const start = await nowOf(wire);
      await wire.seed(Array.from({ length: 12 }, (_, n) => ({ id: `d${n}`, pk: `k${n}` })));
      await container.item('d3', 'k3').delete();
      await backend.admin.split(wire.adminPath);
      await container.item('d4', 'k4').delete();
      const seen: string[] = [];
      for (const range of await wire.ranges())
        seen.push(...summaryOf(await versions(wire, start, { rangeId: range.id })));
      const expected = [...Array.from({ length: 12 }, (_, n) => `create d${n}`), 'delete d3', 'delete d4'];
      expect(seen.sort()).toEqual(expected.sort());
    });

    it.skipIf(!backend.servesAvad)('the SDK -> reads every entry', async () => {
      const { container, wire } = await backend.container();
      const { ChangeFeedMode, ChangeFeedStartFrom } = backend.sdk;
      const iterator = container.items.getChangeFeedIterator<Version>({
        changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
        changeFeedStartFrom: ChangeFeedStartFrom.Now(),
      });
      expect((await iterator.readNext()).statusCode).toBe(304);
      await wire.seed([{ id: 'a', pk: 'p' }]);
      await wire.delete('a', ['p']);
      const page = await iterator.readNext();
      expect(summaryOf(page.result)).toEqual(['create a', 'delete a']);
      const fromBeginning = container.items.getChangeFeedIterator({
        changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
        changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      });
      expect((await failure(fromBeginning.readNext())).code).toBe(400);
    });

    it.skipIf(backend.live)('numbers and names -> as they were written', async () => {
      const { wire } = await backend.container();
      const start = await nowOf(wire);
      const members = '"big":9223372036854775807,"price":1.10,"__proto__":{"x":1},"e":"\\u00e9"';
      await wire.create(`{"id":"a","pk":"p",${members}}`, ['p']);
      const page = await wire.feed(await whole(wire), start, AVAD);
      expect(page.reply.text).toContain(members);
    });
  },
  { avad: true },
);
