/**
 * A plan that is stopped at any moment, by any means: the next run finds what it would have found without the stop, and
 * the exit code is the one that is documented.
 */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { byDay } from '../../helpers/generated.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Tap, type TapRequest } from '../../helpers/migration/tap.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { write } from '../../helpers/migration/tapped.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

const COUNT = 400;
const orders = (count: number, more: object = {}): Order[] =>
  Array.from({ length: count }, (_none, n) => ({
    id: `o${n % 150}`,
    customerId: `c${n}`,
    tenantId: n % 3 === 0 ? 'giant' : `t${n % 70}`,
    ...more,
  }));

let move: Move;
let tap: Tap;
let hasBegun = false;

/** Whether a request is for a page of the pass, which begins by asking every range for its end. */
function isOfPass({ mode, headers }: TapRequest): boolean {
  if (mode !== 'latest-version') return false;
  if (headers['if-none-match'] === '*') hasBegun = true;
  return hasBegun && headers['if-none-match'] !== '*';
}

/** Strikes when the nth page of the pass is asked for, and from then on holds back all replies for a while. */
function strikeAt(nth: number, strike: () => Promise<unknown> | void): void {
  let pages = 0;
  hasBegun = false;
  tap.meddle = async (request, forward) => {
    if (isOfPass(request)) {
      pages += 1;
      if (pages === nth) await strike();
    }
    return forward();
  };
}

beforeEach(async () => {
  move = await Move.open({ settings: { pageBytes: 4000 }, source: { throughput: 12_000 } });
  tap = await Tap.open(move.emulator);
  move.connectionString = tap.connectionString;
  await write(move, orders(COUNT));
});
afterEach(async () => {
  await tap[Symbol.asyncDispose]();
  await move[Symbol.asyncDispose]();
});

const TYPED = ['--candidate', '/tenantId', '--candidate', '/customerId,/tenantId', '--json'];
const argvOf = (...argv: readonly string[]): string[] => ['plan', '--source', 'shop/orders', ...argv];
const around = (ledger = move.ledgerPath): { env: Record<string, string>; clock: typeof systemClock } => ({
  env: { ...envOf(move), COSMIG_LEDGER: ledger },
  clock: systemClock,
});
const plan = async (...argv: readonly string[]): Promise<Ran> => runCosmig(argvOf(...argv), around());

/** What a plan has found, without the time and the cost of finding it. */
function figuresOf({ stdout }: Pick<Ran, 'stdout'>): unknown {
  const { documents, sampled, complete, leftOut, recommendation, candidates } = JSON.parse(stdout) as Record<
    string,
    unknown
  > & { readonly candidates: ReadonlyArray<Record<string, unknown>> };
  return {
    documents,
    sampled,
    complete,
    leftOut,
    recommendation,
    candidates: candidates.map(
      ({ key, distinct, distinctPerLevel, largest, types, missing, collisions, balance, itemsPerKey }) => ({
        key,
        distinct,
        distinctPerLevel,
        types,
        missing,
        balance,
        itemsPerKey,
        collisions: { ...(collisions as object), examples: null },
        // Of values that are equally large, some are shown.
        largest: (largest as ReadonlyArray<{ readonly documents: unknown }>).map((one) => one.documents),
      }),
    ),
  };
}

const truths = new Map<string, unknown>();

/** What a plan finds that nothing stops: the same for each test, since the documents are the same. */
async function truth(...argv: readonly string[]): Promise<unknown> {
  tap.meddle = (_request, forward) => forward();
  const known = truths.get(argv.join(' '));
  if (known !== undefined) return known;
  const ran = await runCosmig(argvOf(...TYPED, ...argv), around(`${move.ledgerPath}-whole`));
  expect(ran.code).toBe(0);
  const figures = figuresOf(ran);
  truths.set(argv.join(' '), figures);
  return figures;
}

const STOPS = [
  ['SIGKILL', 2, -1],
  ['SIGKILL', 9, -1],
  ['SIGINT', 3, 130],
  ['SIGINT', 9, 130],
  ['SIGTERM', 6, 143],
] as const;
test.each(byDay(STOPS, { every: 2 }))(
  '%s at page %i of the pass -> exit code %i, then as without it',
  async (signal, page, code) => {
    const whole = await truth();
    await using running = startCosmig(argvOf(...TYPED), around().env);
    strikeAt(page, () => running.kill(signal));
    const stopped = await running.ended;
    expect([stopped.code, stopped.stdout === '' || code !== -1]).toEqual([code, true]);
    tap.meddle = (_request, forward) => forward();
    const again = await plan(...TYPED);
    expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/resuming the plan started at/)]);
    expect(figuresOf(again)).toEqual(whole);
  },
);

test('a second Ctrl-C -> ends at once, and the next run finds the same', async () => {
  const whole = await truth();
  const run = new CosmigRun(argvOf(...TYPED), around());
  // The page that is asked for arrives only when the command has ended.
  let release: (() => void) | undefined;
  strikeAt(4, async () => {
    run.press('SIGINT');
    run.press('SIGINT');
    await new Promise<void>((resolve) => (release = resolve));
  });
  const ended = await run.ended;
  release?.();
  expect(ended.code).toBe(130);
  tap.meddle = (_request, forward) => forward();
  const again = await plan(...TYPED);
  expect(figuresOf(again)).toEqual(whole);
});

