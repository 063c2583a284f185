/** Physical ranges: where a key lives, and what happens to readers and writers when ranges change. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import type { OperationInput } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { parseJson, refusalOf, substatusOf } from '../helpers/emulator/raw.ts';
import { until } from '../helpers/wait.ts';
import {
  type Doc,
  epkWindow,
  type Key,
  NONE,
  type OperationResult,
  opKey,
  type PkRange,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { type Backend, forEachBackend, forEachEmulator } from './backend.ts';
import { hashKey, multiHashKey } from '../helpers/emulator/key-definitions.ts';

interface Vector {
  readonly key: Key;
  /** The JSON text of the value in the document; absent means that the property is. */
  readonly text: string | undefined;
  readonly v1: string;
  readonly v2: string;
}

/** The effective keys of fact SDK-7. */
const VECTORS: readonly Vector[] = [
  { key: [''], text: '""', v1: '05C1CF33970FF80800', v2: '32E9366E637A71B4E710384B2F4970A0' },
  { key: ['abc'], text: '"abc"', v1: '05C1ED155F4F7C0862636400', v2: '2424691CC38A7EEF2A65ADE404E1F528' },
  {
    key: ['redmond'],
    text: '"redmond"',
    v1: '05C1EFE313830C087366656E706F6500',
    v2: '22E342F38A486A088463DFF7838A5963',
  },
  {
    key: ['partitionKey'],
    text: '"partitionKey"',
    v1: '05C1E1B3D9CD2608716273756A756A706F4C667A00',
    v2: '013AEFCF77FA271571CF665A58C933F1',
  },
  { key: ['é'], text: '"é"', v1: '05C1B3CD91912008C4AA00', v2: '007199F104E04116EE25AF912CA4889B' },
  {
    key: ['日本'],
    text: '"日本"',
    v1: '05C1DB17971FC408E798A6E79DAD00',
    v2: '2F64A78CFF1F1D412A8B6220090E9767',
  },
  { key: [0], text: '0', v1: '05C1BF6DA115600580', v2: '155B95BEDAC4B1E9EC1CDC9BB0DDDE58' },
  { key: [1], text: '1', v1: '05C1ED172B6B2605BFF0', v2: '20CD98B339BA78A5D0CF6953B87070B0' },
  { key: [-1], text: '-1', v1: '05C1D1A5BDDF9C054010', v2: '19938E7A936C1C5B9E3AE842BBC16839' },
  { key: [5.5], text: '5.5', v1: '05C1D7A771716C05C016', v2: '0E2EE47829D1AF775EEFB6540FD1D0ED' },
  { key: [1e15], text: '1e15', v1: '05C1D32F5B97BC05C30D35FDA563A0', v2: '145AA95CF3F1BE29655E68548FDE6E63' },
  { key: [-128], text: '-128', v1: '05C1D73349F54C053FA0', v2: '01DAEDABF913540367FE219B2AD06148' },
  { key: [127], text: '127', v1: '05C1DD539DDFCC05C05FE0', v2: '0C507ACAC853ECA7977BF4CEFB562A25' },
  {
    key: [2147483647],
    text: '2147483647',
    v1: '05C1E1F503DFB205C1DFFFFFFFFC',
    v2: '2D9349D64712AEB5EB1406E2F0BE2725',
  },
  { key: [true], text: 'true', v1: '05C1D7C5A903D803', v2: '0E711127C5B5A8E4726AC6DD306A3E59' },
  { key: [false], text: 'false', v1: '05C1DB857D857C02', v2: '2FE1BE91E90A3439635E0E9E37361EF2' },
  { key: [null], text: 'null', v1: '05C1ED45D7475601', v2: '378867E4430E67857ACE5C908374FE16' },
  { key: NONE, text: undefined, v1: '05C1D529E345DC00', v2: '11622DAA78F835834610ABE56EFF5CB5' },
  {
    key: ['a'.repeat(101)],
    text: `"${'a'.repeat(101)}"`,
    v1: `05C1EB5921F70608${'62'.repeat(100)}00`,
    v2: '08042541D30C8BF90D7092B1519AE0BC',
  },
  {
    key: ['a'.repeat(100)],
    text: `"${'a'.repeat(100)}"`,
    v1: `05C1EB5921F70608${'62'.repeat(100)}00`,
    v2: '',
  },
];

