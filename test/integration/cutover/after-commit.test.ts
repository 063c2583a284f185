/** Steps after the commit run once, whatever crashes in between; and comparisons where documents expire. */
import { describe, expect, test } from 'vitest';
import type { CutoverOptions, CutoverResult } from '../../../src/engine/cutover/contract.ts';
import { runCutover, type RunParts, type RunSnapshot } from '../../../src/engine/run.ts';
import { CanceledError, NotReadyError } from '../../../src/lib/errors.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';
import { clockAt } from '../../helpers/clock.ts';

async function moved(options: MoveOptions): Promise<Move> {
  const move = await Move.open(options);
  for (let n = 0; n < 6; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: `t${n % 2}` });
  await move.run('copy');
  return move;
}

interface Cut extends Partial<CutoverOptions> {
  readonly run?: Partial<RunParts>;
}

async function cut(
  move: Move,
  { run, ...parts }: Cut = {},
): Promise<{
  readonly result: (RunSnapshot & CutoverResult) | Error;
  readonly said: string;
  readonly hooks: string[];
}> {
  const said: string[] = [];
  const hooks: string[] = [];
  const result = await runCutover(move.parts(run), {
    ...CUTOVER,
    stopWriters: async () => void hooks.push('fence'),
    onCommit: async () => void hooks.push('commit'),
    onAbort: async () => void hooks.push('abort'),
    say: (text) => said.push(text),
    ...parts,
  }).catch((error: unknown) => error as Error);
  return { result, said: said.join('\n'), hooks };
}

const HOW: ReadonlyArray<readonly [string, MoveOptions]> = [
  ['deletes reported', { settings: { avad: true } }],
  ['deletes not reported', {}],
];

describe.each(HOW)('cutover after the commit, %s', (_how, options) => {
  test('crash before the hook -> the next run calls it and reports late writes', async () => {
    await using move = await moved(options);
    const crash = new AbortController();
    const died = await cut(move, {
      run: {
        abort: crash.signal,
        onPoint: (point) => {
          if (point === 'cut-over') crash.abort(new CanceledError('SIGINT'));
        },
      },
      onCommit: async (signal) => signal.throwIfAborted(),
    });
    expect(died.result).toBeInstanceOf(Error);
    expect(move.ledger(({ migration }) => migration.read().phase)).toBe('committed');
    // The application was not switched, and it began to write again.
    await move.put({ id: 'late', customerId: 'x', tenantId: 'P' });
    await move.admin.split('shop/orders');

    const second = await cut(move, { watchMs: 300 });
    expect(second.hooks).toEqual(['commit']);
    expect(second.result).toMatchObject({
      phase: 'committed',
      lateWrites: [{ ids: ['"late"'], what: 'written' }],
    });
    // Everything is done; a further run reports it again.
    const third = await cut(move, { watchMs: 60_000 });
    expect(third.hooks).toEqual([]);
    expect(third.result).toMatchObject({ lateWrites: [{ ids: ['"late"'] }] });
  });

  test('hook fails -> the next run calls it again', async () => {
    await using move = await moved(options);
    const failing = new NotReadyError('the command of --on-commit failed', { why: 'it', hint: 'try' });
    const first = await cut(move, { onCommit: async () => Promise.reject(failing) });
    expect(first.result).toMatchObject({
      message: 'the target is in use, but the command of --on-commit failed',
      exitCode: 9,
    });
    expect(first.hooks).toEqual(['fence']);
    const second = await cut(move);
    expect(second.result).toMatchObject({ phase: 'committed', lateWrites: [] });
    expect(second.hooks).toEqual(['commit']);
  });
});

test('cutover: crash after a commit without a hook -> the next run needs none', async () => {
  await using move = await moved({});
  const crash = new AbortController();
  const onPoint = (point: string): void => {
    if (point === 'cut-over') crash.abort(new CanceledError('SIGINT'));
  };
  const pause = async (signal: AbortSignal): Promise<boolean> => {
    signal.throwIfAborted();
    return false;
  };
  const died = await cut(move, {
    run: { abort: crash.signal, onPoint },
    ttl: { pause },
    onCommit: null,
  });
  expect(died.result).toBeInstanceOf(CanceledError);
  const unfinished = move.ledger(({ journal }) => journal.unfinished());
  expect(unfinished).toMatchObject({ hasHook: false, since: new Set() });
  expect((await cut(move, { onCommit: null })).result).toMatchObject({ isSwitched: false });
  expect(move.ledger(({ journal }) => journal.unfinished())).toBeNull();

  // The journal of an older cosmig does not say whether a hook was given, so it is not skipped.
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    const commit = { event: 'phase', phase: 'committed', stoppedMs: 1, likeSource: [], proof: null } as const;
    ledger.journal.append(commit, Date.now());
  }
  expect((await cut(move, { onCommit: null })).result).toMatchObject({
    exitCode: 9,
    message: 'the target is in use, but the command of --on-commit has not succeeded yet',
    why: expect.stringContaining('perhaps') as string,
  });
});

