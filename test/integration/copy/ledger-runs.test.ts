/**
 * What a run does with its ledger, on the command line: which ones it refuses, that one run at a time has it, and what
 * can be seen and saved of it meanwhile and after a SIGKILL.
 */
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import { canMount, runMounted, startCosmig } from '../../helpers/process/cosmig-process.ts';
import { ContainerLab, type Op } from '../../helpers/emulator/container-requests.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { SPEC } from '../../helpers/migration/typed.ts';
import { until } from '../../helpers/wait.ts';
import { temporaryFolder } from '../../unit/state/making.ts';

const DOCUMENTS = 200;
/** Pages of a few documents, so that a copy has a middle. */
const PAGE_BYTES = 4096;

let ledger: string;
let lab: ContainerLab;
beforeEach(async () => {
  ledger = join(temporaryFolder(), 'ledger.db');
  lab = await ContainerLab.open({ pageBytes: PAGE_BYTES });
  await makeTarget();
  const ops = Array.from({ length: DOCUMENTS }, (_, index) => document(`d${index}`, `t${index % 7}`));
  for (let at = 0; at < ops.length; at += 100) await lab.send(ops.slice(at, at + 100));
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

function document(id: string, tenantId: string): Op {
  const pad = 'x'.repeat(400);
  return { do: 'create', key: ['a'], text: JSON.stringify({ id, pk: 'a', tenantId, pad }) };
}

async function makeTarget(): Promise<void> {
  const { containers } = lab.account.client.database('shop');
  await containers.create({ id: 'by-tenant', partitionKey: '/tenantId' });
}

async function drop(container: string): Promise<void> {
  await lab.account.client.database('shop').container(container).delete();
}

async function countIn(container: string): Promise<number> {
  const query = 'SELECT VALUE COUNT(1) FROM c';
  const { items } = lab.account.client.database('shop').container(container);
  const { resources } = await items.query<number>(query).fetchAll();
  return resources[0] ?? -1;
}

function env(): Record<string, string> {
  const { endpoint, key } = lab.access;
  return { COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${endpoint};AccountKey=${key};` };
}

function copyTo(path: string, ...more: readonly string[]): string[] {
  return ['copy', ...SPEC, '--ledger', path, ...more];
}

function copy(...more: readonly string[]): Promise<Ran> {
  return runCosmig(copyTo(ledger, ...more), { env: env(), clock: systemClock });
}

async function status(path = ledger): Promise<Record<string, unknown>> {
  const { code, stdout } = await runCosmig(['status', '--ledger', path, '--json'], { clock: systemClock });
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Every page takes its time, so that there is a middle to strike in. */
async function slowDown(): Promise<void> {
  await lab.admin.faults([{ match: { op: 'read-feed', coll: 'orders' }, effect: { delayMs: 150 } }]);
}

async function untilInTheMiddle(): Promise<void> {
  const wroteSome = async (): Promise<boolean> => {
    if (!existsSync(ledger)) return false;
    const { code, stdout } = await runCosmig(['status', '--ledger', ledger, '--json'], {
      clock: systemClock,
    });
    const { documents } = JSON.parse(stdout) as { documents?: { written: number } };
    return code === 0 && documents !== undefined && documents.written > 10;
  };
  await until(wroteSome, { what: 'a copy that has written something' });
}

describe('run: refused', () => {
  test('another spec -> the changed flags are named, and the old spec resumes', async () => {
    expect(await copy()).toMatchObject({ code: 0 });
    const { code, stderr } = await copy('--missing-key', 'fail', '--derive', '/x={pk}');
    expect(code).toBe(3);
    expect(stderr).toMatch(/started with another (?=.*--derive)(?=.*--missing-key)/);
    expect(await copy()).toMatchObject({ code: 0 });
    expect(await countIn('by-tenant')).toBe(DOCUMENTS);
  });

  test.each([
    ['source', 'orders'],
    ['target', 'by-tenant'],
  ])('a %s that was deleted and created again -> refused', async (side, container) => {
    expect(await copy()).toMatchObject({ code: 0 });
    await drop(container);
    if (side === 'target') await makeTarget();
    else await lab.account.client.database('shop').containers.create({ id: container, partitionKey: '/pk' });
    const { code, stderr } = await copy();
    expect(code).toBe(3);
    expect(stderr).toContain(`the ${side} container was deleted and created again`);
  });

  test('a newer or a damaged ledger -> nothing is written', async () => {
    expect(await copy()).toMatchObject({ code: 0 });
    const whole = readFileSync(ledger);
    const later = openDatabase({ path: ledger });
    later.exec("INSERT INTO cosmig_schema VALUES (999, 'ledger', '0999_later.sql', 'x', 'now')");
    later.pragma('journal_mode = DELETE');
    later.close();
    const newer = readFileSync(ledger);
    expect(await copy()).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('is newer than this cosmig'),
    });
    expect(readFileSync(ledger).equals(newer)).toBe(true);
    truncateSync(ledger, Math.floor(whole.length / 2));
    expect(await copy()).toMatchObject({ code: 7, stderr: expect.stringContaining('damaged') });
    expect(await countIn('by-tenant')).toBe(DOCUMENTS);
  });

  test('a target of ours without its ledger -> refused, wherever the new ledger would be', async () => {
    expect(await copy()).toMatchObject({ code: 0 });
    rmSync(ledger);
    const { code, stderr } = await copy();
    expect(code).toBe(7);
    expect(stderr).toMatch(/^cosmig: .+\n {2}why {2}.+\n {2}now {2}.*--ledger/m);
    const elsewhere = join(temporaryFolder(), 'other.db');
    expect((await runCosmig(copyTo(elsewhere), { env: env(), clock: systemClock })).code).not.toBe(0);
    expect(existsSync(ledger)).toBe(false);
  });

  test('a target that another application uses -> refused', async () => {
    const { items } = lab.account.client.database('shop').container('by-tenant');
    await items.create({ id: 'theirs', tenantId: 'x', kind: 'another application' });
    expect(await copy()).toMatchObject({ code: 3, stdout: '' });
    expect(await countIn('by-tenant')).toBe(1);
    expect(existsSync(ledger)).toBe(false);
  });
});

test('tail: a damaged ledger -> it works or is refused, never an internal error', async () => {
  expect(await copy()).toMatchObject({ code: 0 });
  const whole = readFileSync(ledger);
  const garbage = fc.record({
    at: fc.nat(whole.length - 1),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 5000 }),
  });
  const [, ...spec] = copyTo(ledger);
  let version = 0;
  await fc.assert(
    fc.asyncProperty(garbage, async ({ at, bytes }) => {
      const broken = Buffer.from(whole);
      broken.set(bytes.subarray(0, whole.length - at), at);
      writeFileSync(ledger, broken);
      version += 1;
      // Something to look up in the index.
      await lab.send(
        Array.from({ length: 10 }, (_, index) => {
          const { text = '' } = document(`d${index * 20}`, `t${(index + version) % 7}`);
          return { do: 'replace', key: ['a'], id: `d${index * 20}`, text };
        }),
      );
      const tail = ['tail', '--until-caught-up', ...spec];
      const { code, stderr } = await runCosmig(tail, { env: env(), clock: systemClock });
      // 6: a position that is none is refused by the service.
      expect({ code, stderr }).toEqual({ code: expect.toBeOneOf([0, 3, 5, 6, 7]), stderr });
    }),
    // A failure names the bytes; to shrink them takes longer than to look at them.
    { numRuns: 25, endOnFailure: true },
  );
});

describe('run: another one is in progress', () => {
  test('a second run -> refused, or skipped with --skip-if-running; status shows the first', async () => {
    await slowDown();
    const first = new CosmigRun(copyTo(ledger), { env: env(), clock: systemClock });
    await untilInTheMiddle();
    const second = await copy();
    expect(second.code).toBe(3);
    expect(second.stderr).toContain(`another cosmig is working with ${ledger}`);
    expect(await copy('--skip-if-running')).toMatchObject({ code: 0 });
    const retry = ['dead-letters', 'retry', '--all', ...copyTo(ledger).slice(1)];
    expect(await runCosmig(retry, { env: env() })).toMatchObject({ code: 3 });
    expect(await status()).toMatchObject({
      running: { pid: process.pid },
      lastRun: { command: 'copy', ended: null },
    });
    await lab.admin.clearFaults();
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(await status()).toMatchObject({ running: null, lastRun: { command: 'copy' } });
    expect(await countIn('by-tenant')).toBe(DOCUMENTS);
  });

  test('the ledger is saved -> the migration resumes from the saved one if nothing was written since', async () => {
    await slowDown();
    const first = new CosmigRun(copyTo(ledger), { env: env(), clock: systemClock });
    await untilInTheMiddle();
    const backup = join(temporaryFolder(), 'backup.db');
    const saved = await runCosmig(['status', '--ledger', ledger, '--backup', backup], { clock: systemClock });
    expect(saved).toMatchObject({ code: 0 });
    first.press('SIGINT');
    expect(await first.ended).toMatchObject({ code: 130 });
    await lab.admin.clearFaults();
    copyFileSync(backup, ledger);
    expect(await copy()).toMatchObject({ code: 0 });
    expect(await status()).toMatchObject({ deadLetters: { open: 0 } });
    expect(await countIn('by-tenant')).toBe(DOCUMENTS);
  });

  test('SIGKILL -> status reports it without changing a byte, and the next run resumes', async () => {
    await slowDown();
    await using child = startCosmig(copyTo(ledger), env());
    await untilInTheMiddle();
    child.kill('SIGKILL');
    await child.ended;
    const files = (): Buffer[] => [ledger, `${ledger}-wal`].map((file) => readFileSync(file));
    const before = files();
    expect(await status()).toMatchObject({
      running: null,
      lastRun: { command: 'copy', ended: null, outcome: null },
    });
    expect(files()).toEqual(before);
    await lab.admin.clearFaults();
    expect(await copy()).toMatchObject({ code: 0 });
    expect(await countIn('by-tenant')).toBe(DOCUMENTS);
  });
});

// Needs a name space of our own for the mount, which some machines forbid.
describe.skipIf(!canMount())('run: a full disk', () => {
  // While the ledger is made, while the run begins, and in mid-copy. After that the next run waits until nothing that
  // was sent can land, which takes most of a minute.
  test.each(['64k', '192k', '256k'])(
    '%s -> the run stops with a hint, and resumes once there is space',
    async (size) => {
      const words = copyTo('$0/ledger.db').map((word) => `"${word}"`);
      const script = [
        `mount -t tmpfs -o size=${size} none "$0"`,
        `cosmig ${words.join(' ')} >/dev/null || echo "ended $?"`,
        'mount -o remount,size=64m "$0"',
        `cosmig ${words.join(' ')} >/dev/null`,
      ].join('\n');
      const { code, stdout, stderr } = await runMounted(script, temporaryFolder(), env());
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'ended 7\n' });
      expect(stderr).toMatch(
        /cannot grow: its disk is full\n {2}why {2}.+\n {2}now {2}free space on that disk/,
      );
      expect(await countIn('by-tenant')).toBe(DOCUMENTS);
    },
  );
});
