/** Results of plans as the product makes them, from a small model of a container: values with sizes, hashed somewhere. */
import type { CandidateResult, KeyReason, FindingCode, PlanResult } from '../../../../src/plan/result.ts';
import { exactly } from '../../../../src/plan/sketch/estimate.ts';

export const GB = 1024 ** 3;
const MB = 1024 ** 2;
const END_TS = 1_795_096_000;

/** A value of a key in the model. */
interface ModelValue {
  readonly name: string;
  readonly documents: number;
  readonly writes: number;
}

interface Model {
  readonly key: string;
  readonly values: readonly ModelValue[];
  readonly distinct: number;
  readonly partitions: number;
  readonly bytesEach?: number;
  /** Half the width of the bounds, as a share; 0: exact. */
  readonly doubt?: number;
  readonly growthPerDay?: number;
}

/** A stream of numbers in [0, 1) that is the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function finding(
  code: FindingCode,
  text: string,
  figure: number | null,
  threshold: number | null,
  source: string,
): KeyReason {
  return { code, text, figure, threshold, source };
}

/** Values whose sizes follow a power law, so that the first are the biggest. */
export function values(
  count: number,
  name: (index: number) => string,
  documents: number,
  skew: number,
): ModelValue[] {
  const weights = Array.from({ length: count }, (_none, index) => 1 / (index + 1) ** skew);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight, index) => ({
    name: name(index),
    documents: Math.max(1, Math.round((documents * weight) / sum)),
    writes: Math.max(1, Math.round((documents * 0.02 * weight) / sum)),
  }));
}

function balanceOf(amounts: ReadonlyArray<readonly [position: number, amount: number]>, partitions: number) {
  const sums = Array.from({ length: partitions }, () => 0);
  for (const [position, amount] of amounts) {
    const index = Math.floor(position * partitions);
    sums[index] = (sums[index] ?? 0) + amount;
  }
  const total = sums.reduce((all, sum) => all + sum, 0);
  const shares = sums.map((sum) => (total === 0 ? 0 : sum / total));
  const top = Math.max(...shares);
  return { partitions, top, overAverage: total === 0 ? 1 : top * partitions, shares };
}