const MULTI_VECTORS: readonly { body: string; key: Key; epk: string }[] = [
  {
    body: '"a":"tenant1","b":"user1"',
    key: ['tenant1', 'user1', {}],
    epk: '0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B11622DAA78F835834610ABE56EFF5CB5',
  },
  {
    body: '"a":"t","b":1,"c":null',
    key: ['t', 1, null],
    epk: '3B310042FC8EA24E4CB78FD8BFEDBAA720CD98B339BA78A5D0CF6953B87070B0378867E4430E67857ACE5C908374FE16',
  },
];

const TENANT1 = '0DAE0B8467B011E957BC0B8B0DEB5ACA';

function idsOf(docs: readonly { id: string }[]): string[] {
  return docs.map((doc) => doc.id).sort();
}

function numbered(count: number, from = 0): Doc[] {
  return Array.from({ length: count }, (_, n) => ({ id: `d${from + n}`, pk: `k${from + n}` }));
}

function expectTiling(ranges: readonly PkRange[]): void {
  expect(ranges[0]?.minInclusive).toBe('');
  expect(ranges.at(-1)?.maxExclusive).toBe('FF');
  for (const [n, range] of ranges.entries()) {
    expect(range.minInclusive < range.maxExclusive).toBe(true);
    expect(`${range.minInclusive}${range.maxExclusive}`).toMatch(/^[0-9A-F]*$/);
    expect(range.minInclusive).toBe(ranges[n - 1]?.maxExclusive ?? '');
  }
  expect(new Set(ranges.map((range) => range.id)).size).toBe(ranges.length);
}

async function readEverything(wire: WireContainer): Promise<string[]> {
  const ids: string[] = [];
  for (const range of await wire.ranges()) {
    ids.push(...idsOf((await wire.drain({ rangeId: range.id }, 'beginning')).items));
  }
  return ids.sort();
}