test('cutover: refused after an earlier one crashed -> lets writers resume', async () => {
  await using move = await moved({});
  const crash = new AbortController();
  const died = await cut(move, {
    run: { abort: crash.signal },
    stopWriters: async () => crash.abort(new CanceledError('SIGINT')),
  });
  expect(died.hooks).toEqual([]);
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('fencing');
  const refused = await cut(move, { lastCleanMs: () => null });
  expect(refused.result).toMatchObject({ message: 'no clean verification on record' });
  expect(refused.hooks).toEqual(['abort']);
  // Writers have resumed, so a refusal now has no hook to call.
  expect((await cut(move, { lastCleanMs: () => null })).hooks).toEqual([]);
});

test('cutover: some deletes were not reported -> says so before writers are stopped', async () => {
  await using move = await moved({});
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    for (const { number } of ledger.leases.live()) ledger.leases.change(number, { sweepPending: true });
  }
  const { result, said } = await cut(move);
  expect(result).toMatchObject({ phase: 'committed' });
  expect(said.split('\n').slice(0, 4)).toEqual([
    'some deletes or renames in the source were not reported: all documents will be compared with writers stopped; to avoid this, run cosmig verify --repair first',
    'catching up',
    'there will be no way back: after the commit the source is not kept up to date (--keep-source-for makes one)',
    'stopping the writers',
  ]);
});

test('cutover: no permission to count documents -> refused before writers are stopped', async () => {
  await using move = await moved({});
  for (const coll of ['orders', 'by-tenant']) {
    await move.admin.faults([{ match: { op: 'query', coll }, effect: { status: 400 } }]);
    const { result, hooks } = await cut(move);
    expect([result, hooks]).toEqual([expect.objectContaining({ exitCode: 6 }), []]);
  }
  // A range that is splitting is not a refusal.
  await move.admin.faults([{ match: { op: 'query' }, times: 2, effect: { status: 410, substatus: 1002 } }]);
  expect((await cut(move)).result).toMatchObject({ phase: 'committed' });
});

test('cutover: watching for late writes -> no stall warning', async () => {
  await using move = await moved({});
  // From the commit on, the clock runs 30 times as fast.
  let committedMs: number | undefined;
  const clock = clockAt(() => Date.now() + (committedMs === undefined ? 0 : 30 * (Date.now() - committedMs)));
  const { result } = await cut(move, {
    run: { clock },
    onCommit: async () => void (committedMs = Date.now()),
    watchMs: 90_000,
  });
  expect(result).toMatchObject({ phase: 'committed', lateWrites: [] });
  expect(move.lines.filter((line) => line.includes('nothing has moved'))).toEqual([]);
});

test('cutover: settings fail -> reported after the switch, and tried again by the next run', async () => {
  await using move = await moved({});
  const names: string[][] = [];
  const applySettings = async (asked: readonly string[]): Promise<[]> => {
    names.push([...asked]);
    if (names.length === 1) throw new NotReadyError('no right to see them', { why: 'it', hint: 'sign in' });
    return [];
  };
  const first = await cut(move, { likeSource: ['ttl'], applySettings });
  expect(first.result).toMatchObject({ phase: 'committed', trouble: { message: 'no right to see them' } });
  expect(first.hooks).toEqual(['fence', 'commit']);
  const second = await cut(move, { applySettings });
  expect(second.result).toMatchObject({ phase: 'committed', settings: [] });
  expect([second.hooks, names]).toEqual([[], [['ttl'], ['ttl']]]);
  // Applied once: later the operator may have changed it on purpose.
  await cut(move, { applySettings });
  await cut(move, { applySettings, likeSource: ['indexing'] });
  expect(names.slice(2)).toEqual([[], ['indexing']]);
});

test('cutover: settings -> requested ones come before the switch, the report after it', async () => {
  for (const likeSource of [[], ['ttl']]) {
    await using move = await moved({});
    const order: string[] = [];
    await cut(move, {
      likeSource,
      applySettings: async (names) => {
        order.push(`settings ${names.join()}`);
        return [];
      },
      onCommit: async () => void order.push('switched'),
    });
    expect(order).toEqual(likeSource.length === 0 ? ['switched', 'settings '] : ['settings ttl', 'switched']);
  }
});

