/** `cosmig plan` on a container with unique keys, which hold within one value of the key. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAN } from '../../../src/report/json/plan-result.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { typed } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';

const COUNT = 240;
/** A mail is unique for a customer, but not for a tenant; a third of all orders have none. */
const orders: readonly Order[] = Array.from({ length: COUNT }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n}`,
  tenantId: `t${n % 6}`,
  ...(n % 3 === 0 ? {} : { contact: { mail: `m${n % 50}@x` } }),
  slot: n,
}));

let move: Move;

beforeAll(async () => {
  const uniqueKeys = [{ paths: ['/contact/mail'] }, { paths: ['/slot', '/contact/mail'] }];
  move = await Move.open({ source: { throughput: 60_000, uniqueKeyPolicy: { uniqueKeys } } });
  await putAll(move, [...orders]);
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

const plan = async (...argv: readonly string[]): Promise<Ran> =>
  typed(move, 'plan', '--source', 'shop/orders', '--fresh', '--candidate', '/tenantId', ...argv);

interface Conflicts {
  readonly documents: number;
  readonly low: number;
  readonly high: number;
  readonly exact: boolean;
  readonly known: boolean;
}
interface Planned {
  readonly exact: boolean;
  readonly candidates: ReadonlyArray<{
    readonly uniqueKeyConflicts: Conflicts & {
      readonly keys: ReadonlyArray<
        Conflicts & { readonly examples: ReadonlyArray<Readonly<Record<'id' | 'key' | 'values', string>>> }
      >;
    };
    readonly collisions: Conflicts;
    readonly verdict: Readonly<
      Record<'blockers' | 'risks', ReadonlyArray<{ readonly code: string; readonly text: string }>>
    >;
  }>;
}

const read = ({ stdout }: Ran): Planned => JSON.parse(stdout) as Planned;
const mailOf = ({ contact }: Order): string => String(Reflect.get(Object(contact), 'mail') ?? null);
const pairs = orders.map((order) => `${String(order.tenantId)} ${mailOf(order)}`);
const truth = pairs.length - new Set(pairs).size;

test.each([[[]], [['--exact']]])(
  'plan %j: what unique keys would refuse -> counted, with examples, and a blocker',
  async (options) => {
    const ran = await plan('--json', ...options);
    const json: unknown = JSON.parse(ran.stdout);
    expect([ran.code, faultsOf(PLAN.json, json)]).toEqual([4, []]);
    const { exact, candidates } = read(ran);
    const [current, byTenant] = candidates;
    const none = { documents: 0, low: 0, high: 0, exact: true, known: true };
    const all = { documents: truth, low: truth, high: truth, exact: true, known: true };
    expect(exact).toBe(true);
    expect(current?.uniqueKeyConflicts).toMatchObject({ ...none, keys: [none, none] });
    expect(byTenant?.uniqueKeyConflicts).toMatchObject({ ...all, keys: [all, none] });
    const { examples = [] } = byTenant?.uniqueKeyConflicts.keys[0] ?? {};
    expect(examples).toHaveLength(5);
    for (const { id, key, values } of examples) {
      const order = orders.find((one) => one.id === id);
      expect([order?.tenantId, order === undefined ? '' : mailOf(order)]).toEqual([key, values]);
      expect(pairs.filter((pair) => pair === `${key} ${values}`).length).toBeGreaterThan(1);
    }
    const [blocker] = byTenant?.verdict.blockers ?? [];
    expect(blocker?.code).toBe('unique-keys');
    expect(blocker?.text).toBe(`${truth} documents would be refused by the unique key /contact/mail`);
  },
);

test('plan: a sample -> at least what it found, and never a sure count', async () => {
  const { stdout } = await plan('--sample', '30%', '--json');
  const { uniqueKeyConflicts, verdict } = read({ stdout, stderr: '', code: 0 }).candidates[1] ?? {};
  expect(uniqueKeyConflicts?.low).toBeLessThanOrEqual(truth);
  expect(uniqueKeyConflicts?.high).toBeGreaterThanOrEqual(truth);
  expect([...(verdict?.blockers ?? []), ...(verdict?.risks ?? [])].map(({ code }) => code)).toContainEqual(
    expect.stringMatching(/^unique-keys/),
  );
});

test('plan: values are hashed -> in the examples, too; the text and the page name the unique key', async () => {
  const page = join(dirname(move.ledgerPath), 'unique.html');
  const ran = await plan('--hash-values', '--exact', '--report', page);
  const html = readFileSync(page, 'utf8');
  for (const text of [ran.stdout, html]) {
    expect(text).toContain('/contact/mail');
    expect(text).not.toMatch(/m\d+@x|>o\d+<|>t\d</);
  }
  expect(html).toMatch(/#[0-9a-f]{12}/);
  const kept = readFileSync(`${move.ledgerPath}-plan`, 'latin1');
  expect(kept).not.toMatch(/m\d+@x/);
});

test('plan --exact: how large its file gets is said before; and it is gone at the end', async () => {
  const { stderr } = await plan('--exact');
  // Two keys with two unique keys each, and where the document was read.
  const bytes = 2 * (24 + 2 * 16) + 8;
  expect(stderr).toMatch(new RegExp(`--exact keeps ${bytes} bytes of each document in .*-plan-exact`));
  expect(statSync(`${move.ledgerPath}-plan-exact`, { throwIfNoEntry: false })).toBeUndefined();
});

test('plan --exact --sample -> refused', async () => {
  const { code, stderr } = await plan('--exact', '--sample', '5%');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/--exact and --sample exclude each other/)]);
});
