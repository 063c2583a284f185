/** The feed of one range against a server in trouble: whatever happens, a position is good or there is none. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TroubleError, type TroubleKind } from '../../../src/cosmos/transport/trouble.ts';
import {
  ChangeFeed,
  type FeedMode,
  type FeedStart,
  type FeedPage,
  type PagesCall,
} from '../../../src/cosmos/feed/feed.ts';
import { Governor } from '../../../src/cosmos/load/governor.ts';
import { LiveRanges } from '../../../src/cosmos/feed/live-ranges.ts';
import { readRanges, remap, wholeOf, type FeedRange } from '../../../src/cosmos/feed/ranges.ts';
import { Patience, type Wait } from '../../../src/cosmos/load/retry.ts';
import { SessionTokens } from '../../../src/cosmos/feed/session-tokens.ts';
import { allVersionsScan, latestVersionScan } from '../../../src/documents/page-scan.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import type { FaultEffect, FaultRule } from '../../helpers/emulator/admin.ts';
import { ContainerLab } from '../../helpers/emulator/container-requests.ts';
import { failure } from '../../helpers/emulator/failure.ts';

const signal = new AbortController().signal;
/** A key in each half of the hash space, found by trying. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

let lab: ContainerLab;
beforeEach(async () => {
  lab = await ContainerLab.open({ avad: true });
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

async function fill(from: number, to: number, rangeId = '0'): Promise<void> {
  for (let n = from; n < to; n += 1) {
    const key = KEYS[n % KEYS.length] as string;
    const text = JSON.stringify({ id: `d${n}`, pk: key, n });
    const sent = await lab.send([{ do: 'create', key: [key], text }], { rangeId });
    expect(sent).toMatchObject({ answered: true, outcomes: [{ kind: 'done' }] });
  }
}

async function feed(
  options: { mode?: FeedMode; range?: FeedRange; pageSize?: number } = {},
): Promise<ChangeFeed> {
  const { mode = 'latest-version', range = await lab.range(), pageSize = 3 } = options;
  return new ChangeFeed(lab.requests, { mode, range, pageSize });
}

function ids(page: FeedPage): string[] {
  if (page.status === 304) return [];
  const scan = latestVersionScan([]).scan(page.bytes);
  return Array.from(
    { length: scan.count },
    (_, row) => JSON.parse(scan.bytes(row, scan.nodes.id).toString()) as string,
  );
}

/** Waits are real but short. */
function patience(): { patience: Patience; waits: Wait[] } {
  const waits: Wait[] = [];
  const limit = { firstMs: 1, longestMs: 20, totalMs: 1000 };
  const limits = { throttled: limit, transient: limit, denied: { ...limit, totalMs: 100 }, split: limit };
  return {
    waits,
    patience: new Patience({
      clock: systemClock,
      random: seededRandom(1),
      limits,
      onWait: (wait) => waits.push(wait),
    }),
  };
}

/** All documents up to the first 304, and the position behind them. */
async function drain(
  of: ChangeFeed,
  start: FeedStart,
  call: Partial<PagesCall> = {},
): Promise<{ seen: string[]; at: FeedStart; pages: FeedPage[] }> {
  const seen: string[] = [];
  const pages: FeedPage[] = [];
  for await (const page of of.pages(start, { signal, patience: patience().patience, ...call })) {
    pages.push(page);
    seen.push(...ids(page));
    if (page.status === 304) return { seen, at: page.position, pages };
  }
  throw new Error('the feed ended');
}

const faulty = (effect: FaultEffect, more: Partial<FaultRule> = {}): Promise<void> =>
  lab.admin.faults([{ match: { op: 'read-feed' }, times: 1, effect, ...more }]);

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `d${n}`);

async function troubleIn(work: Promise<unknown>): Promise<TroubleKind> {
  const error = await failure(work);
  if (!(error instanceof TroubleError)) throw error;
  return error.trouble.kind;
}

