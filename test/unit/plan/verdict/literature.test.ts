import { expect, test } from 'vitest';
import {
  currentCandidate,
  parseCandidate,
  planOf,
  type KeyCandidate,
} from '../../../../src/plan/candidates/candidate.ts';
import type { KeyComponent } from '../../../../src/epk/effective-key.ts';
import { valueAt } from '../../../../src/keys/path.ts';
import { hasTimeValues } from '../../../../src/plan/candidates/time-values.ts';
import { dataFigures, writeFigures } from '../../../../src/plan/figures.ts';
import { PageMeasure } from '../../../../src/plan/pass/page-measure.ts';
import type {
  CandidateResult,
  FindingCode,
  Recommendation,
  SourceFigures,
} from '../../../../src/plan/result.ts';
import { exactly } from '../../../../src/plan/sketch/estimate.ts';
import { judge, type Unjudged } from '../../../../src/plan/verdict/findings.ts';
import { recommend } from '../../../../src/plan/verdict/recommend.ts';
import { sized } from '../../../helpers/nightly.ts';
import { cars, feeds, NOW, orders, posts, tenants, type Item } from './literature.ts';

const PAGE = 1000;

function pagesOf(items: readonly Item[]): Buffer[] {
  const pages: Buffer[] = [];
  for (let from = 0; from < items.length; from += PAGE) {
    const documents = items.slice(from, from + PAGE).map((item) => ({ ...item, _rid: 'r', _lsn: 1 }));
    pages.push(Buffer.from(JSON.stringify({ _rid: 'x', Documents: documents, _count: documents.length })));
  }
  return pages;
}

interface Judged {
  readonly recommendation: Recommendation;
  readonly codes: Readonly<Record<string, readonly FindingCode[]>>;
  readonly verdicts: Readonly<Record<string, CandidateResult['verdict']>>;
}

function plan(items: readonly Item[], current: string, texts: readonly string[], partitions = 20): Judged {
  const candidates: KeyCandidate[] = [currentCandidate([current]), ...texts.map(parseCandidate)];
  const parts = candidates.map((candidate) => ({
    plan: planOf(candidate, [current]),
    kind: candidate.paths.length > 1 ? ('multi-hash' as const) : ('hash-v2' as const),
    endTs: NOW,
    show: (values: readonly unknown[]) => values.join(', '),
  }));
  const measure = new PageMeasure(parts, NOW);
  for (const page of pagesOf(items)) measure.take(page, 1);
  const source: SourceFigures = {
    name: 'shop/orders',
    key: current,
    partitions,
    throughput: { kind: 'manual', ru: partitions * 6000 },
    throughputText: '',
    bytes: { estimate: measure.totals.bytes, low: measure.totals.bytes, high: measure.totals.bytes },
    averageBytes: measure.totals.bytes / measure.totals.documents,
    averageTerms: 5,
    defaultTtl: null,
    uniqueKeys: [],
    scripts: null,
    deletes: 'reconcile',
    regions: 1,
    writeRegions: 1,
    writtenTs: { first: measure.totals.firstTs, last: measure.totals.lastTs },
  };
  const documents = measure.totals.documents;
  const figures = {
    partitions,
    all: exactly(documents),
    sample: { share: 1, stretches: 1, documents },
    isWhole: true,
    hasPresentKey: false,
  };
  const unjudged = candidates.map((candidate, at): Unjudged => {
    const found = measure.candidates[at];
    if (found === undefined) throw new Error('each candidate has its measure');
    return {
      ...candidate,
      current: candidate.isCurrent,
      timeValues: hasTimeValues(candidate, valuesOf(candidate, items)),
      data: dataFigures(found, figures),
      writes: writeFigures(found, 10, figures),
      growth: {
        from: '_ts',
        historyDays: 0,
        caution: null,
        bytesPerDay: 0,
        first: null,
        horizonMonths: 12,
        partitionsAtHorizon: partitions,
        ruAtHorizon: 0,
        line: [],
      },
      costs: { migration: null, monthly: null },
      workload: null,
      observed: null,
    };
  });
  const [present] = unjudged;
  if (present === undefined) throw new Error('the present key is a candidate');
  const judged = unjudged.map((one): CandidateResult => ({ ...one, verdict: judge(one, present, source) }));
  return {
    verdicts: Object.fromEntries(judged.map(({ key, verdict }) => [key, verdict])),
    recommendation: recommend(judged, source, documents),
    codes: Object.fromEntries(
      judged.map(({ key, verdict: { blockers, risks } }) => [
        key,
        [...blockers, ...risks].map(({ code }) => code),
      ]),
    ),
  };
}

/** Some values of a key, as a sample has them. */
function valuesOf(candidate: KeyCandidate, items: readonly Item[]): ReadonlyArray<readonly KeyComponent[]> {
  const keys = planOf(candidate, []);
  return items.slice(0, 5).flatMap((item) => {
    const computed = keys.compute(keys.inputs.map((path) => valueAt(item, path)));
    return computed.kind === 'key' ? [computed.values] : [];
  });
}

const SEEDS = sized({ daily: [1], nightly: [1, 2, 3] });

test.each(SEEDS)(
  'tenants, one of them a giant, seed %i -> storage and writes are hot; user is good',
  (seed) => {
    const { recommendation, codes } = plan(tenants(seed), '/tenantId', [
      '/userId',
      '/tenantId,/userId',
      '/id',
    ]);
    expect(codes['/tenantId']).toEqual(['few-values', 'uneven', 'recency']);
    expect(codes['/userId']).toEqual([]);
    expect(recommendation).toMatchObject({ action: 'migrate', key: '/userId' });
    expect(recommendation.why.join('\n')).toMatch(/^now, 70 % of all documents have the value A$/m);
  },
);