describe('placement', () => {
  forEachBackend('hashing', (backend) => {
    it.each([1, 2])('version %i -> every key is where the SDK looks for it', async (version) => {
      const { wire } = await backend.container({
        partitionKey: hashKey('/pk', version),
      });
      const { id: rangeId } = await wire.onlyRange();
      const usable = VECTORS.filter((vector) => version === 1 || vector.v2 !== '');
      for (const [n, { key, text }] of usable.entries()) {
        const body = text === undefined ? `{"id":"v${n}"}` : `{"id":"v${n}","pk":${text}}`;
        expect((await wire.create(body, key)).status, JSON.stringify(key)).toBe(201);
      }
      for (const [n, { key, v1, v2 }] of usable.entries()) {
        const epk = version === 1 ? v1 : v2;
        const { items } = await wire.drain({ rangeId, ...epkWindow(epk) }, 'beginning');
        expect(idsOf(items), JSON.stringify(key)).toContain(`v${n}`);
        // Two keys share a version 1 slot only when their first hundred characters agree.
        const sharing = usable.filter((vector) => (version === 1 ? vector.v1 : vector.v2) === epk);
        expect(items, JSON.stringify(key)).toHaveLength(sharing.length);
      }
    });

    it('a hierarchical key -> the concatenated hashes of its levels', async () => {
      const { wire } = await backend.container({
        partitionKey: multiHashKey('/a', '/b', '/c'),
      });
      const { id: rangeId } = await wire.onlyRange();
      for (const [n, { body, key }] of MULTI_VECTORS.entries()) {
        expect((await wire.create(`{"id":"v${n}",${body}}`, key)).status).toBe(201);
      }
      for (const [n, { epk }] of MULTI_VECTORS.entries()) {
        const { items } = await wire.drain({ rangeId, ...epkWindow(epk) }, 'beginning');
        expect(idsOf(items)).toEqual([`v${n}`]);
      }
      const prefix = { rangeId, startEpk: TENANT1, endEpk: `${TENANT1}FF` };
      expect(idsOf((await wire.drain(prefix, 'beginning')).items)).toEqual(['v0']);
    });

    it('-0 -> the same range as 0', async () => {
      const { wire } = await backend.container();
      const { id: rangeId } = await wire.onlyRange();
      expect((await wire.create('{"id":"z","pk":-0}', [0])).status).toBe(201);
      const zero = epkWindow('155B95BEDAC4B1E9EC1CDC9BB0DDDE58');
      expect(idsOf((await wire.drain({ rangeId, ...zero }, 'beginning')).items)).toEqual(['z']);
    });
  });

  forEachBackend('range map', (backend) => {
    it('one range -> spans the hash space', async () => {
      const { wire } = await backend.container();
      const ranges = await wire.ranges();
      expectTiling(ranges);
      expect(ranges).toHaveLength(1);
    });

    it.skipIf(backend.live)('version 2 -> bounds evenly spaced below 40..', async () => {
      const { wire } = await backend.container({ throughput: 24_000 });
      const ranges = await wire.ranges();
      expectTiling(ranges);
      expect(ranges).toHaveLength(4);
      for (const [n, { minInclusive }] of ranges.slice(1).entries()) {
        expect(minInclusive).toHaveLength(32);
        // The service spaces them over 2^126 - 1, which puts a bound just below the round number.
        const off = BigInt(`0x${minInclusive}`) - BigInt(n + 1) * 2n ** 124n;
        expect(off === 0n || off === -1n).toBe(true);
      }
    });

    it.skipIf(backend.live).each([1, 2])('version %i -> keys spread over all ranges', async (version) => {
      const { container, wire } = await backend.container({
        throughput: 24_000,
        partitionKey: hashKey('/pk', version),
      });
      expectTiling(await wire.ranges());
      const operations = numbered(80).map(
        (resourceBody) => ({ operationType: 'Create', resourceBody }) as OperationInput,
      );
      const results = await container.items.bulk(operations);
      expect(results.every((result) => result.statusCode === 201)).toBe(true);
      const seen: string[] = [];
      for (const range of await wire.ranges()) {
        const { items } = await wire.drain({ rangeId: range.id }, 'beginning');
        expect(items.length, `range ${range.minInclusive}`).toBeGreaterThan(5);
        seen.push(...idsOf(items));
      }
      expect(seen.sort()).toEqual(idsOf(numbered(80)));
    });

    it.skipIf(backend.live)('known effective keys -> in the range that contains them', async () => {
      const { wire } = await backend.container({ throughput: 24_000 });
      const ranges = await wire.ranges();
      for (const [n, { key, text, v2 }] of VECTORS.entries()) {
        if (v2 === '') continue;
        await wire.create(text === undefined ? `{"id":"v${n}"}` : `{"id":"v${n}","pk":${text}}`, key);
      }
      for (const range of ranges) {
        const { items } = await wire.drain({ rangeId: range.id }, 'beginning');
        const expected = VECTORS.flatMap(({ v2 }, n) =>
          v2 !== '' && range.minInclusive <= v2 && v2 < range.maxExclusive ? [`v${n}`] : [],
        );
        expect(idsOf(items)).toEqual(expected.sort());
      }
    });

    it("the list of ranges -> the SDK's feed ranges", async () => {
      const { container, wire } = backend.live ? await backend.container() : await backend.splitContainer(3);
      const offered = await container.getFeedRanges();
      const bounds = (await wire.ranges()).map(({ minInclusive, maxExclusive }) => ({
        minInclusive,
        maxExclusive,
      }));
      expect([...offered].map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))).toEqual(
        bounds,
      );
    });
  });
});

