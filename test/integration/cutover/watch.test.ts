/** What a cutover reads from the source page by page: at its gate, during the watch, and after the commit. */
import { expect, test } from 'vitest';
import { runCutover, type RunParts } from '../../../src/engine/run.ts';
import type { CutoverOptions } from '../../../src/engine/cutover/contract.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import type { MoveOptions, Order } from '../../helpers/migration/move.ts';
import type { TapRequest } from '../../helpers/migration/tap.ts';
import { SOURCE, Tapped } from '../../helpers/migration/tapped.ts';
import { clockAt } from '../../helpers/clock.ts';

const order = (id: string, more: object = {}): Order => ({ id, customerId: 'c', tenantId: 'P', ...more });

async function moved(options: MoveOptions, documents: readonly Order[] = [order('1')]): Promise<Tapped> {
  const tapped = await Tapped.open(options);
  await tapped.move.put(...documents);
  await tapped.move.run('copy');
  await tapped.move.run('catch-up');
  return tapped;
}

async function cut(
  { move }: Tapped,
  { run, ...parts }: Partial<CutoverOptions> & { readonly run?: Partial<RunParts> },
): Promise<{
  readonly result: unknown;
  readonly said: readonly string[];
  readonly hooks: readonly string[];
}> {
  const said: string[] = [];
  const hooks: string[] = [];
  const result = await runCutover(move.parts(run), {
    ...CUTOVER,
    stopWriters: async () => void hooks.push('fence'),
    say: (text) => said.push(text),
    ...parts,
  }).catch((error: unknown) => error);
  return { result, said, hooks };
}

const isEnd = ({ what, container, headers }: TapRequest): boolean =>
  what === 'read-feed' && container === 'orders' && headers['if-none-match'] === '*';
const isFeed = ({ what, container, headers }: TapRequest): boolean =>
  what === 'read-feed' && container === 'orders' && headers['if-none-match'] !== '*';

test('cutover: tail needs minutes to catch up -> refused before writers are stopped', async () => {
  await using tapped = await moved({ settings: { avad: true } });
  let offsetMs = 0;
  // Each page takes that long.
  tapped.tap.meddle = async (request, forward) => {
    if (isFeed(request)) offsetMs += 61_000;
    return forward();
  };
  const clock = clockAt(() => Date.now() + offsetMs);
  const { result, hooks } = await cut(tapped, { run: { clock } });
  expect(result).toMatchObject({
    message: 'the tail is too far behind for a short stop of the writers',
    exitCode: 3,
  });
  expect(hooks).toEqual([]);
});

test('cutover: one delete behind many expirations -> seen', async () => {
  const mortal = Array.from({ length: 60 }, (_, n) => order(`mortal ${n}`, { ttl: 60 }));
  await using tapped = await moved({ settings: { avad: true }, source: { defaultTtl: -1 } }, [
    ...mortal,
    order('1'),
  ]);
  const { move, tap } = tapped;
  let changed: Promise<void> | undefined;
  const change = async (): Promise<void> => {
    await move.admin.clock(120_000);
    await move.admin.purgeExpired(SOURCE);
    await move.source.item('1', 'c').delete();
  };
  tap.meddle = async (request, forward) => {
    if (isEnd(request)) await changed;
    return forward();
  };
  const { result, said } = await cut(tapped, {
    quietMs: 500,
    onStep: ({ name }) => {
      // Holds the end of the source back until this is done.
      if (name === 'comparing') changed ??= change();
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(said).toContain('writes still arriving: "1" deleted in range 0; waiting for them to stop');
  // One page would have shown everything.
  expect(tap.seen.filter((request) => isFeed(request)).length).toBeGreaterThan(10);
});

test('cutover: write that only the newest replica shows -> reported', async () => {
  await using tapped = await moved({ settings: { avad: true } });
  const { move, tap } = tapped;
  let written: Promise<void> | undefined;
  tap.meddle = async (request, forward) => {
    if (isEnd(request)) await written;
    return forward();
  };
  const write = async (): Promise<void> => {
    await move.admin.account({ replicaLagMs: 600_000 });
    await move.put(order('late'));
  };
  const { result, said } = await cut(tapped, {
    quietMs: 500,
    onStep: ({ name }) => {
      if (name === 'comparing') written ??= write();
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(said).toContain('writes still arriving: "late" written in range 0; waiting for them to stop');
});

test('cutover: delete without a document in the feed -> seen', async () => {
  await using tapped = await moved({ settings: { avad: true } }, [order('1'), order('2')]);
  const { move, tap } = tapped;
  let deleted: Promise<unknown> | undefined;
  tap.meddle = async (request, forward) => {
    if (isEnd(request)) await deleted;
    const reply = await forward();
    if (request.mode !== 'all-versions') return reply;
    return { ...reply, body: Buffer.from(reply.body.toString().replaceAll('"partitionKey":', '"other":')) };
  };
  const { result, said } = await cut(tapped, {
    quietMs: 500,
    onStep: ({ name }) => {
      if (name === 'comparing') deleted ??= move.source.item('1', 'c').delete();
    },
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect(said).toContain('writes still arriving: null deleted in range 0; waiting for them to stop');
});

test('cutover: late write during a look -> reported once', async () => {
  await using tapped = await moved({});
  const { move, tap } = tapped;
  let isCommitted = false;
  let isWritten = false;
  tap.meddle = async (request, forward) => {
    if (isCommitted && !isWritten && isFeed(request)) {
      isWritten = true;
      await move.put(order('later'));
    }
    return forward();
  };
  const { result, said } = await cut(tapped, {
    quietMs: 300,
    watchMs: 1500,
    onCommit: async () => {
      await move.put(order('late'));
      isCommitted = true;
    },
  });
  expect(result).toMatchObject({ lateWrites: [{ ids: ['"late"', '"later"'], what: 'written' }] });
  expect(said.filter((text) => text.startsWith('LATE WRITE'))).toHaveLength(1);
});

test('cutover: the end has moved, and a replica that lags has nothing newer -> the write is still seen', async () => {
  await using tapped = await moved({ settings: { avad: true } });
  const { move, tap } = tapped;
  let laggingUntilMs = 0;
  tap.meddle = async (request, forward) => {
    if (!isFeed(request) || Date.now() > laggingUntilMs) return forward();
    const headers = {
      etag: request.headers['if-none-match'] ?? '',
      'x-ms-session-token': `${request.rangeId}:-1#1`,
    };
    return { status: 304, headers, body: Buffer.alloc(0) };
  };
  const { result, said } = await cut(tapped, {
    prove: async () => {
      if (laggingUntilMs === 0) {
        await move.put(order('late', { tenantId: 'Q' }));
        laggingUntilMs = Date.now() + 1500;
      }
      return { equal: true, why: '', suspects: [] };
    },
  });
  expect(said.join('\n')).toContain('writes still arriving: "late" written in range 0');
  expect(result).toMatchObject({ phase: 'committed' });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