describe('pages', () => {
  test('start at the beginning, at now, and at a position -> the right documents', async () => {
    await fill(0, 7);
    const all = await drain(await feed(), 'beginning');
    expect(all.seen).toEqual(names(7));
    expect(all.pages.map(({ status }) => status)).toEqual([200, 200, 200, 304]);

    const now = await drain(await feed(), 'now');
    expect(now.seen).toEqual([]);
    await fill(7, 9);
    expect((await drain(await feed(), all.at)).seen).toEqual(['d7', 'd8']);
    expect((await drain(await feed(), now.at)).seen).toEqual(['d7', 'd8']);
  });

  test('headers -> the exact charge, the LSN of the replica, and its time', async () => {
    await fill(0, 2);
    const page = await (await feed()).read('beginning', { signal });
    expect(page.chargeRu).toBeGreaterThan(0);
    expect(page.sessionToken).toMatch(/^0:/);
    expect(page.lsn).toBe(2);
    expect(Math.abs(lab.account.serviceTime.nowMs() - Date.now())).toBeLessThan(60_000);
    expect(page.position.etag).toMatch(/^".*"$/);
  });

  test('all versions -> has deletes, has no beginning, refuses a position of the other mode', async () => {
    await fill(0, 1);
    const all = await feed({ mode: 'all-versions' });
    const { position } = await all.read('now', { signal });
    await lab.send([{ do: 'delete', key: ['a'], id: 'd0' }]);
    const page = await all.read(position, { signal });
    const scan = allVersionsScan([], [['pk']]).scan(page.bytes);
    expect(scan.bytes(0, scan.around.operationType).toString()).toBe('"delete"');
    expect(page.position.mode).toBe('all-versions');

    await expect(all.read('beginning', { signal })).rejects.toThrow('no beginning');
    await expect((await feed()).read(position, { signal })).rejects.toThrow('belongs to its mode');
  });

  test('the session token of a write -> a replica that lags does not answer', async () => {
    await lab.admin.account({ replicaLagMs: 60_000 });
    const sent = await lab.send([{ do: 'create', key: ['a'], text: '{"id":"d0","pk":"a"}' }]);
    if (!sent.answered) throw new Error(sent.trouble.what);
    const reader = await feed();
    expect(await reader.read('beginning', { signal })).toMatchObject({ status: 304 });
    const page = await reader.read('beginning', { signal, sessionToken: sent.sessionToken });
    expect(ids(page)).toEqual(['d0']);
  });

  test('a token that no replica has reached -> waited for', async () => {
    expect(await troubleIn((await feed()).read('beginning', { signal, sessionToken: '0:-1#999' }))).toBe(
      'transient',
    );
  });

  test('parse refuses a page as too old -> it is read again', async () => {
    await fill(0, 1);
    let reads = 0;
    const parse = (page: FeedPage): FeedPage => {
      reads += 1;
      if (reads < 3)
        throw new TroubleError({
          kind: 'transient',
          status: page.status,
          substatus: 0,
          what: 'older than the anchor',
          chargeRu: 0,
        });
      return page;
    };
    const pages = (await feed()).parsedPages('beginning', { signal, patience: patience().patience, parse });
    const { value: first } = await pages.next();
    expect(ids(first)).toEqual(['d0']);
    const { value: last } = await pages.next();
    expect(last.status).toBe(304);
    expect(reads).toBe(4);
  });

  test('a governor -> counts every page, throttled ones too', async () => {
    await fill(0, 5);
    await faulty({ status: 429, substatus: 3200, retryAfterMs: 30 });
    const governor = new Governor({ clock: systemClock, random: seededRandom(1), ruPerSecond: 1000 });
    const { pages } = await drain(await feed(), 'beginning', { governor });
    const charged = pages.reduce((total, { chargeRu }) => total + chargeRu, 0);
    expect(governor.budget.spentRu).toBeGreaterThanOrEqual(charged - 1e-9);
  });
});