forEachBackend('partial reads', (backend) => {
  const WINDOWS = ['', '0800', '11622DAA78F835834610ABE56EFF5CB5', '2', '33FF', 'FF'];

  it('EPK headers -> disjoint parts of feed and query', async () => {
    const { wire } = await backend.container();
    await wire.seed(numbered(40));
    const { id: rangeId } = await wire.onlyRange();
    const fed: string[] = [];
    const queried: string[] = [];
    let counted = 0;
    for (const [n, startEpk] of WINDOWS.slice(0, -1).entries()) {
      const scope = { rangeId, startEpk, endEpk: WINDOWS[n + 1] };
      fed.push(...idsOf((await wire.drain(scope, 'beginning', { max: 7 })).items));
      const selected = await wire.query('SELECT * FROM c', scope);
      queried.push(...idsOf(parseJson<{ Documents: Doc[] }>(selected).Documents));
      const count = await wire.query('SELECT VALUE COUNT(1) FROM c', scope);
      counted += parseJson<{ Documents: number[] }>(count).Documents[0] ?? 0;
    }
    expect(fed.sort()).toEqual(idsOf(numbered(40)));
    expect(queried.sort()).toEqual(idsOf(numbered(40)));
    expect(counted).toBe(40);
  });

  it('the SDK with a hand-made token -> reads one part from its beginning and resumes there', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(numbered(40));
    const rid = (await container.read()).resource?._rid;
    const seen: string[] = [];
    for (const [minInclusive, maxExclusive] of [
      ['', '1'],
      ['1', '2ABC'],
      ['2ABC', 'FF'],
    ]) {
      const token = JSON.stringify({
        rid,
        Continuation: [{ minInclusive, maxExclusive, continuationToken: '' }],
      });
      const iterator = container.items.getChangeFeedIterator<Doc>({
        changeFeedStartFrom: backend.sdk.ChangeFeedStartFrom.Continuation(token),
        changeFeedMode: backend.sdk.ChangeFeedMode.LatestVersion,
        maxItemCount: 5,
      });
      for (;;) {
        const page = await iterator.readNext();
        if (page.statusCode === 304) break;
        seen.push(...page.result.map((doc) => doc.id));
      }
    }
    expect(seen.sort()).toEqual(idsOf(numbered(40)));
  });

  it('the SDK with initialHeaders -> counts one range', async () => {
    const { container, wire } = backend.live ? await backend.container() : await backend.splitContainer(3);
    await wire.seed(numbered(40));
    let total = 0;
    for (const range of await wire.ranges()) {
      const { resources } = await container.items
        .query<number>('SELECT VALUE COUNT(1) FROM c', {
          initialHeaders: { 'x-ms-documentdb-partitionkeyrangeid': range.id },
        })
        .fetchAll();
      total += resources[0] ?? 0;
    }
    expect(total).toBe(40);
  });

  it('a hierarchical prefix -> scopes feed and query', async () => {
    const { container, wire } = await backend.container({
      partitionKey: multiHashKey('/a', '/b'),
    });
    const docs = Array.from({ length: 12 }, (_, n) => ({ id: `d${n}`, a: `t${n % 3}`, b: n }));
    await wire.seed(docs, (doc) => [doc['a'], doc['b']]);
    const expected = idsOf(docs.filter((doc) => doc.a === 't1'));
    const iterator = container.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: backend.sdk.ChangeFeedStartFrom.Beginning(['t1']),
      changeFeedMode: backend.sdk.ChangeFeedMode.LatestVersion,
    });
    const fed: Doc[] = [];
    for (;;) {
      const page = await iterator.readNext();
      if (page.statusCode === 304) break;
      fed.push(...page.result);
    }
    expect(idsOf(fed)).toEqual(expected);
    const { resources } = await container.items
      .query<Doc>('SELECT * FROM c', { partitionKey: ['t1'] })
      .fetchAll();
    expect(idsOf(resources)).toEqual(expected);
  });

  it('an unknown range -> 410/1002', async () => {
    const { wire } = await backend.container();
    expect(refusalOf(await wire.readFeed({ rangeId: '777' }, 'beginning'))).toBe('410/1002');
    expect(refusalOf(await wire.query('SELECT * FROM c', { rangeId: '777' }))).toBe('410/1002');
  });
});