test('a derived key with few values -> judged like a property', () => {
  const { codes } = plan(cars(1), '/plant', ['/pk={createdAt|month}', '/pk={createdAt|month},/model']);
  expect(codes['/pk={createdAt|month}']).toEqual(['few-values', 'uneven', 'recency']);
  expect(codes['/pk={createdAt|month},/model']).toEqual(['recency']);
});

test('a template whose properties no document has -> an unknown path', () => {
  expect(plan(cars(1), '/plant', ['/pk={nowhere}']).codes['/pk={nowhere}']).toContain('unknown-path');
});

test.each(SEEDS)('orders, seed %i -> by day hot now, by category few values, by item good', (seed) => {
  const { recommendation, codes } = plan(orders(seed), '/source', [
    '/orderDay',
    '/category',
    '/id',
    '/customerId',
  ]);
  expect(codes['/orderDay']).toEqual(['recency']);
  expect(codes['/category']).toEqual(['few-values', 'uneven']);
  expect(codes['/id']).toEqual([]);
  expect(recommendation).toMatchObject({ action: 'migrate', key: '/customerId' });
});

test.each(SEEDS)(
  'connected cars, seed %i -> by model few, by month hot; device, also with its month, is good',
  (seed) => {
    const candidates = ['/model', '/month', '/deviceId', '/pk={deviceId}-{createdAt|month}'];
    const { recommendation, codes } = plan(cars(seed), '/plant', candidates);
    expect(codes['/model']).toContain('few-values');
    expect(codes['/month']).toEqual(['few-values', 'uneven', 'recency']);
    expect(codes['/deviceId']).toEqual([]);
    expect(codes['/pk={deviceId}-{createdAt|month}']).toEqual([]);
    expect(recommendation).toMatchObject({ action: 'migrate', key: '/deviceId' });
  },
);

test.each(SEEDS)('feeds, seed %i -> by month hot; provider and month, or a unique id, good', (seed) => {
  const candidates = [
    '/month',
    '/pk={provider}-{createdAt|month}',
    '/pk={provider}-{createdAt|quarter}',
    '/guid',
  ];
  const { recommendation, codes } = plan(feeds(seed), '/site', candidates);
  expect(codes['/month']).toContain('recency');
  for (const good of candidates.slice(1)) expect(codes[good]).toEqual([]);
  expect(recommendation.action).toBe('migrate');
  expect(recommendation.key).not.toBe('/month');
});

test.each(SEEDS)('a social timeline, seed %i -> user and month is good, the month alone hot', (seed) => {
  const candidates = ['/pk={userId}-{createdAt|month}', '/pk={createdAt|month}'];
  const { recommendation, codes } = plan(posts(seed), '/network', candidates);
  expect(codes[candidates[0] ?? '']).toEqual([]);
  expect(codes[candidates[1] ?? '']).toContain('recency');
  expect(recommendation).toMatchObject({ action: 'migrate', key: candidates[0] });
});

test.each(SEEDS)('a date, seed %i -> hot; the date with a suffix of 400 is not', (seed) => {
  const suffixed = '/pk={orderDay}-{id|hash:400}';
  const { recommendation, codes } = plan(orders(seed), '/orderDay', [suffixed]);
  expect(codes['/orderDay']).toEqual(['recency']);
  expect(codes[suffixed]).toEqual([]);
  expect(recommendation).toMatchObject({ action: 'migrate', key: suffixed });
});

test('a container below five partitions -> left as it is', () => {
  const { recommendation } = plan(tenants(1), '/tenantId', ['/userId'], 3);
  expect(recommendation.action).toBe('keep');
  expect(recommendation.why.join()).toMatch(/3 physical partitions/);
});

test('a good key -> kept', () => {
  expect(plan(tenants(1), '/userId', ['/tenantId']).recommendation).toMatchObject({ action: 'keep' });
});

test('no candidate is better -> none, with the reason of each', () => {
  const { recommendation } = plan(tenants(1), '/tenantId', ['/nowhere']);
  expect(recommendation.action).toBe('none');
  expect(recommendation.why.join('\n')).toMatch(
    /\/nowhere will not do: no document has a value at this path/,
  );
});

test('a template with a single uneven value -> what is true of its property is true of it', () => {
  const { codes } = plan(tenants(1), '/userId', ['/pk={tenantId|lower}']);
  expect(codes['/pk={tenantId|lower}']).toEqual(['few-values', 'uneven', 'recency']);
});

test.each([
  ['/tenantId,/nowhere', /^no document has a value at every path that this key is made of$/],
  ['/pk={nowhere}-{tenantId}', /^no document has a value at every path that this key is made of$/],
  [
    '/pk={tenantId|month}',
    /^16,000 documents could not be stored with this key: 16,000 with a value that the template cannot use$/,
  ],
])('%s, which no document can have -> a blocker that says why', (key, text) => {
  const { verdicts } = plan(tenants(1), '/tenantId', [key]);
  expect(verdicts[key]?.blockers.map((one) => one.text)).toEqual([expect.stringMatching(text)]);
});

test('no document can have the key -> no gains', () => {
  const key = '/pk={tenantId|month}';
  expect(plan(tenants(1), '/tenantId', [key]).verdicts[key]?.gains).toEqual([]);
});
