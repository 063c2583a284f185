/** The JSON that others script against: each field's presence, name and meaning, in every kind of plan. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAN } from '../../../src/report/json/plan-result.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { typed } from '../../helpers/migration/typed.ts';
import { write } from '../../helpers/migration/tapped.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';

const COUNT = 2400;
/** Ten groups of four documents with one id; most of them have one tenant, and only one of these gets a place. */
const GROUPS = 10;
const orders: readonly Order[] = Array.from({ length: COUNT }, (_none, n) => ({
  id: n < GROUPS * 4 ? `same${n % GROUPS}` : `o${n}`,
  customerId: `c${n}`,
  userId: `u${n % 700}`,
  ...(n % 12 === 11 ? {} : { tenantId: n < GROUPS * 4 ? 'shared' : n % 2 === 0 ? 'big' : `t${n % 90}` }),
}));
const tenants = new Map<string | undefined, number>();
for (const { tenantId } of orders)
  tenants.set(tenantId as string | undefined, 1 + (tenants.get(tenantId as string | undefined) ?? 0));
const missing = orders.filter(({ tenantId }) => tenantId === undefined).length;
const slots = new Set(orders.map(({ id, tenantId }) => `${id} ${String(tenantId)}`));
const KEYS = ['/tenantId', '/tenantId,/userId', '/pk={userId|upper}-{tenantId|default:none}'];

