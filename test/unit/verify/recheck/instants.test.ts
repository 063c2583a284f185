import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makePlan } from '../../../../src/keys/plan.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { Buckets } from '../../../../src/verify/pass/buckets.ts';
import type { RowOptions } from '../../../../src/verify/pass/rows.ts';
import { entriesOf } from '../../../../src/verify/pass/entry-chunks.ts';
import { SideSums } from '../../../../src/verify/pass/side-sums.ts';
import { listCandidates } from '../../../../src/verify/recheck/find-candidates.ts';
import { Instants } from '../../../../src/verify/recheck/instants.ts';
import { VerifyStore } from '../../../../src/verify/store.ts';

const plan = makePlan({
  sourcePaths: ['/customerId'],
  partitionKey: ['/tenantId'],
  derive: [],
  missingKey: 'keep',
});
const optionsOf = (sourceTtl: number, targetTtl: number | null): RowOptions => ({
  rekey: { plan, kind: 'hash-v2', ttl: { mode: 'remaining', defaultTtl: sourceTtl } },
  marker: null,
  targetTtl,
});

let folder: string;
let store: VerifyStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-instants-'));
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

const TS = 1_700_000_000;

interface Document {
  readonly n: number;
  readonly ttl?: number | string | undefined;
  readonly ts?: number;
  readonly more?: string;
}

function sumsOf(side: 'source' | 'target', documents: readonly Document[], options: RowOptions): SideSums {
  const sums = new SideSums(side, options);
  const rows = documents.map(({ n, ttl, ts = TS, more = '' }) => {
    const own = ttl === undefined ? '' : `,"ttl":${ttl}`;
    return `{"id":"o${n}","customerId":"c${n % 997}","tenantId":"t${n % 13}"${own}${more},"_ts":${ts},"_lsn":${n}}`;
  });
  sums.take(Buffer.from(`{"Documents":[${rows.join(',')}]}`), Number.MAX_SAFE_INTEGER);
  return sums;
}

function take(side: 'source' | 'target', documents: readonly Document[], options: RowOptions): Buckets {
  const { buckets, entries } = sumsOf(side, documents, options);
  store.checkpoint(side, {
    parts: [],
    buckets: buckets.view(),
    refused: {},
    longIntegers: 0,
    entries: entries.words,
  });
  return new Buckets(store.sums(side)?.buckets);
}

async function listed(
  source: readonly Document[],
  target: readonly Document[],
  {
    sourceTtl = -1,
    targetTtl = -1,
  }: { readonly sourceTtl?: number; readonly targetTtl?: number | null } = {},
): Promise<string[]> {
  const options = optionsOf(sourceTtl, targetTtl);
  const sums = { source: take('source', source, options), target: take('target', target, options) };
  const { signal } = new AbortController();
  await listCandidates({ store, sums, sourceLevels: 1, hasInstants: true, signal });
  return store.candidates
    .list({ state: 'open', after: Buffer.alloc(0), limit: 10_000 })
    .map(({ name }) => JSON.parse(name.id) as string)
    .toSorted();
}

const source = { n: 1, ttl: 500_000 };
/** Written a second later, with what was left. */
const copy = { n: 1, ttl: 499_999, ts: TS + 1 };

type Case = readonly [
  when: string,
  original: Document,
  copy: Document,
  containers?: { readonly sourceTtl?: number; readonly targetTtl?: number | null },
];

function named(
  cases: readonly Case[],
): { when: string; original: Document; other: Document; containers: Case[3] }[] {
  return cases.map(([when, original, other, containers]) => ({ when, original, other, containers }));
}