forEachEmulator('split', (backend) => {
  it('a range is split -> its children tile it and have its documents', async () => {
    const { wire } = await backend.container();
    await wire.seed(numbered(40));
    const parent = await wire.onlyRange();
    await backend.admin.split(wire.adminPath, { rangeId: parent.id });
    const children = await wire.ranges();
    expectTiling(children);
    expect(children.length).toBeGreaterThan(1);
    for (const child of children) {
      expect(child.id).not.toBe(parent.id);
      expect(child.parents).toContain(parent.id);
      expect((await wire.drain({ rangeId: child.id }, 'beginning')).items.length).toBeGreaterThan(0);
    }
    expect(await readEverything(wire)).toEqual(idsOf(numbered(40)));
  });

  it('a request to the parent -> 410/1002', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const { etag } = await wire.feed({ rangeId }, 'now');
    await backend.admin.split(wire.adminPath);
    expect(refusalOf(await wire.readFeed({ rangeId }, 'beginning'))).toBe('410/1002');
    expect(refusalOf(await wire.readFeed({ rangeId }, { etag }))).toBe('410/1002');
    expect(refusalOf(await wire.query('SELECT * FROM c', { rangeId }))).toBe('410/1002');
    const op = {
      operationType: 'Upsert' as const,
      resourceBody: { id: 'a', pk: 'p' },
      partitionKey: opKey('p'),
    };
    expect(refusalOf(await wire.bulk(rangeId, [op]))).toBe('410/1002');
    expect((await wire.read('a', ['p'])).status).toBe(404);
  });

  it('the position of the parent -> each child continues, nothing is missing or repeated', async () => {
    const { wire } = await backend.container();
    await wire.seed(numbered(20));
    const { id: parent } = await wire.onlyRange();
    const first = await wire.feed({ rangeId: parent }, 'beginning', { max: 8 });
    expect(first.items).toHaveLength(8);
    await backend.admin.split(wire.adminPath);
    const rest: string[] = [];
    const ends = new Map<string, string>();
    for (const child of await wire.ranges()) {
      const { items, etag } = await wire.drain({ rangeId: child.id }, { etag: first.etag });
      rest.push(...idsOf(items));
      ends.set(child.id, etag);
    }
    expect([...idsOf(first.items), ...rest].sort()).toEqual(idsOf(numbered(20)));
    await wire.seed(numbered(5, 100));
    const later: string[] = [];
    for (const [rangeId, etag] of ends) later.push(...idsOf((await wire.drain({ rangeId }, { etag })).items));
    expect(later.sort()).toEqual(idsOf(numbered(5, 100)));
  });

  it('a split of a split -> the first position is valid on the grandchildren', async () => {
    const { wire } = await backend.container();
    await wire.seed(numbered(30));
    const { id } = await wire.onlyRange();
    const first = await wire.feed({ rangeId: id }, 'beginning', { max: 10 });
    await backend.admin.split(wire.adminPath);
    const [child] = await wire.ranges();
    await backend.admin.split(wire.adminPath, child === undefined ? {} : { rangeId: child.id });
    const ranges = await wire.ranges();
    expectTiling(ranges);
    const rest: string[] = [];
    for (const range of ranges) {
      rest.push(...idsOf((await wire.drain({ rangeId: range.id }, { etag: first.etag })).items));
    }
    expect([...idsOf(first.items), ...rest].sort()).toEqual(idsOf(numbered(30)));
    for (const range of ranges) expect(range.parents).toContain(id);
  });

  it('requests meanwhile -> 410/1007, afterwards 410/1002', async () => {
    const { wire } = await backend.container();
    await wire.seed(numbered(10));
    const { id: rangeId } = await wire.onlyRange();
    const splitting = backend.admin.send('POST', `containers/${wire.adminPath}/split`, {
      rangeId,
      durationMs: 400,
    });
    const substatuses: number[] = [];
    await until(
      async () => {
        const reply = await wire.readFeed({ rangeId }, 'beginning');
        if (reply.status === 410) substatuses.push(substatusOf(reply));
        return substatuses.at(-1) === 1002;
      },
      { what: 'the end of the split' },
    );
    expect((await splitting).status).toBeLessThan(300);
    expect(substatuses).toContain(1007);
    expect(substatuses).toEqual([...substatuses].sort((a, b) => b - a));
    expect(await readEverything(wire)).toEqual(idsOf(numbered(10)));
  });

  it('requests with a key meanwhile -> 410/1007 too', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([{ id: 'a', pk: 'k' }]);
    const { id: rangeId } = await wire.onlyRange();
    await backend.admin.send('POST', `containers/${wire.adminPath}/split`, { rangeId, durationMs: 60_000 });
    const scope = { key: ['k'] };
    const replies = [
      await wire.read('a', ['k']),
      await wire.upsert('{"id":"a","pk":"k"}', ['k']),
      await wire.query('SELECT * FROM c', scope),
      await wire.readFeed(scope, 'beginning'),
    ];
    expect(replies.map((reply) => `${reply.status}/${substatusOf(reply)}`)).toEqual(
      replies.map(() => '410/1007'),
    );
    await expect(container.deleteAllItemsForPartitionKey('k')).rejects.toMatchObject({ code: 410 });
  });

  it('a client with an old range map -> point reads, bulk, queries and feeds succeed', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(numbered(20));
    const feed = container.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: backend.sdk.ChangeFeedStartFrom.Beginning(),
      changeFeedMode: backend.sdk.ChangeFeedMode.LatestVersion,
      maxItemCount: 5,
    });
    const seen = (await feed.readNext()).result.map((doc) => doc.id);
    await container.items.bulk([{ operationType: 'Read', id: 'd0', partitionKey: 'k0' }]);
    await backend.admin.split(wire.adminPath);

    expect((await container.item('d1', 'k1').read()).statusCode).toBe(200);
    const operations = numbered(20, 20).map(
      (resourceBody) => ({ operationType: 'Create', resourceBody }) as OperationInput,
    );
    const results = await container.items.bulk(operations);
    expect(results.map((result) => result.statusCode)).toEqual(operations.map(() => 201));
    const { resources } = await container.items.query<Doc>('SELECT * FROM c').fetchAll();
    expect(idsOf(resources)).toEqual(idsOf(numbered(40)));
    for (;;) {
      const page = await feed.readNext();
      if (page.statusCode === 304) break;
      seen.push(...page.result.map((doc) => doc.id));
    }
    expect(seen.sort()).toEqual(idsOf(numbered(40)));
  });

  it('writes meanwhile -> none is lost', async () => {
    const { container, wire } = await backend.container();
    const write = async (from: number): Promise<void> => {
      for (let n = from; n < from + 40; n += 1) await container.items.upsert({ id: `d${n}`, pk: `k${n}` });
    };
    const split = async (): Promise<void> => {
      for (let n = 0; n < 3; n += 1) {
        const [range] = await wire.ranges();
        await backend.admin.split(wire.adminPath, range === undefined ? {} : { rangeId: range.id });
      }
    };
    await Promise.all([write(0), write(40), write(80), split()]);
    expectTiling(await wire.ranges());
    expect(await readEverything(wire)).toEqual(idsOf(numbered(120)));
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(120);
  });

  it('an empty container or an unknown range -> harmless or refused', async () => {
    const { wire } = await backend.container();
    await backend.admin.split(wire.adminPath);
    expectTiling(await wire.ranges());
    const unknown = await backend.admin.send('POST', `containers/${wire.adminPath}/split`, {
      rangeId: '999',
    });
    expect([400, 404]).toContain(unknown.status);
    const nowhere = await backend.admin.send('POST', 'containers/no/where/split', {});
    expect(nowhere.status).toBe(404);
  });

  it('a range exceeds rangeLimitBytes -> split automatically', async () => {
    const rangeLimitBytes = 60_000;
    await using lab = await backend.freshLab({ settings: { rangeLimitBytes } });
    const { container, wire } = await lab.container();
    const fill = 'x'.repeat(2000);
    const results: { statusCode: number }[] = [];
    for (let from = 0; from < 80; from += 20) {
      const operations = numbered(20, from).map((doc): OperationInput => ({
        operationType: 'Create',
        resourceBody: { ...doc, fill },
      }));
      results.push(...(await container.items.bulk(operations)));
    }
    expect(results.every((result) => result.statusCode === 201)).toBe(true);
    // One split may lead to the next, and a read in between finds a range gone.
    const areSmall = async (): Promise<boolean> =>
      (await lab.admin.ranges(wire.adminPath)).every(({ bytes }) => bytes <= rangeLimitBytes);
    await until(areSmall, { what: 'the automatic splits' });
    expect((await wire.ranges()).length).toBeGreaterThan(2);
    expectTiling(await wire.ranges());
    expect(await readEverything(wire)).toEqual(idsOf(numbered(80)));
  });
});

