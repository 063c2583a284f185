/** The latest-version feed: every surviving document, in the order of its last change, from any position. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { headerOf, parseJson, substatusOf, type Reply } from '../helpers/emulator/raw.ts';
import {
  type Doc,
  type Operation,
  opKey,
  type Scope,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { forEachBackend } from './backend.ts';

const SECOND_MS = 1000;

function ids(docs: readonly { id: string }[]): string[] {
  return docs.map((doc) => doc.id);
}

function docs(...names: string[]): Doc[] {
  return names.map((id) => ({ id, pk: id }));
}

async function whole(wire: WireContainer): Promise<Scope> {
  return { rangeId: (await wire.onlyRange()).id };
}

forEachBackend('feed order', (backend) => {
  it('several changes -> documents in the order of their last change, with LSN', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(docs('a', 'b', 'c', 'd'));
    await container.item('b', 'b').replace({ id: 'b', pk: 'b', n: 2 });
    await container.item('c', 'c').delete();
    const { items } = await wire.drain(await whole(wire), 'beginning');
    expect(ids(items)).toEqual(['a', 'd', 'b']);
    expect(items[2]).toMatchObject({
      n: 2,
      _ts: expect.any(Number),
      _etag: expect.any(String),
      _rid: expect.any(String),
    });
    const lsns = items.map((doc) => Number(doc._lsn));
    expect(lsns).toEqual([...lsns].sort((x, y) => x - y));
    expect(new Set(lsns).size).toBe(3);
    const { resource } = await container.item('b', 'b').read<Doc>();
    expect(resource).not.toHaveProperty('_lsn');
    const { _lsn, ...stored } = items[2] ?? { id: '' };
    expect(stored).toEqual(resource);
    expect(_lsn).toBeGreaterThan(0);
  });

  it('nothing new -> 304 with an etag, without a body', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('a'));
    const page = await wire.feed(scope, 'beginning');
    expect(page.status).toBe(200);
    expect(page.etag).toMatch(/^".+"$/);
    expect(parseJson(page.reply)).toMatchObject({ _rid: expect.any(String), _count: 1 });
    const end = await wire.feed(scope, { etag: page.etag });
    expect(end.status).toBe(304);
    expect(end.reply.text).toBe('');
    expect(end.etag).toMatch(/^".+"$/);
    await wire.seed(docs('b'));
    expect(ids((await wire.drain(scope, { etag: end.etag })).items)).toEqual(['b']);
    expect(ids((await wire.drain(scope, { etag: page.etag })).items)).toEqual(['b']);
  });

  it('an empty container -> 304 with an etag that stays valid', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    const empty = await wire.feed(scope, 'beginning');
    expect(empty.status).toBe(304);
    await wire.seed(docs('a'));
    expect(ids((await wire.drain(scope, { etag: empty.etag })).items)).toEqual(['a']);
  });

  it('a document that was read changes -> it shows again', async () => {
    const { container, wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('a', 'b', 'c'));
    const first = await wire.feed(scope, 'beginning', { max: 1 });
    expect(ids(first.items)).toEqual(['a']);
    await container.items.upsert({ id: 'a', pk: 'a', n: 2 });
    await container.items.upsert({ id: 'c', pk: 'c', n: 2 });
    const rest = await wire.drain(scope, { etag: first.etag });
    expect(ids(rest.items)).toEqual(['b', 'a', 'c']);
  });

  it('the same position twice -> the same page', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('a', 'b', 'c'));
    const { etag } = await wire.feed(scope, 'beginning', { max: 1 });
    const once = await wire.feed(scope, { etag });
    const twice = await wire.feed(scope, { etag });
    expect(twice.items).toEqual(once.items);
    expect(twice.etag).toBe(once.etag);
  });
});

forEachBackend('feed start', (backend) => {
  it('now -> only later changes', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('old'));
    const now = await wire.feed(scope, 'now');
    expect(now.status).toBe(304);
    expect(now.etag).not.toBe('*');
    await wire.seed(docs('new'));
    expect(ids((await wire.drain(scope, { etag: now.etag })).items)).toEqual(['new']);
  });

  it.skipIf(backend.live)('a time -> only later changes', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('old'));
    await backend.admin.clock(60 * SECOND_MS);
    await wire.seed(docs('new'));
    const since = new Date(Date.now() + 30 * SECOND_MS);
    expect(ids((await wire.drain(scope, 'beginning', { since })).items)).toEqual(['new']);
    const everything = await wire.drain(scope, 'beginning', { since: new Date(Date.now() - 60 * SECOND_MS) });
    expect(ids(everything.items)).toEqual(['old', 'new']);
    const future = await wire.feed(scope, 'beginning', { since: new Date(Date.now() + 120 * SECOND_MS) });
    expect(future.status).toBe(304);
  });

  it.skipIf(backend.live)('a time -> exclusive, in whole seconds', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('a'));
    const stored = parseJson<Doc>(await wire.read('a', ['a']));
    const at = new Date(Number(stored._ts) * SECOND_MS);
    expect((await wire.drain(scope, 'beginning', { since: at })).items).toEqual([]);
    const before = new Date(at.getTime() - SECOND_MS);
    expect(ids((await wire.drain(scope, 'beginning', { since: before })).items)).toEqual(['a']);
  });

  it.skipIf(backend.live)('an etag and a time -> the etag counts', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('a', 'b'));
    const first = await wire.feed(scope, 'beginning', { max: 1 });
    const since = new Date(Date.now() + 300 * SECOND_MS);
    expect(ids((await wire.drain(scope, { etag: first.etag }, { since })).items)).toEqual(['b']);
  });

  it('an invalid position -> 400', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    const reply = await wire.readFeed(scope, { etag: '"nonsense"' });
    expect(reply.status).toBe(400);
    expect(parseJson(reply)['message']).toEqual(expect.any(String));
    const badDate = await wire.readFeed(scope, 'beginning', {
      headers: { 'if-modified-since': 'last week' },
    });
    expect(badDate.status).toBe(400);
  });
});

forEachBackend('feed scope', (backend) => {
  it('one logical key -> only its documents', async () => {
    const { wire } = await backend.container();
    await wire.seed([
      { id: '1', pk: 'p' },
      { id: '2', pk: 'q' },
      { id: '3', pk: 'p' },
    ]);
    const { items, etag } = await wire.drain({ key: ['p'] }, 'beginning', { max: 1 });
    expect(ids(items)).toEqual(['1', '3']);
    await wire.seed([
      { id: '4', pk: 'q' },
      { id: '5', pk: 'p' },
    ]);
    expect(ids((await wire.drain({ key: ['p'] }, { etag })).items)).toEqual(['5']);
    const now = await wire.feed({ key: ['p'] }, 'now');
    expect(now.status).toBe(304);
  });

  it('a missing or null key -> only its documents', async () => {
    const { wire } = await backend.container();
    await wire.seed([{ id: '1' }, { id: '2', pk: null }, { id: '3', pk: 'x' }]);
    expect(ids((await wire.drain({ key: [{}] }, 'beginning')).items)).toEqual(['1']);
    expect(ids((await wire.drain({ key: [null] }, 'beginning')).items)).toEqual(['2']);
  });

  it.skipIf(backend.live)('each range -> together all documents, each once', async () => {
    const { wire } = await backend.splitContainer(3);
    const names = Array.from({ length: 30 }, (_, n) => `d${n}`);
    await wire.seed(docs(...names));
    const seen: string[] = [];
    for (const range of await wire.ranges()) {
      seen.push(...ids((await wire.drain({ rangeId: range.id }, 'beginning', { max: 4 })).items));
    }
    expect(seen.sort()).toEqual([...names].sort());
  });
});

forEachBackend('feed pages', (backend) => {
  it('an item limit -> that many documents', async () => {
    const { wire } = await backend.container();
    await wire.seed(docs('a', 'b', 'c', 'd', 'e'));
    const { pages, items } = await wire.drain(await whole(wire), 'beginning', { max: 2 });
    expect(pages.map((page) => page.items.length).filter((count) => count > 0)).toEqual([2, 2, 1]);
    expect(ids(items)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('a limit within a transaction -> the page ends after it', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    await wire.seed(docs('before'));
    const ops = (prefix: string, key?: string): Operation[] =>
      [1, 2, 3, 4, 5].map((n) => ({
        operationType: 'Create',
        resourceBody: { id: `${prefix}${n}`, pk: 'p' },
        ...(key === undefined ? {} : { partitionKey: key }),
      }));
    await wire.batch(ops('batch'), ['p']);
    await wire.bulk(String(scope.rangeId), ops('bulk', opKey('p')));
    await wire.seed(docs('after'));
    const { pages } = await wire.drain(scope, 'beginning', { max: 2 });
    for (const page of pages) {
      const lsns = new Set(page.items.map((doc) => doc._lsn));
      for (const other of pages) {
        if (other === page) continue;
        expect(other.items.filter((doc) => lsns.has(doc._lsn))).toEqual([]);
      }
    }
    expect(pages.flatMap((page) => ids(page.items)).sort()).toEqual(
      ['before', 'after', ...[1, 2, 3, 4, 5].flatMap((n) => [`batch${n}`, `bulk${n}`])].sort(),
    );
    expect(pages.some((page) => page.items.length >= 5)).toBe(true);
  });

  it('no item limit -> at most 4 MB', async () => {
    const { wire } = await backend.container();
    const fill = 'x'.repeat(1_500_000);
    await wire.seed(['a', 'b', 'c', 'd'].map((id) => ({ id, pk: id, fill })));
    const { pages, items } = await wire.drain(await whole(wire), 'beginning', { max: 100 });
    expect(ids(items)).toEqual(['a', 'b', 'c', 'd']);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(page.reply.text.length).toBeLessThan(4.2 * 1024 * 1024);
  });

  it.skipIf(backend.live)('pageBytes -> pages of that size', async () => {
    await using lab = await backend.freshLab({ settings: { pageBytes: 4000 } });
    const { wire } = await lab.container();
    await wire.seed(Array.from({ length: 12 }, (_, n) => ({ id: `d${n}`, pk: 'p', fill: 'x'.repeat(1000) })));
    const { pages, items } = await wire.drain(await whole(wire), 'beginning', { max: 100 });
    expect(items).toHaveLength(12);
    expect(pages.length).toBeGreaterThanOrEqual(3);
  });
});

forEachBackend('feed replicas', (backend) => {
  it('a session token ahead of the range -> 404/1002', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    const written = await wire.create('{"id":"a","pk":"p"}', ['p']);
    const more = headerOf(written, 'x-ms-session-token').replace(
      /^([^#]*#)(\d+)/,
      (_all, before: string, lsn: string) => `${before}${Number(lsn) + 1}`,
    );
    const reply = await wire.readFeed(scope, 'now', { sessionToken: more });
    expect([reply.status, substatusOf(reply)]).toEqual([404, 1002]);
  });

  it('a page -> a session token that a later read may send', async () => {
    const { wire } = await backend.container();
    const scope = await whole(wire);
    const written = await wire.create('{"id":"a","pk":"p"}', ['p']);
    const sessionToken = headerOf(written, 'x-ms-session-token');
    const { items } = await wire.drain(scope, 'beginning', { sessionToken });
    expect(ids(items)).toEqual(['a']);
  });

  it.skipIf(backend.live)(
    'a lag -> the feed ends early without the newest token, never with it',
    async () => {
      await using lab = await backend.freshLab({ settings: { replicaLagMs: 600_000 } });
      const { wire } = await lab.container();
      const scope = await whole(wire);
      const written = await wire.create('{"id":"a","pk":"p"}', ['p']);
      const sessionToken = headerOf(written, 'x-ms-session-token');
      const early = await wire.feed(scope, 'beginning');
      expect(early.status).toBe(304);
      const informed = await wire.feed(scope, 'beginning', { sessionToken });
      expect(ids(informed.items)).toEqual(['a']);
      // The early 304 gave a correct position: resuming there skips nothing.
      expect(ids((await wire.drain(scope, { etag: early.etag }, { sessionToken })).items)).toEqual(['a']);
      await lab.admin.account({ replicaLagMs: 0 });
      expect(ids((await wire.drain(scope, { etag: early.etag })).items)).toEqual(['a']);
    },
  );

  it.skipIf(backend.live)('a start now on a lagging replica -> nothing is skipped later', async () => {
    await using lab = await backend.freshLab({ settings: { replicaLagMs: 600_000 } });
    const { wire } = await lab.container();
    const scope = await whole(wire);
    const now = await wire.feed(scope, 'now');
    const written = await wire.create('{"id":"a","pk":"p"}', ['p']);
    const sessionToken = headerOf(written, 'x-ms-session-token');
    expect(ids((await wire.drain(scope, { etag: now.etag }, { sessionToken })).items)).toEqual(['a']);
  });
});

forEachBackend('feed through the SDK', (backend) => {
  const { ChangeFeedStartFrom, ChangeFeedMode } = backend.sdk;
  const mode = { changeFeedMode: ChangeFeedMode.LatestVersion };

  it('from the beginning -> page by page, resumes from a token', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(docs('a', 'b', 'c'));
    const start = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      maxItemCount: 2,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    });
    const page = await start.readNext();
    expect(ids(page.result)).toEqual(['a', 'b']);
    expect(page.statusCode).toBe(200);
    expect(page.count).toBe(2);
    const resumed = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(page.continuationToken),
    });
    expect(ids((await resumed.readNext()).result)).toEqual(['c']);
    const end = await resumed.readNext();
    expect(end.statusCode).toBe(304);
    expect(end.result).toEqual([]);
    await wire.seed(docs('d'));
    expect(ids((await resumed.readNext()).result)).toEqual(['d']);
  });

  it('from now, for one key or range -> only later changes', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(docs('old'));
    const [range] = await container.getFeedRanges();
    if (range === undefined) throw new Error('no feed range');
    const byRange = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      changeFeedStartFrom: ChangeFeedStartFrom.Now(range),
    });
    const byKey = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      changeFeedStartFrom: ChangeFeedStartFrom.Now('new'),
    });
    expect((await byRange.readNext()).statusCode).toBe(304);
    expect((await byKey.readNext()).statusCode).toBe(304);
    await wire.seed(docs('other', 'new'));
    expect(ids((await byRange.readNext()).result)).toEqual(['other', 'new']);
    expect(ids((await byKey.readNext()).result)).toEqual(['new']);
  });

  it.skipIf(backend.live)('from a time -> sent with every later page', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(docs('old'));
    await backend.admin.clock(60 * SECOND_MS);
    await wire.seed(docs('a', 'b', 'c'));
    const iterator = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      maxItemCount: 1,
      changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(Date.now() + 30 * SECOND_MS)),
    });
    const seen: string[] = [];
    for (;;) {
      const page = await iterator.readNext();
      if (page.statusCode === 304) break;
      seen.push(...ids(page.result));
    }
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('a token of a recreated container -> refused', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(docs('a'));
    const iterator = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    });
    const { continuationToken } = await iterator.readNext();
    await container.delete();
    await backend.lab.database.containers.create({ id: container.id, partitionKey: { paths: ['/pk'] } });
    const resumed = container.items.getChangeFeedIterator<Doc>({
      ...mode,
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
    });
    const error = await failure(resumed.readNext());
    expect(error.code).toBeUndefined();
    expect(error.message).toContain('continuation token');
  });

  it('writes meanwhile -> none is missed', async () => {
    const { container, wire } = await backend.container();
    const scope = await whole(wire);
    const names = Array.from({ length: 60 }, (_, n) => `d${n}`);
    const write = async (mine: readonly string[]): Promise<void> => {
      for (const id of mine) await container.items.upsert({ id, pk: id });
    };
    const progress = { writing: true };
    const writers = Promise.all([write(names.slice(0, 30)), write(names.slice(30))]).finally(() => {
      progress.writing = false;
    });
    const seen = new Set<string>();
    let position: 'beginning' | { etag: string } = 'beginning';
    let last: Reply | undefined;
    while (progress.writing || last?.status !== 304) {
      const page: { etag: string; items: readonly Doc[]; reply: Reply } = await wire.feed(scope, position, {
        max: 5,
      });
      for (const doc of page.items) seen.add(doc.id);
      position = { etag: page.etag };
      last = page.reply;
      await delay(0);
    }
    await writers;
    for (const doc of (await wire.drain(scope, position)).items) seen.add(doc.id);
    expect([...seen].sort()).toEqual([...names].sort());
  });
});
