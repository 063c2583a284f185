import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { CosmigRun, runCosmig } from '../../helpers/run-cosmig.ts';
import { until } from '../../helpers/wait.ts';

let folder: string;
const before = process.env['TMPDIR'];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-demos-'));
  // Where the demo puts its files.
  process.env['TMPDIR'] = folder;
});
afterEach(() => {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  rmSync(folder, { recursive: true });
});

/** What demos have left in the folder of temporary files. */
const left = (): string[] => readdirSync(folder);

const count = expect.any(Number) as number;

test('demo: a shop in use -> migrated, dead letters resolved, proven', async () => {
  const { code, stdout, stderr } = await runCosmig(['demo', '--fast', '--json'], { clock: systemClock });
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const result = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  const range = { id: expect.any(String) as string, documents: count, ru: count, throttled: count };
  expect(result).toMatchObject({
    command: 'demo',
    complete: true,
    plan: { action: 'migrate', against: expect.stringContaining('share the new key and the id') as string },
    before: {
      container: 'shop/orders',
      partitionKey: '/tenantId',
      keys: 10,
      ranges: [range, range, range, range, range],
    },
    after: {
      container: 'shop/orders-by-customer',
      partitionKey: '/customerId',
      ranges: [range, range, range],
    },
    seeded: { collisions: 2, withoutKey: 10, withTtl: 10, longIntegers: 10 },
    moved: { copied: count, replayed: count, moved: count, deleted: count },
    application: { created: count, updated: count, moved: count, deleted: count, throttled: count },
    refused: 'exit code 3: a document is not in the target',
    stoppedMs: count,
    proof: {
      equal: true,
      compared: count,
      long: { source: '9007199254740993', target: '9007199254740993' },
      lateWrites: 0,
    },
    durationMs: count,
  });
  const { letters, proof, plan, report } = result as {
    readonly report: string;
    readonly plan: { readonly page: string };
    readonly letters: readonly { readonly id: string; readonly state: string }[];
    readonly proof: { readonly orders: { readonly known: number; readonly found: number } };
  };
  expect(new Map(letters.map(({ id, state }) => [id, state]))).toEqual(
    new Map([
      ['"invoice-7"', 'closed'],
      ['"invoice-9"', 'discarded'],
    ]),
  );
  expect(proof.orders.found).toBe(proof.orders.known);
  expect(proof.orders.known).toBeGreaterThan(0);
  expect(left()).toEqual([basename(dirname(plan.page))]);
  expect(readFileSync(plan.page, 'utf8')).toContain('<title>Plan for shop/orders</title>');
  expect(dirname(report)).toBe(dirname(plan.page));
  const page = readFileSync(report, 'utf8');
  for (const part of ['The target is in use', 'Before and after', 'invoice-9']) expect(page).toContain(part);
});

test('demo: stopped -> leaves nothing behind', async () => {
  const run = new CosmigRun(['demo', '--fast', '--json'], { clock: systemClock });
  await until(() => left().length > 0, { what: 'a demo that has begun' });
  run.press('SIGINT');
  const { code, stdout } = await run.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ command: 'demo', complete: false, error: { code: 'canceled' } });
  expect(left()).toEqual([]);
  expect(run.listening).toBe(0);
});

test('demo: --watch on a terminal -> prints the address first, and begins when the page is open', async () => {
  // Time stands still, so it does not begin by itself.
  const run = new CosmigRun(['demo', '--fast', '--watch'], { isTerminal: true });
  const ready = 'a Cosmos account is ready';
  await until(() => run.stderr.includes('or in 15 s'), { what: 'a demo that waits' });
  const [, url = ''] = /^watch it at (\S+)\n/.exec(run.stderr) ?? [];
  const page = await fetch(url);
  expect([page.status, run.stderr.includes(ready)]).toEqual([200, false]);
  const events = await fetch(`${url}events`);
  await until(() => run.stderr.includes(ready), { what: 'a demo that has begun' });
  run.press('SIGINT');
  await expect(run.ended).resolves.toMatchObject({ code: 130 });
  await events.body?.cancel();
});

test('demo: and back, with --watch on a terminal -> the source has all; the page stays until Enter', async () => {
  const keyboard = new PassThrough();
  const argv = ['demo', '--fast', '--and-back', '--json', '--watch'];
  const run = new CosmigRun(argv, { clock: systemClock, isTerminal: true, stdin: keyboard });
  await until(() => run.stderr.includes('or in 15 s'), { what: 'a demo that waits' });
  const [, url = ''] = /watch it at (http\S+?)"/.exec(run.stderr) ?? [];
  const events = await fetch(`${url}events`);
  await until(() => run.stdout !== '' || run.stderr.includes('"error"'), {
    what: 'a result',
  });
  await expect(fetch(url)).resolves.toMatchObject({ status: 200 });
  keyboard.write('\n');
  const { code, stdout, stderr } = await run.ended;
  await events.body?.cancel();
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
  const { back, letters } = JSON.parse(stdout) as {
    readonly back: {
      readonly replicated: number;
      readonly orders: Readonly<Record<'known' | 'found', number>>;
    };
    readonly letters: ReadonlyArray<{ readonly state: string }>;
  };
  expect(back.replicated).toBeGreaterThan(0);
  expect(back.orders.known).toBeGreaterThan(0);
  expect(back.orders.found).toBe(back.orders.known);
  expect(letters.map(({ state }) => state)).toEqual(['closed', 'closed']);
});