forEachEmulator('merge', (backend) => {
  it('two ranges -> one; old positions are valid with EPK headers', async () => {
    const { container, wire } = await backend.splitContainer(2);
    await wire.seed(numbered(30));
    const before = await wire.ranges();
    const positions = new Map<PkRange, { etag: string; ids: string[] }>();
    for (const range of before) {
      const page = await wire.feed({ rangeId: range.id }, 'beginning', { max: 4 });
      positions.set(range, { etag: page.etag, ids: idsOf(page.items) });
    }
    await backend.admin.merge(
      wire.adminPath,
      before.slice(0, 2).map((range) => range.id),
    );
    const after = await wire.ranges();
    expectTiling(after);
    expect(after).toHaveLength(before.length - 1);
    const [merged] = after;
    expect(before.map((range) => range.id)).not.toContain(merged?.id);
    for (const { id } of before.slice(0, 2)) {
      expect(merged?.parents).toContain(id);
      expect(refusalOf(await wire.readFeed({ rangeId: id }, 'beginning'))).toBe('410/1002');
    }
    const seen: string[] = [];
    for (const [range, { etag, ids }] of positions) {
      const home = after.find(
        (each) => each.minInclusive <= range.minInclusive && range.maxExclusive <= each.maxExclusive,
      );
      const scope = { rangeId: home?.id, startEpk: range.minInclusive, endEpk: range.maxExclusive };
      const { items } = await wire.drain(scope, { etag });
      seen.push(...ids, ...idsOf(items));
    }
    expect(seen.sort()).toEqual(idsOf(numbered(30)));
    expect(await readEverything(wire)).toEqual(idsOf(numbered(30)));
    expect((await container.item('d1', 'k1').read()).statusCode).toBe(200);
  });

  it('a feed of the SDK -> continues', async () => {
    const { container, wire } = await backend.splitContainer(2);
    await wire.seed(numbered(20));
    const feed = container.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: backend.sdk.ChangeFeedStartFrom.Beginning(),
      changeFeedMode: backend.sdk.ChangeFeedMode.LatestVersion,
    });
    const drain = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (;;) {
        const page = await feed.readNext();
        if (page.statusCode === 304) return ids.sort();
        ids.push(...page.result.map((doc) => doc.id));
      }
    };
    expect(await drain()).toEqual(idsOf(numbered(20)));
    await backend.admin.merge(
      wire.adminPath,
      (await wire.ranges()).slice(0, 2).map((range) => range.id),
    );
    await wire.seed(numbered(10, 50));
    expect(await drain()).toEqual(idsOf(numbered(10, 50)));
  });

  it('avad is on, or the ranges are not adjacent -> refused', async () => {
    await using lab = await backend.freshLab({ settings: { avad: true } });
    const { wire } = await lab.splitContainer(2);
    const rangeIds = (await wire.ranges()).map((range) => range.id);
    const refused = await lab.admin.send('POST', `containers/${wire.adminPath}/merge`, { rangeIds });
    expect(refused.status).toBe(400);
    expect(parseJson(refused)['message']).toEqual(expect.any(String));

    const three = await backend.splitContainer(3);
    const [first, , third] = await three.wire.ranges();
    const apart = await backend.admin.send('POST', `containers/${three.wire.adminPath}/merge`, {
      rangeIds: [first?.id, third?.id],
    });
    expect(apart.status).toBe(400);
  });
});

