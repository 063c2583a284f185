/** `cosmig doctor --probe`: what it asks, what it leaves behind, and what it notices where an account differs. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PROBES } from '../../../src/doctor/probes/all.ts';
import { UNASKED } from '../../../src/doctor/probes/unasked.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { setClock } from '../../helpers/clock.ts';
import { byDay } from '../../helpers/generated.ts';
import { DEVIATION_ROWS } from '../../helpers/migration/deviations.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, typed } from '../../helpers/migration/typed.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';
import { until } from '../../helpers/wait.ts';
import { waitForReplies } from '../../helpers/quick-timing.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

// A probe whose request is lost has no answer.
waitForReplies();

/** Without any setting of a migration, which there may not be yet. */
const ASK = ['doctor', '--probe', 'shop/cosmig-probe'];

interface Asked {
  readonly complete: boolean;
  readonly probes: ReadonlyArray<Readonly<Record<'id' | 'state' | 'seen' | 'note', string | null>>>;
}

/** The probes that were asked and do not hold. */
function notHolding({ stdout }: Ran): string[] {
  const { probes } = JSON.parse(stdout) as Asked;
  const unasked: ReadonlyArray<string | null> = UNASKED.map(({ id }) => id);
  return probes
    .filter(({ id, state }) => state !== 'holds' && !unasked.includes(id))
    .map(({ id, state }) => `${id}: ${state}`);
}

async function containersOf(move: Move): Promise<string[]> {
  const { resources } = await move.client.database('shop').containers.readAll().fetchAll();
  return resources.map(({ id }) => id).toSorted();
}

const WHILE_ASKING = ['by-tenant', 'cosmig-probe', 'cosmig-probe-expiring', 'cosmig-probe-levels', 'orders'];

/** A run that has created its containers, and asks. */
async function asking(move: Move, ...more: readonly string[]): Promise<CosmigRun> {
  const run = new CosmigRun([...ASK, ...more], { env: envOf(move), clock: systemClock });
  while (!run.stdout.includes('feed-order')) await systemClock.sleep(10, new AbortController().signal);
  return run;
}