export function candidate(model: Model, more: Partial<CandidateResult> = {}): CandidateResult {
  const { key, values: list, distinct, partitions, bytesEach = 1200, doubt = 0, growthPerDay = 0 } = model;
  const next = numbers(key.length * 7919 + list.length);
  const placed = list.map((value) => ({ ...value, position: next() }));
  const documents = list.reduce((all, value) => all + value.documents, 0);
  const writes = list.reduce((all, value) => all + value.writes, 0);
  const bounds = (amount: number) => ({
    low: Math.floor(amount * (1 - doubt)),
    high: Math.ceil(amount * (1 + doubt)),
  });
  const sorted = placed.toSorted((one, other) => other.documents - one.documents);
  const hottest = placed.toSorted((one, other) => other.writes - one.writes)[0];
  const rows = Array.from({ length: 128 }, () => Array.from({ length: 64 }, () => 0));
  for (const { position, writes: many } of placed) {
    const row = rows[Math.floor(position * 128)] ?? [];
    for (let column = 0; column < 64; column += 1) {
      const wave = 0.6 + 0.4 * Math.sin((column / 64) * Math.PI * 4);
      row[column] = (row[column] ?? 0) + Math.round((many / 64) * wave * (0.5 + next()));
    }
  }
  const biggest = sorted[0];
  const biggestBytes = (biggest?.documents ?? 0) * bytesEach;
  const top = (count: number): number =>
    sorted.slice(0, count).reduce((all, value) => all + value.documents, 0) / Math.max(1, documents);
  const reach = (limit: number): string | null => {
    if (growthPerDay === 0) return null;
    const days = Math.max(0, (limit - biggestBytes) / growthPerDay);
    return days > 365 ? null : new Date((END_TS + days * 86_400) * 1000).toISOString().slice(0, 10);
  };
  const recent = (share: number) => ({
    documents: Math.round(writes * share),
    hottest:
      hottest === undefined
        ? null
        : {
            value: hottest.name,
            documents: bounds(Math.round(hottest.writes * share)),
            share: hottest.writes / writes,
          },
  });
  return {
    key,
    paths: key.split(',').map((path) => path.split('=')[0] ?? path),
    derive: key.includes('=') ? [key] : [],
    current: false,
    proposed: null,
    timeValues: false,
    data: {
      documents,
      distinct: doubt === 0 ? exactly(distinct) : { estimate: distinct, ...bounds(distinct) },
      distinctPerLevel: key.includes(',') ? [exactly(400), exactly(distinct)] : [exactly(distinct)],
      largest: sorted.slice(0, 10).map((value) => ({
        value: value.name,
        documents: bounds(value.documents),
        bytes: bounds(value.documents * bytesEach),
        share: value.documents / documents,
      })),
      top1Share: top(1),
      top10Share: top(10),
      effectiveKeys:
        documents === 0 ? 0 : 1 / list.reduce((all, value) => all + (value.documents / documents) ** 2, 0),
      itemsPerKey: {
        p50: sorted[Math.floor(sorted.length / 2)]?.documents ?? 0,
        p95: sorted[Math.floor(sorted.length / 20)]?.documents ?? 0,
        p99: sorted[Math.floor(sorted.length / 100)]?.documents ?? 0,
        max: biggest?.documents ?? 0,
      },
      types: { text: documents, number: 0, boolean: 0, null: 0, missing: 0, object: 0, array: 0 },
      missing: 0,
      missingBounds: { low: 0, high: 0 },
      refused: {},
      refusedBounds: { low: 0, high: 0 },
      collisions: { documents: 0, low: 0, high: 0, exact: doubt === 0, known: true, examples: [] },
      uniqueKeyConflicts: null,
      balance: [1, 2, 4].map((factor) => ({
        bytes: balanceOf(
          placed.map((value) => [value.position, value.documents]),
          partitions * factor,
        ),
        writes: balanceOf(
          placed.map((value) => [value.position, value.writes]),
          partitions * factor,
        ),
      })),
    },
    writes: {
      lastHour: recent(0.05),
      lastDay: recent(1),
      hottestRu: ((hottest?.writes ?? 0) * 0.05 * 10.5) / 36,
      heat: { secondsPerColumn: 1920, endTs: END_TS, rows },
    },
    growth: {
      from: '/createdAt',
      historyDays: 463,
      caution: null,
      bytesPerDay: growthPerDay * 3,
      first:
        biggest === undefined || growthPerDay === 0
          ? null
          : {
              value: biggest.name,
              bytes: biggestBytes,
              bytesPerDay: growthPerDay,
              reaches14Gb: reach(14 * GB),
              reaches20Gb: reach(20 * GB),
            },
      horizonMonths: 12,
      partitionsAtHorizon: partitions * 2,
      ruAtHorizon: 40_000,
      line: Array.from({ length: biggest === undefined ? 0 : 13 }, (_none, month) => [
        new Date((END_TS + month * 30.44 * 86_400) * 1000).toISOString().slice(0, 10),
        documents * bytesEach + growthPerDay * 3 * 30.44 * month,
        biggestBytes + growthPerDay * 30.44 * month,
      ]),
    },
    costs: {
      migration: {
        sourceRu: 1_840_000,
        targetRu: 214_000_000,
        hoursAtPresent: 14.2,
        proposedRu: 40_000,
        hoursAtProposed: 1.6,
        initialPartitions: 8,
        initialRu: 80_000,
        hoursAtInitial: 0.8,
        ledgerBytes: 3.1 * GB,
        dollars: 61.4,
      },
      monthly: { before: 2336, after: 1752, why: 'the hottest partition no longer decides the throughput' },
    },
    workload: null,
    observed: null,
    verdict: { blockers: [], risks: [], gains: [] },
    ...more,
  };
}

export function result(candidates: readonly CandidateResult[], more: Partial<PlanResult> = {}): PlanResult {
  const [present] = candidates;
  const documents = 31_400_000;
  return {
    source: {
      name: 'shop/orders',
      key: present?.key ?? '/id',
      partitions: 6,
      throughput: { kind: 'autoscale', ru: 40_000 },
      throughputText: 'autoscale up to 40,000 RU/s',
      bytes: exactly(35.1 * GB),
      averageBytes: 1200,
      averageTerms: 14,
      defaultTtl: null,
      uniqueKeys: [],
      scripts: { storedProcedures: 2, triggers: 1, functions: 0 },
      deletes: 'reconcile',
      regions: 2,
      writeRegions: 1,
      writtenTs: { first: END_TS - 4e7, last: END_TS },
    },
    complete: true,
    documents: exactly(documents),
    sampled: documents,
    leftOut: { documents: 0, covered: 1 },
    exact: false,
    takenAt: '2026-11-19T13:46:40.000Z',
    readRu: 412_300,
    candidates,
    recommendation: { action: 'keep', why: [], unless: [] },
    workload: null,
    observed: null,
    notes: [],
    ...more,
  };
}