describe('find candidates: instants of expiry', () => {
  test.each(
    named([
      ['sooner', source, { ...copy, ttl: 100 }],
      ['at half its time', source, { ...copy, ttl: 250_000 }],
      ['later', source, { ...copy, ttl: 1_364_000 }],
      ['never', source, { ...copy, ttl: -1 }],
      ['never, without a ttl', source, { n: 1, ts: TS + 1 }],
      ['six seconds sooner', source, { ...copy, ttl: copy.ttl - 6 }],
      ['a minute and a second later', source, { ...copy, ttl: copy.ttl + 61 }],
      ['though the original never does', { n: 1 }, { n: 1, ttl: 500_000 }],
      ['though its original says never', { n: 1, ttl: -1 }, { n: 1, ttl: 500_000 }],
      ['later, by the default of the source', { n: 1 }, { ...copy, ttl: 600_000 }, { sourceTtl: 500_000 }],
      ['by the default of the target', { n: 1 }, { n: 1, ts: TS + 1 }, { targetTtl: 500_000 }],
      ['with a ttl of another type', source, { ...copy, ttl: '"499999"' }],
    ]),
  )('the copy expires $when -> a candidate', async ({ original, other, containers }) => {
    await expect(listed([original], [other], containers)).resolves.toEqual(['o1']);
  });

  test.each(
    named([
      ['when the original does', source, copy],
      ['five seconds sooner', source, { ...copy, ttl: copy.ttl - 5 }],
      ['a minute later', source, { ...copy, ttl: copy.ttl + 60 }],
      ['by its own ttl, the original by the default', { n: 1 }, copy, { sourceTtl: 500_000 }],
      ['never, as the original', { n: 1, ttl: -1 }, { n: 1, ttl: -1, ts: TS + 1 }],
      ['only when TTL is switched on, at the right time', source, copy, { targetTtl: null }],
    ]),
  )('the copy expires $when -> not a candidate', async ({ original, other, containers }) => {
    await expect(listed([original], [other], containers)).resolves.toEqual([]);
  });

  test('some of many expire at another time -> each is listed, and nothing else', async () => {
    const random = seededRandom(5);
    const many = Array.from({ length: 20_000 }, (_, n) => ({ n, ttl: 10_000 + (n % 900_000) }));
    const shifts = new Map([
      [3, -6],
      [777, 61],
      [5000, 1_000_000],
      [19_999, -9000],
    ]);
    // Every copy is written at another moment.
    const copies = many.map(({ n, ttl }) => {
      const laterS = random.below(40);
      return { n, ts: TS + laterS, ttl: ttl - laterS + (shifts.get(n) ?? random.below(20)) };
    });
    const expected = [...shifts.keys()].map((n) => `o${n}`).toSorted();
    await expect(listed(many, copies.toReversed())).resolves.toEqual(expected);
  });

  test('in a bucket that also differs otherwise -> both documents are listed', async () => {
    const { entries } = sumsOf(
      'source',
      Array.from({ length: 500 }, (_, n) => ({ n })),
      optionsOf(-1, -1),
    );
    const words = entries.words.slice();
    const all = [...entriesOf({ words, bytes: Buffer.from(words.buffer) }, () => true)];
    const one = all.findIndex(({ bucket }, n) => all.findLastIndex((entry) => entry.bucket === bucket) > n);
    const other = all.findLastIndex(({ bucket }) => bucket === all[one]?.bucket);
    expect(other).toBeGreaterThan(one);
    const originals = [one, other].map((n) => ({ n, ttl: 500_000 }));
    const copies = [
      { n: one, ttl: 100 },
      { n: other, ttl: 500_000, more: ',"x":1' },
    ];
    await expect(listed(originals, copies)).resolves.toEqual([`o${one}`, `o${other}`].toSorted());
  });

  test('read twice, before and after it was written again -> a candidate', async () => {
    const again = { ...source, ts: TS + 1000 };
    await expect(listed([source, again], [copy, copy])).resolves.toEqual(['o1']);
  });
});

test('instants: full table, identities alike in most words -> each is found', () => {
  const count = 256;
  const words = Uint32Array.from({ length: 4 * count }, (_, i) => (i % 4 === 3 ? i : 7));
  const instants = new Instants(count);
  for (let n = 0; n < count; n += 1) expect(instants.add(words, 4 * n, 1000 + 100 * n)).toBe(true);
  for (let n = 0; n < count; n += 1) {
    expect(instants.isNear(words, 4 * n, 1000 + 100 * n)).toBe(true);
    expect(instants.isNear(words, 4 * n, 1000 + 100 * n + 61)).toBe(false);
  }
  expect(instants.isNear(new Uint32Array([7, 7, 7, 1]), 0, 1000)).toBe(false);
});