test('cutover: settings get no answer -> the switch is delayed for seconds only', async () => {
  await using move = await moved({});
  const never = async (_names: readonly string[], signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  const { result, hooks } = await cut(move, { likeSource: ['ttl'], applySettings: never });
  expect(hooks).toEqual(['fence', 'commit']);
  expect(result).toMatchObject({
    phase: 'committed',
    trouble: {
      message: 'the target is in use, but its settings could not be checked in time',
      exitCode: 9,
    },
  });
});

describe('cutover: a document that differs', () => {
  const suspect = (n: number) => ({
    name: [JSON.stringify(`${n}`), JSON.stringify(`c${n}`)],
    seenAt: [[`t${n % 2}`]],
  });

  test.each<readonly [string, MoveOptions, readonly string[]]>([
    // A document that did not change since the last clean verify may have been deleted.
    ['deletes not reported', {}, ['all', 'what differed']],
    ['deletes are marked', { flags: { deletes: ['marker:/gone'] } }, ['all', 'what differed']],
  ])('expires during each comparison, %s -> repaired', async (_how, options, scopes) => {
    const ttl = { source: { defaultTtl: -1 }, target: { defaultTtl: -1 } };
    await using move = await moved({ ...ttl, ...options });
    const asked: string[] = [];
    const { result, hooks } = await cut(move, {
      prove: async (_signal, scope) => {
        const n = asked.push(scope) - 1;
        if (scope === 'what differed') return { equal: true, why: '', suspects: [] };
        await move.source.item(`${n}`, `c${n}`).delete();
        return { equal: false, why: '1 extra', suspects: [suspect(n)], areExtra: true };
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    expect([asked, hooks]).toEqual([scopes, ['fence', 'commit']]);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test('another one expires each time -> the comparisons end', async () => {
    await using move = await moved({ settings: { avad: true }, source: { defaultTtl: -1 } });
    const asked: string[] = [];
    const { result } = await cut(move, {
      prove: async (_signal, scope) => {
        const n = asked.push(scope) - 1;
        if (scope === 'what differed') return { equal: true, why: '', suspects: [] };
        return { equal: false, why: '1 extra', suspects: [suspect(n)], areExtra: true };
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    expect(asked).toEqual(['changes', 'changes', 'all', 'what differed']);
  });

  test.each<readonly [string, MoveOptions, boolean]>([
    ['not only expired', { source: { defaultTtl: -1 }, target: { defaultTtl: -1 } }, false],
    ['cannot expire', {}, true],
  ])('%s -> compared until nothing differs', async (_how, options, areExtra) => {
    await using move = await moved(options);
    let asked = 0;
    const { result } = await cut(move, {
      prove: async () => {
        asked += 1;
        const equal = asked === 4;
        return { equal, why: '1', suspects: equal ? [] : [suspect(asked)], areExtra };
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    expect(asked).toBe(4);
  });

  test('expired meanwhile, reported by a feed -> the tail replicates it', async () => {
    // Documents do not expire in the target by themselves.
    await using move = await moved({ settings: { avad: true }, source: { defaultTtl: -1 } });
    await move.put({ id: 'mortal', customerId: 'm', tenantId: 'P', ttl: 60 });
    await move.run('catch-up');
    const isThere = async (): Promise<boolean> =>
      (await move.target.item('mortal', 'P').read()).statusCode === 200;
    expect(await isThere()).toBe(true);
    const { result } = await cut(move, {
      prove: async (signal) => {
        await move.admin.clock(120_000);
        await move.admin.purgeExpired('shop/orders');
        // The real comparison also waits for documents in flight.
        while ((await isThere()) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 50));
        return { equal: !signal.aborted, why: '', suspects: [] };
      },
      deadlineMs: 60_000,
    });
    expect(result).toMatchObject({ phase: 'committed' });
  });

  test('differs again after its repair -> the cutover is refused', async () => {
    await using move = await moved({ source: { defaultTtl: -1 }, target: { defaultTtl: -1 } });
    const { result } = await cut(move, {
      prove: async () => ({ equal: false, why: '1 extra', suspects: [suspect(1)], areExtra: true }),
    });
    expect(result).toMatchObject({ message: 'source and target are not equal' });
    expect(move.ledger(({ migration }) => migration.read().phase)).toBe('tailing');
  });
});