const QUERIES = [
  ['SELECT * FROM c WHERE c.tenantId = @p1 AND c.userId = @p2', 1_840_000],
  ['SELECT * FROM c WHERE c.tenantId = @p1 ORDER BY c.createdAt DESC', 402_000],
  ['SELECT VALUE COUNT(1) FROM c WHERE c.status = @p1', 9200],
  ['SELECT * FROM c WHERE c.id = @p1 AND c.tenantId = @p2 AND c.userId = @p3', 3_100_000],
] as const;

export function workloadOf(
  classes: ReadonlyArray<'point' | 'single-partition' | 'prefix' | 'fan-out'>,
): NonNullable<CandidateResult['workload']> {
  const total = QUERIES.reduce((all, [, executions]) => all + executions, 0);
  const shares = { point: 0, 'single-partition': 0, prefix: 0, 'fan-out': 0 };
  classes.forEach((name, index) => (shares[name] += (QUERIES[index]?.[1] ?? 0) / total));
  return {
    shares,
    unknownShare: 0,
    partitionsVisited: 1 + shares['fan-out'] * 5 + shares.prefix,
    ruPerSecond: 900 + shares['fan-out'] * 12_000,
    dollarsPerMonth: 60 + shares['fan-out'] * 800,
    queries: QUERIES.map(([text, executions], index) => ({
      text,
      executions,
      class: classes[index] ?? 'fan-out',
      isKnown: true,
      why: 'the filter names every level of the key',
    })),
  };
}