const STOPS_WHILE_FOLLOWING = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGKILL', -1],
] as const;
test.each(byDay(STOPS_WHILE_FOLLOWING, { every: 3, from: 1 }))(
  '%s while the feed is followed -> exit code %i, and the pass is not read again',
  async (signal, code) => {
    const whole = await truth();
    await using running = startCosmig(argvOf(...TYPED, '--observe', '60s'), around().env);
    let polls = 0;
    tap.meddle = async (request, forward) => {
      // Both ranges give their end to the pass, and then to the one who follows.
      if (request.mode === 'latest-version' && request.headers['if-none-match'] === '*') polls += 1;
      if (polls === 4) running.kill(signal);
      return forward();
    };
    expect((await running.ended).code).toBe(code);
    tap.meddle = (_request, forward) => forward();
    const again = await plan(...TYPED, '--observe', '1s');
    expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/resuming the plan started at/)]);
    expect(figuresOf(again)).toEqual(whole);
  },
);

test.each([[[]], [['--exact']]])(
  '--for in several parts, %j -> each ends with 8 until the last, and the figures are the same',
  async (argv) => {
    const whole = await truth(...argv);
    tap.meddle = async (request, forward) => {
      // A pass that resumes does not ask for the ends of ranges; its pages are larger than those of samples.
      if (request.headers['x-ms-max-item-count'] === '1000')
        await systemClock.sleep(450, new AbortController().signal);
      return forward();
    };
    const codes: number[] = [];
    let last: Ran | undefined;
    // On a busy machine a second or two of each go before the first page.
    while (codes.at(-1) !== 0 && codes.length < 60) {
      last = await plan(...TYPED, ...argv, '--for', '3s');
      codes.push(last.code);
    }
    expect(codes.length).toBeGreaterThan(2);
    expect(codes.slice(0, -1).every((code) => code === 8)).toBe(true);
    expect(figuresOf(last ?? { stdout: '{}' })).toEqual(whole);
  },
);

test.each([
  ['splits', async () => move.admin.split('shop/orders', { rangeId: '0' })],
  ['merges', async () => move.admin.merge('shop/orders', ['0', '1'])],
] as const)('the source %s during the pass, and it is stopped -> as without', async (_name, change) => {
  const whole = await truth();
  const run = new CosmigRun(argvOf(...TYPED), around());
  strikeAt(5, async () => {
    await change();
    run.press('SIGINT');
  });
  expect((await run.ended).code).toBe(130);
  tap.meddle = (_request, forward) => forward();
  const again = await plan(...TYPED);
  expect(again.code).toBe(0);
  const [one, other] = [figuresOf(again), whole] as Array<Record<string, unknown>>;
  // The balance is over the present number of partitions, which has changed.
  const bare = ({ candidates, recommendation: _of, ...rest }: Record<string, unknown> = {}): unknown => ({
    ...rest,
    candidates: (candidates as Array<Record<string, unknown>>).map(
      ({ balance: _balance, ...figures }) => figures,
    ),
  });
  expect(bare(one)).toEqual(bare(other));
});

test('no candidates, stopped, and other documents since -> resumes with those that it had proposed', async () => {
  const run = new CosmigRun(argvOf('--json'), around());
  strikeAt(5, () => run.press('SIGINT'));
  expect((await run.ended).code).toBe(130);
  tap.meddle = (_request, forward) => forward();
  const more = Array.from({ length: 300 }, (_none, n) => ({
    id: `x${n}`,
    customerId: `x${n}`,
    region: `r${n % 90}`,
  }));
  await write(move, more);
  await write(
    move,
    orders(COUNT, { region: 'one' }).map((order, n) => ({ ...order, tenantId: 'one', region: `r${n % 90}` })),
  );
  const again = await plan('--json');
  expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/resuming the plan started at/)]);
  const { candidates } = JSON.parse(again.stdout) as { candidates: Array<{ key: string }> };
  expect(candidates.map(({ key }) => key).join()).toMatch(/tenantId/);
  expect(candidates.map(({ key }) => key).join()).not.toMatch(/region/);
});

test('another plan with the same file is running -> exit code 3, and the first is not disturbed', async () => {
  const whole = await truth();
  let second: Ran | undefined;
  const run = new CosmigRun(argvOf(...TYPED), around());
  strikeAt(3, async () => {
    second ??= await runCosmig(argvOf('--candidate', '/tenantId'), {
      ...around(),
      env: { ...around().env, COSMIG_SOURCE_CONNECTION_STRING: move.emulator.connectionString },
    });
  });
  const first = await run.ended;
  expect([second?.code, second?.stderr]).toEqual([
    3,
    expect.stringMatching(/another cosmig plan is running/),
  ]);
  expect(figuresOf(first)).toEqual(whole);
});

test('a plan file that is something else -> exit code 7, with what to do', async () => {
  writeFileSync(`${move.ledgerPath}-plan`, 'a shopping list, of more than a hundred bytes, '.repeat(5));
  const ran = await plan(...TYPED);
  expect([ran.code, ran.stdout.includes('candidates')]).toEqual([7, false]);
});