describe('trouble', () => {
  const KINDS: ReadonlyArray<readonly [FaultEffect, TroubleKind]> = [
    [{ status: 410, substatus: 1002 }, 'split'],
    [{ status: 410, substatus: 1007 }, 'split'],
    [{ status: 410, substatus: 1008 }, 'split'],
    [{ status: 410, substatus: 1000 }, 'split'],
    [{ status: 410, substatus: 1022 }, 'split'],
    [{ status: 410 }, 'split'],
    [{ status: 429, substatus: 3200, retryAfterMs: 5 }, 'throttled'],
    [{ status: 408 }, 'transient'],
    [{ status: 449 }, 'transient'],
    [{ status: 500 }, 'transient'],
    [{ status: 503, substatus: 21_001 }, 'transient'],
    [{ status: 401 }, 'denied'],
    [{ status: 403 }, 'denied'],
    [{ status: 403, substatus: 3 }, 'denied'],
    [{ status: 404, substatus: 1002 }, 'transient'],
    [{ status: 404, substatus: 1003 }, 'transient'],
    [{ status: 404 }, 'fatal'],
    [{ status: 400 }, 'fatal'],
    [{ reset: 'before' }, 'transient'],
    [{ reset: 'after' }, 'transient'],
    [{ body: 'truncated' }, 'transient'],
    [{ body: 'html' }, 'transient'],
    [{ body: 'empty' }, 'transient'],
    [{ status: 503, body: 'html' }, 'transient'],
    [{ status: 503, body: 'empty' }, 'transient'],
    [{ status: 429, body: 'truncated' }, 'throttled'],
    [{ dropHeaders: ['etag'] }, 'transient'],
  ];

  test.each(KINDS)(
    '%o on a page -> %s, once, and the position before it is still good',
    async (effect, kind) => {
      await fill(0, 5);
      const reader = await feed();
      const { position } = await reader.read('beginning', { signal });
      await faulty(effect);
      expect(await troubleIn(reader.read(position, { signal }))).toBe(kind);
      // The SDK did not try again behind our back.
      expect(await matched()).toBe(1);
      expect(ids(await reader.read(position, { signal }))).toEqual(['d3', 'd4']);
    },
  );

  test('a 304 without a position -> not taken for the end', async () => {
    const reader = await feed();
    await faulty({ dropHeaders: ['etag'] });
    expect(await troubleIn(reader.read('now', { signal }))).toBe('transient');
  });

  test('a server that hangs -> our timeout ends the request, and it is sent again', async () => {
    await fill(0, 5);
    await faulty({ hang: 'before' });
    const { patience: own, waits } = patience();
    const { seen } = await drain(await feed(), 'beginning', { patience: own, timeoutMs: 600 });
    expect(seen).toEqual(names(5));
    expect(waits.map(({ reason }) => reason)).toEqual(['transient']);
  });

  test('a body that never ends -> our timeout ends the request', async () => {
    await fill(0, 5);
    await faulty({ delayMs: 20_000, delayAt: 'reply' });
    const { seen } = await drain(await feed(), 'beginning', { timeoutMs: 200 });
    expect(seen).toEqual(names(5));
  });

  test('every kind of passing trouble at once -> each document once, in order', async () => {
    await fill(0, 30);
    const passing = KINDS.filter(([, kind]) => kind === 'transient' || kind === 'throttled');
    await lab.admin.faults(
      passing.map(([effect]) => ({ match: { op: 'read-feed' }, probability: 0.05, effect })),
      7,
    );
    const { patience: own, waits } = patience();
    expect((await drain(await feed({ pageSize: 1 }), 'beginning', { patience: own })).seen).toEqual(
      names(30),
    );
    expect(waits.length).toBeGreaterThan(5);
  });

  test('a 403 that lasts -> exit code 6 after a while', async () => {
    await faulty({ status: 403 }, { times: 1000 });
    const { patience: own, waits } = patience();
    const error = await failure(drain(await feed(), 'beginning', { patience: own }));
    expect(error).toMatchObject({ exitCode: 6, trouble: { kind: 'denied', status: 403 } });
    expect(waits.every(({ reason }) => reason === 'denied')).toBe(true);
  });

  test('an abort -> throws the given reason, and nothing is left in flight', async () => {
    await faulty({ hang: 'before' });
    const stop = new AbortController();
    const reading = (await feed()).read('beginning', { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('enough')), 50);
    await expect(reading).rejects.toThrow('enough');
    expect(lab.account.transport.size).toBe(0);
  });
});