describe('cosmig doctor --probe', () => {
  let move: Move;

  beforeEach(async () => {
    move = await Move.open({ settings: { avad: true } });
  });
  afterEach(async () => {
    await move[Symbol.asyncDispose]();
  });

  test('the emulator as it is -> everything holds, the containers are gone, the report has no names', async () => {
    const report = join(dirname(move.ledgerPath), 'probes.json');
    const ran = await typed(move, ...ASK, '--report', report, '--json');
    expect(notHolding(ran)).toEqual([]);
    expect([ran.code, (JSON.parse(ran.stdout) as Asked).probes.length]).toEqual([0, PROBES.length]);
    expect(await containersOf(move)).toEqual(['by-tenant', 'orders']);
    const written = readFileSync(report, 'utf8');
    expect((JSON.parse(written) as Asked).probes).toEqual((JSON.parse(ran.stdout) as Asked).probes);
    expect(written).not.toMatch(/shop|orders|127\.0\.0\.1|AccountKey/);
  });

  test('Ctrl-C while it asks -> the containers are gone', async () => {
    const run = await asking(move);
    expect(await containersOf(move)).toEqual(WHILE_ASKING);
    run.press('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(await containersOf(move)).toEqual(['by-tenant', 'orders']);
  });

  test('killed while it asks -> the next run removes what was left, and its own containers', async () => {
    await using child = startCosmig(ASK, envOf(move));
    await until(async () => (await containersOf(move)).includes('cosmig-probe-expiring'), {
      what: 'the scratch containers',
    });
    child.kill('SIGKILL');
    await child.ended;
    expect(await containersOf(move)).toEqual(WHILE_ASKING);
    // Another run may be using them. It is refused by name, and nothing is removed.
    const early = await typed(move, ...ASK);
    expect([early.code, early.stderr]).toEqual([
      3,
      expect.stringContaining('may be using shop/cosmig-probe'),
    ]);
    expect(await containersOf(move)).toContain('cosmig-probe-expiring');
    const later = { dateOffMs: 11 * 60_000 };
    const ops = ['account', 'database', 'container', 'pkranges', 'read-feed', 'batch', 'query'] as const;
    await move.admin.faults(ops.map((op) => ({ match: { op }, effect: later })));
    const ran = await runCosmig(ASK, { env: envOf(move), clock: setClock(() => later.dateOffMs) });
    expect(ran.stderr).toContain('removed shop/cosmig-probe, which an interrupted run had left');
    await move.admin.faults([]);
    expect([ran.code, await containersOf(move)]).toEqual([0, ['by-tenant', 'orders']]);
  });

  test("a container of the name that is not cosmig's -> refused, and kept", async () => {
    const { database } = await move.client.databases.createIfNotExists({ id: 'shop' });
    await database.containers.create({ id: 'cosmig-probe-levels', partitionKey: '/key' });
    const ran = await typed(move, ...ASK);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('it is not a scratch container')]);
    expect(await containersOf(move)).toEqual(['by-tenant', 'cosmig-probe-levels', 'orders']);
  });

  test('two runs with the same name -> the second is refused, and the first is not disturbed', async () => {
    const run = await asking(move);
    expect((await typed(move, ...ASK)).code).toBe(3);
    expect((await run.ended).code).toBe(0);
    expect(await containersOf(move)).toEqual(['by-tenant', 'orders']);
  });

  test('the containers cannot be removed -> the report is written, and the error names them', async () => {
    const report = join(dirname(move.ledgerPath), 'probes.json');
    const run = await asking(move, '--report', report);
    await move.admin.faults([{ match: { op: 'container' }, effect: { status: 400 } }]);
    const ran = await run.ended;
    expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining('could not be removed')]);
    expect((JSON.parse(readFileSync(report, 'utf8')) as Asked).probes.length).toBe(PROBES.length);
  });

  test.each(['Eventual', 'ConsistentPrefix'])(
    'default consistency %s -> refused with the reason, before anything is created',
    async (consistency) => {
      await move.admin.account({ consistency });
      const ran = await typed(move, ...ASK);
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining(`consistency is ${consistency}`)]);
      expect(await containersOf(move)).toEqual(['by-tenant', 'orders']);
    },
  );

  test('an account that refuses to create containers -> says that nothing was created', async () => {
    await move.admin.faults([{ match: { op: 'container' }, after: 1, effect: { status: 403 } }]);
    const ran = await typed(move, ...ASK);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('nothing was created')]);
  });

  test('trouble of which the service writes names and addresses -> the report has none of them', async () => {
    const message = 'shop/cosmig-probe: blocked for 203.0.113.9, ActivityId: 1234';
    await move.admin.faults([{ match: { op: 'query' }, effect: { status: 403, substatus: 5300, message } }]);
    const report = join(dirname(move.ledgerPath), 'probes.json');
    const ran = await typed(move, ...ASK, '--report', report, '--json');
    expect(notHolding(ran)).toEqual(['charge-count: not asked']);
    const written = readFileSync(report, 'utf8');
    expect(written).toContain('the service answered 403/5300');
    expect(written).not.toMatch(/shop|203\.0|ActivityId|127\.0/);
  });
});

describe('an account that differs', () => {
  // Together, since some probes wait for seconds.
  test.concurrent.each(byDay(Object.entries(DEVIATION_ROWS), { every: 2, from: 1 }))(
    '%s -> its question differs, and no other',
    async (deviation, { probe }) => {
      await using move = await Move.open({ settings: { avad: true } });
      await move.admin.account({ deviations: [deviation] });
      const ran = await typed(move, ...ASK, '--json');
      expect([ran.code, notHolding(ran)]).toEqual([4, [`${probe}: differs`]]);
    },
  );

  test('and the report cannot be written -> the difference decides how the command ends', async () => {
    await using move = await Move.open({ settings: { avad: true } });
    await move.admin.account({ deviations: ['feed-newest-first'] });
    // Opened like any other file, and full.
    const ran = await typed(move, ...ASK, '--report', '/dev/full');
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain('the service differs from what cosmig relies on: feed-order');
    expect(ran.stderr).toContain('the report cannot be written to /dev/full: its disk is full');
  });
});