let move: Move;
beforeAll(async () => {
  move = await Move.open({ source: { throughput: 12_000 } });
  await write(move, orders);
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

interface Candidate {
  readonly key: string;
  readonly paths: readonly string[];
  readonly current: boolean;
  readonly distinct: Bounded;
  readonly largest: readonly {
    readonly value: string;
    readonly documents: Bounds;
    readonly bytes: Bounds;
    readonly share: number;
  }[];
  readonly missing: number;
  readonly collisions: Bounds & {
    readonly documents: number;
    readonly exact: boolean;
    readonly examples: readonly { readonly id: string; readonly key: string }[];
  };
  readonly verdict: Readonly<Record<'blockers' | 'risks' | 'gains', readonly { readonly code: string }[]>>;
}
interface Bounds {
  readonly low: number;
  readonly high: number;
}
interface Bounded extends Bounds {
  readonly estimate: number;
}
interface Planned {
  readonly command: string;
  readonly source: unknown;
  readonly complete: boolean;
  readonly documents: number;
  readonly sampled: number;
  readonly exact: boolean;
  readonly candidates: readonly Candidate[];
  readonly notes: readonly string[];
  readonly recommendation: { readonly action: string; readonly why: readonly string[] };
}

const plan = async (...argv: readonly string[]): Promise<Ran> =>
  typed(
    move,
    'plan',
    '--source',
    'shop/orders',
    '--json',
    '--fresh',
    ...KEYS.flatMap((key) => ['--candidate', key]),
    ...argv,
  );

const read = ({ stdout }: Ran): Planned => JSON.parse(stdout) as Planned;
const contains = ({ low, high }: Bounds, truth: number): boolean => low <= truth && truth <= high;

test.each([
  [[]],
  [['--exact']],
  [['--sample', '10%']],
  [['--hash-values']],
  [['--sample', '10%', '--hash-values']],
])('a plan %j -> every field that scripts use, and nothing against its schema', async (argv) => {
  const ran = await plan(...argv);
  expect([ran.code, faultsOf(PLAN.json, JSON.parse(ran.stdout))]).toEqual([0, []]);
  const { command, source, complete, documents, sampled, candidates, notes, recommendation } = read(ran);
  const isSample = argv.includes('--sample');
  expect({ command, complete, documents }).toEqual({ command: 'plan', complete: true, documents: COUNT });
  expect(source).toBeDefined();
  expect(isSample ? sampled > 0 && sampled < COUNT : sampled === COUNT).toBe(true);
  expect(candidates.map(({ key, current }) => [key, current])).toEqual([
    ['/customerId', true],
    ...KEYS.map((key) => [key, false]),
  ]);
  expect(candidates.map(({ paths }) => paths)).toEqual([
    ['/customerId'],
    ['/tenantId'],
    ['/tenantId', '/userId'],
    ['/pk'],
  ]);
  const [present, tenant] = candidates;
  if (present === undefined || tenant === undefined) throw new Error('both are measured');
  expect(present.collisions).toMatchObject({ documents: 0, low: 0, high: 0, exact: true });
  expect(contains(tenant.collisions, COUNT - slots.size)).toBe(true);
  expect(contains(tenant.distinct, tenants.size)).toBe(true);
  expect(tenant.collisions.exact).toBe(!isSample);
  // What --exact does not count is named.
  expect(notes.some((note) => /balance over partitions .* are estimated/.test(note))).toBe(
    argv.includes('--exact'),
  );
  const big = tenant.largest[0];
  if (big === undefined) throw new Error('there is a biggest value');
  expect(contains(big.documents, tenants.get('big') ?? 0)).toBe(true);
  expect(big.value === 'big').toBe(!argv.includes('--hash-values'));
  expect(['migrate', 'keep', 'index', 'none']).toContain(recommendation.action);
  expect(recommendation.why.length).toBeGreaterThan(0);
});

test.each([[[]], [['--exact']]])(
  'all documents, %j -> what the figures mean, to the document',
  async (argv) => {
    const { candidates, exact } = read(await plan(...argv));
    const [, tenant] = candidates;
    if (tenant === undefined) throw new Error('the candidate is measured');
    expect(exact).toBe(true);
    expect(tenant.distinct).toEqual({ estimate: tenants.size, low: tenants.size, high: tenants.size });
    expect(tenant.missing).toBe(missing);
    const big = tenants.get('big') ?? 0;
    expect(tenant.largest[0]).toMatchObject({
      value: 'big',
      documents: { low: big, high: big },
      share: big / COUNT,
    });
    const collided = COUNT - slots.size;
    expect(collided).toBeGreaterThan(GROUPS * 2);
    expect(tenant.collisions).toMatchObject({
      documents: collided,
      low: collided,
      high: collided,
      exact: true,
    });
    expect(tenant.collisions.examples.length).toBeGreaterThan(0);
    expect(tenant.collisions.examples[0]?.id).toMatch(/^same\d$/);
    expect(tenant.verdict.blockers.map(({ code }) => code)).toContain('collisions');
  },
);

test.each([
  [
    'csv',
    'QueryText,Executions\n"SELECT * FROM c WHERE c.tenantId = @t",100\n"SELECT * FROM c WHERE c.n = @',
  ],
  ['json', '[{"QueryText":"SELECT * FROM c WHERE c.tenantId = @t","Executions":100},{"QueryText":"SELE'],
  ['jsonl', '{"QueryText":"SELECT * FROM c WHERE c.tenantId = @t","Executions":100}\n{"QueryText":"SELE'],
  [
    'yaml',
    'queries:\n  - query: SELECT * FROM c WHERE c.tenantId = @t\n    perSecond: 5\n  - query: SELECT * FROM c WHE',
  ],
])(
  'an export as %s that is cut in the middle -> named or refused, never a plan that hides it',
  async (kind, text) => {
    const file = `${move.ledgerPath}.${kind}`;
    writeFileSync(file, text);
    const ran = await typed(
      move,
      'plan',
      '--source',
      'shop/orders',
      '--candidate',
      '/tenantId',
      '--candidate',
      '/userId',
      '--workload',
      file,
    );
    const said = ran.stdout.replaceAll(/\s+/g, ' ') + ran.stderr;
    expect([0, 2]).toContain(ran.code);
    expect(said).toMatch(
      ran.code === 0 ? /1 line could not be read/ : /cut in the middle|entry 2 of queries needs/,
    );
  },
);