describe('a position in all versions that is refused', () => {
  test('older than the service keeps -> position-too-old', async () => {
    await lab.admin.account({ retentionSeconds: 60 });
    const reader = await feed({ mode: 'all-versions' });
    const { position } = await reader.read('now', { signal });
    await fill(0, 1);
    await lab.admin.clock(3_600_000);
    expect(await troubleIn(reader.read(position, { signal }))).toBe('fatal');
    expect(await reader.whyRefused({ signal })).toBe('position-too-old');
    await lab.admin.clock(0);
  });

  test('the feed was switched off -> feed-not-available', async () => {
    const reader = await feed({ mode: 'all-versions' });
    const { position } = await reader.read('now', { signal });
    await lab.admin.account({ avad: false });
    expect(await troubleIn(reader.read(position, { signal }))).toBe('fatal');
    expect(await reader.whyRefused({ signal })).toBe('feed-not-available');
  });

  test('the question fails -> its trouble is thrown', async () => {
    await faulty({ status: 503 });
    const reader = await feed({ mode: 'all-versions' });
    expect(await troubleIn(reader.whyRefused({ signal }))).toBe('transient');
  });
});

describe('ranges', () => {
  /** Drains every reader, following splits and merges, each from the position that its parent had. */
  async function drainAll(readers: ReadonlyArray<readonly [FeedRange, FeedStart]>): Promise<string[]> {
    const seen: string[] = [];
    const todo = [...readers];
    const ranges = await LiveRanges.read({ requests: lab.requests, patience: patience().patience }, signal);
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const [range, start] = next;
      const own = patience().patience;
      const reader = await feed({ range });
      let at = start;
      try {
        for await (const page of reader.pages(at, { signal, patience: own })) {
          seen.push(...ids(page));
          at = page.position;
          if (page.status === 304) break;
        }
      } catch (error) {
        if (!(error instanceof TroubleError) || error.trouble.kind !== 'split') throw error;
        const { trouble } = error;
        for (const child of await ranges.readersAfter(range, { trouble, patience: own, signal }))
          todo.push([child, at]);
      }
    }
    return seen;
  }

  test('a split of a split in mid-feed -> each document once', async () => {
    await fill(0, 24);
    const parent = await lab.range();
    const first = await (await feed({ range: parent })).read('beginning', { signal });
    await lab.split();
    const [left] = await readRanges(lab.requests, { signal });
    await lab.split(left?.id);
    expect(await readRanges(lab.requests, { signal })).toHaveLength(3);
    const rest = await drainAll([[parent, first.position]]);
    expect([...ids(first), ...rest].sort()).toEqual(names(24).sort());
  });

  test('a merge -> each reader keeps to its part', async () => {
    await lab.admin.account({ avad: false });
    await fill(0, 24);
    await lab.split();
    const [left, right] = (await readRanges(lab.requests, { signal })).map(wholeOf);
    if (left === undefined || right === undefined) throw new Error('expected two ranges');
    const [one, other] = await Promise.all(
      [left, right].map(async (range) => (await feed({ range })).read('beginning', { signal })),
    );
    if (one === undefined || other === undefined) throw new Error('expected two pages');
    await lab.merge(left.range.id, right.range.id);
    const rest = await drainAll([
      [left, one.position],
      [right, other.position],
    ]);
    expect([...ids(one), ...ids(other), ...rest].sort()).toEqual(names(24).sort());
  });

  test.each([1000, 1002, 1007, 1008])(
    '410/%i for ever -> retried with growing waits, then exit code 6',
    async (substatus) => {
      await faulty({ status: 410, substatus }, { times: 10_000 });
      const range = await lab.range();
      const { patience: own, waits } = patience();
      const ranges = await LiveRanges.read({ requests: lab.requests, patience: own }, signal);
      const reader = await feed({ range });
      const loop = async (): Promise<never> => {
        for (;;) {
          const error = await failure(reader.pages('now', { signal, patience: own }).next());
          if (!(error instanceof TroubleError)) throw error;
          const { trouble } = error;
          expect(await ranges.readersAfter(range, { trouble, patience: own, signal })).toEqual([range]);
        }
      };
      expect(await failure(loop())).toMatchObject({
        exitCode: 6,
        trouble: { kind: 'split', status: 410, substatus },
      });
      expect(waits.length).toBeGreaterThan(10);
      // The longest wait here is 20 ms, the whole patience 1 s: a loop without a pause would send thousands.
      expect(await matched()).toBeLessThan(200);
    },
  );

  test('a 410 while the same range is still listed -> only waits', async () => {
    const range = await lab.range();
    expect(remap(await readRanges(lab.requests, { signal }), range)).toEqual({
      changed: false,
      readers: [range],
    });
  });

  test.each([
    [{ status: 503 }, 'transient'],
    [{ status: 429, retryAfterMs: 1 }, 'throttled'],
    [{ reset: 'before' }, 'transient'],
    [{ body: 'truncated' }, 'transient'],
    [{ body: 'html' }, 'transient'],
    [{ body: 'empty' }, 'transient'],
    [{ pkranges: 'incomplete' }, 'transient'],
  ] as const)(
    'a list that fails with %o -> trouble once, and the next list is good',
    async (effect, kind) => {
      await lab.split();
      await lab.admin.faults([{ match: { op: 'pkranges' }, times: 1, effect }]);
      expect(await troubleIn(readRanges(lab.requests, { signal }))).toBe(kind);
      expect(await readRanges(lab.requests, { signal })).toHaveLength(2);
    },
  );

  test('a stale list -> still tiles, and its range still answers 410', async () => {
    const parent = await lab.range();
    await lab.split();
    await lab.admin.faults([{ match: { op: 'pkranges' }, times: 1, effect: { pkranges: 'stale' } }]);
    expect(remap(await readRanges(lab.requests, { signal }), parent).changed).toBe(false);
    expect(await troubleIn((await feed({ range: parent })).read('beginning', { signal }))).toBe('split');
    expect(remap(await readRanges(lab.requests, { signal }), parent).changed).toBe(true);
  });

  test("a child range read with its parent's token -> sees what the parent showed", async () => {
    const sessions = new SessionTokens();
    await fill(0, 8);
    const page = await (await feed()).read('beginning', { signal });
    sessions.add(page.sessionToken);
    await lab.split();
    const [left] = await readRanges(lab.requests, { signal });
    if (left === undefined) throw new Error('expected a range');
    expect(sessions.of(left)).toBe(page.sessionToken);
    await lab.admin.account({ replicaLagMs: 60_000 });
    const child = await feed({ range: wholeOf(left), pageSize: 100 });
    expect(
      (await child.read('beginning', { signal, sessionToken: sessions.of(left) })).lsn,
    ).toBeGreaterThanOrEqual(page.lsn ?? 0);
  });
});

/** How many requests the first rule has seen. */
async function matched(): Promise<number | undefined> {
  const { faults } = (await lab.admin.state()) as { faults: { rules: { matched: number }[] } };
  return faults.rules[0]?.matched;
}
