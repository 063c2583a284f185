/** `cosmig plan` from the command line to its page, on a container whose documents are known. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAN } from '../../../src/report/json/plan-result.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { typed } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';

const COUNT = 600;
const orders: readonly Order[] = Array.from({ length: COUNT }, (_none, n) => ({
  id: `o${n}`,
  customerId: n % 10 < 7 ? 'giant' : `c${n % 9}`,
  tenantId: `t${n % 200}`,
  n,
}));

let move: Move;

beforeAll(async () => {
  move = await Move.open({ source: { throughput: 60_000 } });
  await putAll(move, [...orders]);
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

const plan = async (...argv: readonly string[]): Promise<Ran> =>
  typed(move, 'plan', '--source', 'shop/orders', ...argv);

interface Planned {
  readonly documents: number;
  readonly complete: boolean;
  readonly candidates: readonly {
    readonly key: string;
    readonly current: boolean;
    readonly proposed: string | null;
    readonly distinct: { readonly estimate: number };
    readonly collisions: { readonly documents: number };
    readonly largest: readonly { readonly value: string; readonly share: number }[];
    readonly verdict: Readonly<Record<'blockers' | 'risks' | 'gains', readonly { readonly code: string }[]>>;
  }[];
  readonly recommendation: { readonly action: string; readonly key?: string };
}

const read = ({ stdout }: Ran): Planned => JSON.parse(stdout) as Planned;

test('plan: a candidate that the operator names -> measured next to the present key, and recommended', async () => {
  const ran = await plan('--candidate', '/tenantId', '--fresh', '--json');
  expect([ran.code, faultsOf(PLAN.json, JSON.parse(ran.stdout))]).toEqual([0, []]);
  const { documents, complete, candidates, recommendation } = read(ran);
  expect([documents, complete]).toEqual([COUNT, true]);
  expect(candidates.map(({ key, current }) => [key, current])).toEqual([
    ['/customerId', true],
    ['/tenantId', false],
  ]);
  expect(candidates.map(({ distinct }) => distinct.estimate)).toEqual([
    new Set(orders.map(({ customerId }) => customerId)).size,
    200,
  ]);
  expect(candidates[0]?.largest[0]).toMatchObject({ value: 'giant', share: 0.7 });
  expect(candidates[0]?.verdict.risks.map(({ code }) => code)).toEqual(['few-values', 'uneven', 'recency']);
  expect(candidates[1]?.collisions.documents).toBe(0);
  expect(recommendation).toMatchObject({ action: 'migrate', key: '/tenantId' });
});

test('plan: no candidates -> some are proposed, each with its reason; a page is written for its owner only', async () => {
  const page = join(dirname(move.ledgerPath), 'plan.html');
  const ran = await plan('--fresh', '--report', page);
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('/tenantId')]);
  expect(ran.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(readFileSync(page, 'utf8')).toMatch(/<h1>Which partition key for /);
  expect((statSync(page).mode & 0o777).toString(8)).toBe('600');
});

test('plan: run again -> the figures of the finished pass, without reading again', async () => {
  await plan('--candidate', '/tenantId', '--fresh', '--json');
  const again = await plan('--candidate', '/tenantId');
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('resuming the plan')]);
});

test('plan: every candidate has a blocker -> exit code 4, after the plan', async () => {
  const { code, stdout, stderr } = await plan('--candidate', '/nowhere');
  expect([code, stdout]).toEqual([4, expect.stringContaining('/nowhere')]);
  expect(stderr).toMatch(/^cosmig: no candidate can be the key$/m);
});

test('plan: its page cannot be written -> the plan is printed, and does not name the page', async () => {
  // Opened like any other file, and full.
  const one = await plan('--candidate', '/tenantId', '--report', '/dev/full');
  expect([one.code, one.stdout]).toEqual([
    7,
    expect.stringMatching(/^report +--report plan.html writes a page/m),
  ]);
  const none = await plan('--candidate', '/nowhere', '--report', '/dev/full');
  expect(none.code).toBe(4);
  expect(none.stderr).toContain('the report cannot be written to /dev/full: its disk is full');
});

test.each([
  [['--candidate', '/customerId'], 2, /the candidate \/customerId is the present key/],
  [['--candidate', 'tenantId'], 2, /a path begins with a slash/],
  [['--sample', 'half'], 2, /--sample half is not a share/],
  [['--max-ru', '1', '--fresh'], 3, /reading the source costs about/],
  [['--workload', '/nowhere.csv'], 2, /nowhere\.csv/],
])('plan %j -> exit code %i, and says why', async (argv, code, message) => {
  const ran = await plan(...argv);
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(message)]);
});

test('plan: a workload -> classed for each candidate', async () => {
  const file = join(dirname(move.ledgerPath), 'workload.yaml');
  const query = 'SELECT * FROM c WHERE c.tenantId = @tenant';
  writeFileSync(file, `queries:\n  - query: ${query}\n    perSecond: 5\n`);
  const { code, stdout, stderr } = await plan('--candidate', '/tenantId', '--workload', file, '--json');
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const { candidates } = JSON.parse(stdout) as {
    readonly candidates: readonly { readonly workload: unknown }[];
  };
  expect(candidates.map(({ workload }) => workload)).toMatchObject([
    { shares: { 'fan-out': 1 } },
    { shares: { 'single-partition': 1 } },
  ]);
});

test('plan: nothing is written to the container', async () => {
  const { resources } = await move.source.items.readAll().fetchAll();
  expect(resources).toHaveLength(COUNT);
});
