import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makePlan } from '../../../../src/keys/plan.ts';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { Buckets, BUCKETS } from '../../../../src/verify/pass/buckets.ts';
import { JsonCrossCheck, isSampled } from '../../../../src/verify/pass/json-cross-check.ts';
import { listAll, listCandidates } from '../../../../src/verify/recheck/find-candidates.ts';
import type { RowOptions } from '../../../../src/verify/pass/rows.ts';
import { VerifyStore } from '../../../../src/verify/store.ts';
import { SideSums } from '../../../../src/verify/pass/side-sums.ts';

const PLAN = makePlan({
  sourcePaths: ['/customerId'],
  partitionKey: ['/tenantId'],
  derive: [],
  missingKey: 'keep',
});
const OPTIONS: RowOptions = {
  rekey: { plan: PLAN, kind: 'hash-v2', ttl: { mode: 'restart' } },
  marker: null,
  targetTtl: null,
};
const PAGE_DOCUMENTS = 500;

let folder: string;
let store: VerifyStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-planted-'));
  store = VerifyStore.open(join(folder, 'verify.db'));
  store.begin({
    fingerprint: 'f',
    sourceRid: 's',
    targetRid: 't',
    targetTtl: null,
    beganAtMs: 0,
    extent: 'all',
    isAfterRepair: false,
  });
});
afterEach(() => {
  store[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

/** A document's JSON, with a number that JSON.parse would round. */
const textOf = (n: number): string =>
  `{"id":"o${n}","customerId":"c${n % 997}","tenantId":"t${n % 13}","n":${n},"big":92233720368547${10_000 + (n % 89_999)},"text":"order ${n}"`;

function take(side: 'source' | 'target', texts: readonly string[]): Buckets {
  const tally = new SideSums(side, OPTIONS);
  for (let at = 0; at < texts.length; at += PAGE_DOCUMENTS) {
    const rows = texts
      .slice(at, at + PAGE_DOCUMENTS)
      .map((text, i) => `${text},"_rid":"r","_etag":"\\"${side}\\"","_ts":1700000000,"_lsn":${at + i}}`);
    tally.take(Buffer.from(`{"_rid":"x","Documents":[${rows.join(',')}]}`), texts.length);
    const isDue = (at / PAGE_DOCUMENTS) % 7 === 6 || at + PAGE_DOCUMENTS >= texts.length;
    if (!isDue) continue;
    store.checkpoint(side, {
      parts: [],
      buckets: tally.buckets.view(),
      refused: {},
      longIntegers: 0,
      entries: tally.entries.words,
    });
    tally.entries.clear();
  }
  return new Buckets(store.sums(side)?.buckets);
}

async function listed(source: readonly string[], target: readonly string[]): Promise<string[]> {
  const sums = { source: take('source', source), target: take('target', target) };
  await listCandidates({
    store,
    sums,
    sourceLevels: 1,
    hasInstants: false,
    signal: new AbortController().signal,
  });
  return store.candidates
    .list({ state: 'open', after: Buffer.alloc(0), limit: 1000 })
    .map(({ name }) => JSON.parse(name.id) as string)
    .toSorted();
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const list = [...all];
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    [list[i], list[j]] = [list[j] as T, list[i] as T];
  }
  return list;
}

/** Changes to a target document; an empty list removes it. */
const PLANTED: Readonly<Record<string, (text: string, n: number) => readonly string[]>> = {
  'one flipped byte': (text) => [text.replace('order ', 'orfer ')],
  'a rounded integer': (text) => [text.replace(/"big":(\d+)/, (_all, big: string) => `"big":${Number(big)}`)],
  'a dropped property': (text) => [text.replace(/,"n":\d+/, '')],
  'a stale version': (text, n) => [text.replace(`"n":${n}`, `"n":${n - 1}`)],
  'a duplicate under another key': (text) => [text, text.replace(/"tenantId":"[^"]+"/, '"tenantId":"tX"')],
  'another key': (text) => [text.replace(/"tenantId":"[^"]+"/, '"tenantId":"tX"')],
  'nothing at all': () => [],
  'a space': (text) => [text.replace('{', '{ ')],
};

describe('find candidates: errors planted among many documents', () => {
  const COUNT = 20_000;
  const source = Array.from({ length: COUNT }, (_, n) => textOf(n));

  test('no errors, any order of documents -> no candidates', async () => {
    await expect(listed(source, shuffled(source, seededRandom(1)))).resolves.toEqual([]);
  });

  test.each([
    { how: 'where the scan sees none', more: [] },
    { how: 'also where a side was read again', more: source },
  ])(
    'JSON.parse sees another document, $how -> the whole sample is listed, and nothing else',
    async ({ more }) => {
      const sums = { source: take('source', source), target: take('target', [...source, ...more]) };
      for (let bucket = 0; bucket < BUCKETS; bucket += 1)
        sums.target.addCrossCheck(bucket, new Uint32Array([1, 0, 0, 0]), 0);
      await listCandidates({
        store,
        sums,
        sourceLevels: 1,
        hasInstants: false,
        signal: new AbortController().signal,
      });
      const found = store.candidates.list({ state: 'open', after: Buffer.alloc(0), limit: COUNT });
      const words = found.map(({ identity }) => new Uint32Array(Uint8Array.from(identity).buffer));
      expect(words.every((identity) => isSampled(identity, 0))).toBe(true);
      // One of 256 is looked at so.
      expect(found.length).toBeGreaterThan(COUNT / 512);
    },
  );

  test.each([1, 2, 3])('errors at any position (%i) -> each is found, and nothing else', async (seed) => {
    const random = seededRandom(seed);
    const target = source.map((text) => [text]);
    const expected: string[] = [];
    for (const plant of Object.values(PLANTED)) {
      const n = 1 + random.below(COUNT - 1);
      if (expected.includes(`o${n}`)) continue;
      target[n] = [...plant(textOf(n), n)];
      expected.push(`o${n}`);
    }
    target.push(['{"id":"extra","customerId":"c1","tenantId":"t1"']);
    expected.push('extra');
    await expect(listed(source, shuffled(target.flat(), random))).resolves.toEqual(expected.toSorted());
  });

  test('two changes that compensate each other -> two candidates', async () => {
    const target = [...source];
    target[100] = textOf(100).replace('"n":100', '"n":101');
    target[101] = textOf(101).replace('"n":101', '"n":100');
    await expect(listed(source, target)).resolves.toEqual(['o100', 'o101']);
  });
});

test.each(['source', 'target'] as const)(
  'find candidates: the %s read a document twice -> counted, not a candidate',
  async (side) => {
    const texts = Array.from({ length: 50 }, (_, n) => textOf(n));
    const other = side === 'source' ? 'target' : 'source';
    const again = { [side]: take(side, [...texts, ...texts.slice(20, 27)]), [other]: take(other, texts) };
    const sums = { source: new Buckets(), target: new Buckets(), ...again };
    const repeated = await listCandidates({
      store,
      sums,
      sourceLevels: 1,
      hasInstants: false,
      signal: new AbortController().signal,
    });
    expect(repeated).toEqual({ source: 0, target: 0, [side]: 7 });
    expect(store.candidates.openCount()).toBe(0);
  },
);

test('find candidates: entries lost in a power cut -> noticed', async () => {
  const source = [textOf(1), textOf(2)];
  const sums = { source: take('source', source), target: take('target', [textOf(1), textOf(3)]) };
  truncateSync(join(folder, 'verify.db-runs'), 200);
  const listing = listCandidates({
    store,
    sums,
    sourceLevels: 1,
    hasInstants: false,
    signal: new AbortController().signal,
  });
  await expect(listing).rejects.toThrow('the data of an earlier pass is damaged');
});

test.each([
  { what: 'what differs', list: listCandidates },
  { what: 'all', list: listAll },
])(
  'find candidates: entries that differ from the sums, where $what is listed -> noticed',
  async ({ list }) => {
    const sums = { source: take('source', [textOf(1)]), target: take('target', [textOf(2)]) };
    const path = join(folder, 'verify.db-runs');
    const bytes = readFileSync(path);
    bytes[25] = (bytes[25] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const listing = list({
      store,
      sums,
      sourceLevels: 1,
      hasInstants: false,
      signal: new AbortController().signal,
    });
    await expect(listing).rejects.toThrow('the data of an earlier pass is damaged');
  },
);

describe('find candidates: a candidate', () => {
  test('seen on both sides -> named by all target keys', async () => {
    const moved = textOf(7).replace(/"tenantId":"[^"]+"/, '"tenantId":"tX"');
    await listed([textOf(7)], [moved]);
    const [found] = store.candidates.list({ state: 'open', after: Buffer.alloc(0), limit: 2 });
    expect(found?.name).toEqual({ id: '"o7"', sourceKey: ['"c7"'], targetKeys: [['"tX"'], ['"t7"']] });
  });

  test('key null, missing, or an object, which is the same as missing -> named', async () => {
    const keyed = (key: string): string => `{"id":"a\\n"${key}`;
    await listed([keyed(''), keyed(',"customerId":null'), keyed(',"customerId":{"a":\n1}')], []);
    const names = store.candidates
      .list({ state: 'open', after: Buffer.alloc(0), limit: 9 })
      .map(({ name }) => JSON.stringify(name))
      .toSorted();
    expect(names).toEqual([
      '{"id":"\\"a\\\\n\\"","sourceKey":["null"],"targetKeys":[[null]]}',
      '{"id":"\\"a\\\\n\\"","sourceKey":[null],"targetKeys":[[null]]}',
    ]);
  });
});

describe('JSON cross-check', () => {
  const crossCheck = new JsonCrossCheck('source', OPTIONS.rekey);
  const read = (text: string, who = text): string => {
    const tally = new SideSums('source', OPTIONS);
    tally.take(Buffer.from(`{"Documents":[${who.slice(0, -1)},"_lsn":1}]}`), 1);
    return crossCheck.text(Buffer.from(text), tally.entries.words.slice(1, 5));
  };
  const one = '{"id":"a","customerId":"c","tenantId":"t","n":1}';

  test('other order, spelling or system properties -> the same hash', () => {
    expect(read('{"n":1.0,"tenantId":"\\u0074","_ts":5,"_etag":"x","id":"a","customerId":"c"}')).toBe(
      read(one),
    );
  });

  test('other value, name or shape -> another hash', () => {
    for (const other of [
      one.replace('1', '2'),
      one.replace('"n"', '"m"'),
      one.replace('1', '[1]'),
      one.replace('1', '"1"'),
    ])
      expect(read(other)).not.toBe(read(one));
  });

  test('identity differs from the scan -> error', () => {
    expect(() => read(one.replace('"a"', '"b"'), one)).toThrow('JSON.parse');
    expect(() => read(one.replace('"c"', 'null'), one)).toThrow('JSON.parse');
  });
});