/** Tenants A to F, of which one has most of the data: the present key is hot and will be full. */
export function tenants(): PlanResult {
  const list = values(
    400,
    (index) => (index === 0 ? 'Contoso Retail (Tenant A)' : `tenant-${String(index).padStart(4, '0')}`),
    31_400_000,
    1.25,
  );
  const users = values(
    3000,
    (index) => `["Contoso Retail (Tenant A)","user-${70_000 + index * 37}"]`,
    31_400_000,
    0.3,
  );
  const partitions = 6;
  const observed = {
    movesShare: 0,
    brokenBatches: { broken: 0, seen: 1240 },
    hottest: { value: 'Contoso Retail (Tenant A)', writesPerSecond: 412, ruPerSecond: 4460 },
  };
  const present = candidate(
    { key: '/tenantId', values: list, distinct: 400, partitions, bytesEach: 1900, growthPerDay: 41 * MB },
    {
      current: true,
      observed,
      workload: workloadOf(['single-partition', 'single-partition', 'fan-out', 'point']),
      verdict: {
        blockers: [],
        risks: [
          finding(
            'reaches-20-gb',
            'the value Contoso Retail (Tenant A) reaches 20 GB on 2027-02-26',
            15.9 * GB,
            20 * GB,
            "Microsoft's page of service quotas (SVC-7)",
          ),
          finding(
            'uneven',
            '29 % of all documents have the value Contoso Retail (Tenant A)',
            0.29,
            0.1,
            'a tenth: one partition of ten',
          ),
          finding(
            'hot-value',
            'the hottest value needs 7,300 RU/s, and a partition has 6,667',
            7300,
            6667,
            "Microsoft's page of service quotas (SVC-7)",
          ),
        ],
        gains: [],
      },
    },
  );
  return result(
    [
      {
        ...present,
        costs: { migration: null, monthly: { before: 2336, after: 2336, why: 'nothing changes' } },
      },
      candidate(
        {
          key: '/tenantId,/userId',
          values: users,
          distinct: 412_077,
          partitions,
          bytesEach: 1900,
          doubt: 0.004,
          growthPerDay: 0.06 * MB,
        },
        {
          proposed: '/tenantId is skewed, and nearly every query names /userId as well',
          observed,
          workload: workloadOf(['single-partition', 'prefix', 'fan-out', 'point']),
          verdict: {
            blockers: [],
            risks: [],
            gains: [
              finding(
                'even-storage',
                'the biggest value has 0.3 % of all documents instead of 29 %',
                0.003,
                0.1,
                'a tenth: one partition of ten',
              ),
              finding(
                'even-writes',
                "the hottest value gets 0.3 % of the last hour's writes instead of 29 %",
                0.003,
                0.25,
                'a quarter of all writes to one partition',
              ),
              finding(
                'cheaper',
                '584 dollars less a month',
                1752,
                2336,
                'prices of November 2026, West Europe',
              ),
            ],
          },
        },
      ),
      candidate(
        {
          key: '/status',
          values: values(
            5,
            (index) => ['delivered', 'paid', 'open', 'returned', 'draft'][index] ?? '',
            31_400_000,
            1.6,
          ),
          distinct: 5,
          partitions,
          bytesEach: 1900,
          growthPerDay: 74 * MB,
        },
        {
          observed: { ...observed, movesShare: 0.412, brokenBatches: { broken: 1102, seen: 1240 } },
          workload: workloadOf(['fan-out', 'fan-out', 'single-partition', 'fan-out']),
          verdict: {
            blockers: [
              finding(
                'value-over-20-gb',
                'the value delivered has 32.4 GB',
                32.4 * GB,
                20 * GB,
                "Microsoft's page of service quotas (SVC-7)",
              ),
            ],
            risks: [
              finding(
                'few-values',
                'the key has only 5 values',
                5,
                100,
                "Microsoft's page of synthetic partition keys",
              ),
              finding(
                'moves',
                '41 % of all updates would move their document',
                0.412,
                0.01,
                'a move costs two writes',
              ),
              finding(
                'fan-out',
                '99 % of all queries ask every partition',
                0.99,
                0.1,
                "the threshold of Azure's account dashboard",
              ),
            ],
            gains: [],
          },
        },
      ),
      candidate(
        {
          key: '/pk={tenantId}-{createdAt|month}',
          values: values(
            900,
            (index) => `Contoso Retail (Tenant A)-2026-${String((index % 12) + 1).padStart(2, '0')}`,
            31_400_000,
            0.9,
          ),
          distinct: 14_120,
          partitions,
          bytesEach: 1900,
          growthPerDay: 12 * MB,
        },
        {
          proposed: 'a time bucket for /tenantId, which is the best single path and skewed',
          observed,
          workload: workloadOf(['fan-out', 'fan-out', 'fan-out', 'single-partition']),
          verdict: {
            blockers: [],
            risks: [
              finding(
                'recency',
                "34 % of the last hour's writes went to the value Contoso Retail (Tenant A)-2026-11",
                0.34,
                0.25,
                'a quarter of all writes to one partition',
              ),
              finding(
                'fan-out',
                '42 % of all queries ask every partition',
                0.42,
                0.1,
                "the threshold of Azure's account dashboard",
              ),
            ],
            gains: [
              finding(
                'even-storage',
                'the biggest value has 7 % of all documents instead of 29 %',
                0.07,
                0.1,
                'a tenth: one partition of ten',
              ),
            ],
          },
        },
      ),
    ],
    {
      recommendation: {
        action: 'migrate',
        key: '/tenantId,/userId',
        why: [
          'the value Contoso Retail (Tenant A) reaches 20 GB on 2027-02-26 with the present key, and its writes are refused from then on',
          'the biggest value of /tenantId,/userId has 0.3 % of all documents, and no value reaches 14 GB within 12 months',
          'queries that name only the tenant stay on the partitions of that tenant, since it is the prefix of the key',
        ],
        unless: [
          'Contoso Retail (Tenant A) leaves, or its data is deleted after some months',
          'queries that name neither tenant nor user become more than a tenth',
        ],
      },
      observed: { seconds: 600, writes: 84_210, updates: 61_000 },
      workload: {
        file: 'queries-2026-11.csv',
        queries: 4,
        executions: 5_351_200,
        obfuscated: null,
        skipped: 0,
        seconds: 86_400,
        hottestKeys: [{ value: 'Contoso Retail (Tenant A)', ruPerSecond: 4460 }],
        notes: ['queries of the portal are left out'],
      },
      notes: [
        'bytes are those of the documents; the service counts the index as well, which adds about 12 %',
      ],
    },
  );
}

export function emptyContainer(): PlanResult {
  const empty = candidate(
    { key: '/id', values: [], distinct: 0, partitions: 1 },
    { current: true, costs: { migration: null, monthly: null } },
  );
  return result([empty], {
    source: {
      ...result([empty]).source,
      name: 'shop/new',
      partitions: 1,
      throughput: null,
      throughputText: 'serverless',
      bytes: exactly(0),
      averageBytes: 0,
      writtenTs: null,
    },
    documents: exactly(0),
    sampled: 0,
    readRu: 3,
    recommendation: {
      action: 'keep',
      why: ['the container is empty, so nothing can be measured'],
      unless: ['documents arrive'],
    },
  });
}

const LONG = 'a-very-long-property-name-that-some-generator-made-and-that-never-was-shortened';