describe('misrouted', () => {
  forEachBackend('operations', (backend: Backend) => {
    it.skipIf(backend.live)('a feed of a logical key -> needs no range, and follows a split', async () => {
      const { wire } = await backend.container();
      await wire.seed([
        { id: 'a', pk: 'p' },
        { id: 'b', pk: 'q' },
      ]);
      const { items, etag } = await wire.drain({ key: ['p'] }, 'beginning');
      expect(idsOf(items)).toEqual(['a']);
      await backend.admin.split(wire.adminPath);
      await wire.seed([
        { id: 'c', pk: 'p' },
        { id: 'd', pk: 'q' },
      ]);
      expect(idsOf((await wire.drain({ key: ['p'] }, { etag })).items)).toEqual(['c']);
    });

    it.skipIf(backend.live)('a batch -> needs no range', async () => {
      const { wire } = await backend.splitContainer(3);
      const reply = await wire.batch(
        [{ operationType: 'Create', resourceBody: { id: 'a', pk: 'p' } }],
        ['p'],
      );
      expect(parseJson<OperationResult[]>(reply).map((result) => result.statusCode)).toEqual([201]);
    });

    it('a failed feed of the SDK -> names the status', async () => {
      const { container } = await backend.container();
      await container.delete();
      const iterator = container.items.getChangeFeedIterator();
      expect((await failure(iterator.readNext())).message).not.toBe('');
    });
  });
});
