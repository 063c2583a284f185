/**
 * From a plan to the first command of its migration: the config file that --write-config writes is accepted as it is, and
 * `cosmig copy --dry-run` shows the figures of the plan.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

const CONFIG = 'cosmig.config.yaml';
/** Some documents lack the key, some have one that the service refuses, and some collide. */
const orders: readonly Order[] = Array.from({ length: 600 }, (_none, n) => ({
  id: n % 50 === 0 ? `same-${n % 100}` : `o${n}`,
  customerId: `c${n % 31}`,
  ...(n % 40 === 7 ? {} : { tenantId: n % 60 === 1 ? 'x'.repeat(3000) : `t${n % 25}` }),
  createdAt: new Date(Date.UTC(2026, n % 10, 1 + (n % 20))).toISOString(),
  note: 'x'.repeat(n % 700),
}));

let move: Move;
let folder: string;
const before = process.cwd();

beforeAll(async () => {
  move = await Move.open({ source: { throughput: 18_000 } });
  await putAll(move, [...orders]);
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-config-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** Runs a command in the folder, as an operator who has set the connection string and nothing else. */
const run = async (...argv: readonly string[]): Promise<Ran> =>
  runCosmig(argv, {
    env: { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString },
    clock: systemClock,
  });

const CANDIDATES = ['/tenantId', '/tenantId,/customerId', '/pk={tenantId}-{createdAt|month}'];
const plan = async (...argv: readonly string[]): Promise<Ran> =>
  run('plan', '--source', 'shop/orders', ...CANDIDATES.flatMap((one) => ['--candidate', one]), ...argv);

interface Planned {
  readonly source: { readonly deletes: string };
  readonly documents: number;
  readonly candidates: readonly {
    readonly distinct: { readonly estimate: number };
    readonly missing: number;
    readonly refused: Readonly<Record<string, number>>;
    readonly collisions: { readonly documents: number };
    readonly largest: readonly { readonly documents: { readonly low: number } }[];
    readonly costs: {
      readonly migration: Readonly<Record<string, number>> | null;
    };
  }[];
}

interface DryRun {
  readonly deletes: string;
  readonly estimate: Readonly<Record<string, number>>;
  readonly sample: {
    readonly distinct: number;
    readonly missing: number;
    readonly refused: Readonly<Record<string, number>>;
    readonly collisions: number;
    readonly biggest: readonly { readonly documents: number }[];
  };
}

const plannedBy = ({ stdout }: Ran): Planned => JSON.parse(stdout) as Planned;
const dryRunOf = ({ stdout }: Ran): DryRun => JSON.parse(stdout) as DryRun;

test.each(CANDIDATES.map((candidate, at) => [String(at + 1), candidate]))(
  'candidate %s, %s -> a file that doctor and copy --dry-run accept as it is, and the figures of the plan',
  async (number, candidate) => {
    const planned = await plan('--json', '--write-config', number);
    expect([planned.code, planned.stderr]).toEqual([planned.code === 4 ? 4 : 0, expect.any(String)]);
    const text = readFileSync(CONFIG, 'utf8');
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect(text.replaceAll('\n# ', ' ')).toContain(`to ${candidate}, written by cosmig plan`);
    expect(text.replaceAll('\n# ', ' ')).toContain(
      'With the 18,000 RU/s of the source it could begin with more partitions than it needs, and each would get a smaller part of them. Raise them after it was created if the tail falls behind; cosmig cutover --like-source throughput gives it those of the source. Copying reads',
    );
    expect(text).not.toContain('AccountKey');
    const doctor = await run('doctor');
    expect([doctor.code, doctor.code === 0 ? '' : `${doctor.stdout}${doctor.stderr}`]).toEqual([0, '']);
    const dry = await run('copy', '--dry-run', '--json');
    expect([dry.code, dry.stderr]).toEqual([0, '']);

    const { candidates, source, documents } = plannedBy(planned);
    const one = candidates[Number(number)];
    const migration = one?.costs.migration ?? {};
    const { estimate, sample, deletes } = dryRunOf(dry);
    expect({
      documents: estimate['documents'],
      sourceRu: estimate['sourceRu'],
      targetRu: estimate['targetRu'],
      hours: estimate['hours'],
      ledgerBytes: estimate['ledgerBytes'],
      deletes,
      distinct: sample.distinct,
      missing: sample.missing,
      collisions: sample.collisions,
      refused: Object.fromEntries(Object.entries(sample.refused).filter(([, count]) => count > 0)),
      biggest: sample.biggest[0]?.documents,
    }).toEqual({
      documents,
      sourceRu: migration['sourceRu'],
      targetRu: migration['targetRu'],
      hours: migration['hoursAtInitial'],
      ledgerBytes: migration['ledgerBytes'],
      deletes: source.deletes,
      distinct: one?.distinct.estimate,
      missing: one?.missing,
      collisions: one?.collisions.documents,
      refused: one?.refused,
      biggest: Math.max(...(one?.largest ?? []).map((value) => value.documents.low)),
    });
    const at = async (...argv: readonly string[]): Promise<number | undefined> =>
      dryRunOf(await run('copy', '--dry-run', '--json', ...argv)).estimate['hours'];
    expect(await at('--target-throughput', String(migration['proposedRu']))).toBe(
      migration['hoursAtProposed'],
    );
    expect(await at('--target-throughput', '18000')).toBe(migration['hoursAtPresent']);
  },
);

test('by its text, with a budget and a ledger -> the same settings in the file, and a line that names the file', async () => {
  const argv = ['--write-config', '/tenantId,/customerId', '--source-ru', '25%', '--ledger', 'a/my.db'];
  const { stdout } = await plan(...argv);
  const lines = readFileSync(CONFIG, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines).toEqual([
    'source: shop/orders',
    `sourceEndpoint: ${new URL(move.emulator.endpoint).href}`,
    'target: shop/orders-by-tenant-customer',
    'createTarget: true',
    'targetThroughput: 12000',
    'partitionKey:',
    '  - /tenantId',
    '  - /customerId',
    'missingKey: keep',
    'onCollision: dead-letter',
    'deletes: reconcile',
    'ttl: restart',
    'sourceRu: 25%',
    'ledger: "a/my.db"',
  ]);
  expect(stdout).toMatch(/^config +cosmig\.config\.yaml for \/tenantId,\/customerId; look through it/m);
});

test('a file that exists -> refused before anything is read, and left as it is', async () => {
  writeFileSync(CONFIG, 'source: shop/orders\n');
  const { code, stderr } = await plan('--write-config', '1');
  expect([code, stderr]).toEqual([2, expect.stringContaining('cosmig.config.yaml exists already')]);
  expect(stderr).not.toContain('reading about');
  expect(readFileSync(CONFIG, 'utf8')).toBe('source: shop/orders\n');
});

test.each([
  ['4', /the candidates are 1: \/tenantId, 2: /],
  ['/customerId', /it is the present key/],
  ['x', /give a number from 1 to 3/],
])('--write-config %s -> refused before anything is read', async (which, message) => {
  const { code, stderr } = await plan('--write-config', which);
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  expect(stderr).not.toContain('reading about');
});