/** Eight candidates, names and values as long as the service allows, read as a sample, many partitions. */
export function crowded(): PlanResult {
  const keys = [
    '/pk',
    `/${LONG}/${LONG}/${LONG}`,
    '/deviceId',
    '/model',
    '/pk={deviceId}-{createdAt|month}',
    '/region,/deviceId,/id',
    '/日本語のプロパティ',
    '/owner/address/postalCode',
  ];
  const candidates = keys.map((key, index) =>
    candidate(
      {
        key,
        values: values(
          60 + index * 300,
          (at) =>
            index === 1
              ? `${LONG}-${LONG}-${at}`
              : index === 6
                ? `東京都千代田区丸の内-${at}`
                : `${key.length * 31 + at * 17}`,
          9_000_000,
          0.2 + ((index * 5) % 8) / 8,
        ),
        distinct: 60 + index * 300,
        partitions: 48,
        bytesEach: 1024,
        doubt: 0.08,
        growthPerDay: (index + 1) * 3 * MB,
      },
      {
        current: index === 0,
        verdict: {
          blockers: [],
          risks:
            index % 2 === 0
              ? [
                  finding(
                    'recency',
                    `34 % of the last hour's writes went to one value`,
                    0.34,
                    0.25,
                    'a quarter of all writes to one partition',
                  ),
                ]
              : [],
          gains: [],
        },
      },
    ),
  );
  return result(candidates, {
    sampled: 1_570_000,
    leftOut: null,
    documents: { estimate: 31_400_000, low: 31_310_000, high: 31_490_000 },
    recommendation: {
      action: 'migrate',
      key: keys[1] ?? '',
      why: ['its values are the most even'],
      unless: [],
    },
    notes: ['5 % of the pages of each range were read'],
  });
}

/** Texts that try to become markup, to end an attribute, or to reorder what stands around them. */
export const ATTACKS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  "' onmouseover='alert(3)",
  '</style></svg></title><script>alert(4)</script>',
  '\u202Eevil\u2066 \u0000\u001B[31mred\u200B',
  '&lt;b&gt; &amp; ]]> <!-- {{x}} ${y}',
];

export function attacked(): PlanResult {
  const evil = values(ATTACKS.length, (index) => ATTACKS[index] ?? '', 6000, 0.5);
  const key = `/${ATTACKS[1]}`;
  const blocked = {
    blockers: [
      finding('collisions', `6 documents share the key ${ATTACKS.join(' ')}`, 6, 0, ATTACKS[0] ?? ''),
    ],
    risks: [],
    gains: [],
  };
  const present = candidate(
    { key: '/tenantId', values: evil, distinct: 6, partitions: 1 },
    { current: true, workload: workloadOf(['fan-out', 'fan-out', 'fan-out', 'fan-out']) },
  );
  const other = candidate(
    { key, values: evil, distinct: 6, partitions: 1, growthPerDay: MB },
    {
      proposed: ATTACKS.join(' '),
      verdict: blocked,
      workload: workloadOf(['fan-out', 'fan-out', 'fan-out', 'fan-out']),
    },
  );
  const conflicts = {
    documents: 6,
    low: 6,
    high: 6,
    exact: true,
    known: true,
    examples: ATTACKS.map((id) => ({ id, key: id })),
  };
  return result(
    [
      present,
      { ...other, data: { ...other.data, collisions: conflicts, refused: { [ATTACKS[0] ?? '']: 2 } } },
    ],
    {
      source: { ...result([present]).source, name: `shop/${ATTACKS[0]}`, uniqueKeys: [[ATTACKS[2] ?? '']] },
      recommendation: { action: 'none', why: [...ATTACKS], unless: [...ATTACKS] },
      workload: {
        file: ATTACKS[3] ?? '',
        queries: 4,
        executions: 5_351_200,
        obfuscated: ATTACKS[0] ?? '',
        skipped: 3,
        seconds: 3600,
        hottestKeys: ATTACKS.map((value) => ({ value, ruPerSecond: 1 })),
        notes: ATTACKS,
      },
      notes: [...ATTACKS],
      complete: false,
      sampled: 6000,
      documents: exactly(6000),
    },
  );
}

/** A plan with `--exact` and without a workload, whose advice is an index. */
export function exactIndex(): PlanResult {
  const { candidates } = tenants();
  const bare = candidates.slice(0, 2).map((one) => ({ ...one, workload: null, observed: null }));
  return result(bare, {
    exact: true,
    recommendation: {
      action: 'index',
      key: '/tenantId,/userId',
      why: ['only reads by user suffer; storage and writes are even'],
      unless: ['writes by one tenant grow'],
    },
  });
}

export const RESULTS: ReadonlyArray<readonly [name: string, of: () => PlanResult]> = [
  ['tenants', tenants],
  ['empty', emptyContainer],
  ['crowded', crowded],
  ['attacked', attacked],
  ['exact', exactIndex],
];
