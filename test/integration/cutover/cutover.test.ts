import { describe, expect, test } from 'vitest';
import type { CutoverOptions, CutoverResult } from '../../../src/engine/cutover/contract.ts';
import { abortReason, whenAborted } from '../../../src/lib/abort.ts';
import { CanceledError, NotReadyError } from '../../../src/lib/errors.ts';
import { runCutover, type RunParts, type RunSnapshot } from '../../../src/engine/run.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';

const AVAD: MoveOptions = { settings: { avad: true } };

interface Cut extends Partial<CutoverOptions> {
  readonly parts?: Partial<RunParts>;
}

/** A cutover of a container that gets no writes by default; compares both sides document by document. */
async function cut(
  move: Move,
  { parts = {}, ...cutover }: Cut = {},
): Promise<{ result: (RunSnapshot & CutoverResult) | Error; said: string[]; hooks: string[] }> {
  const said: string[] = [];
  const hooks: string[] = [];
  const result = await runCutover(move.parts(parts), {
    ...CUTOVER,
    stopWriters: async () => void hooks.push('stop'),
    onCommit: async () => void hooks.push('commit'),
    onAbort: async (why) => void hooks.push(`abort: ${why}`),
    prove: async () => {
      const [source, target] = [await move.documents(move.source), await move.documents(move.target)];
      const equal = JSON.stringify(source) === JSON.stringify(target);
      return { equal, why: equal ? '' : 'they differ', suspects: [] };
    },
    say: (text) => said.push(text),
    deadlineMs: 60_000,
    quietMs: 100,
    ...cutover,
  }).catch((error: unknown) => error as Error);
  return { result, said, hooks };
}

/** Puts documents one by one, with pauses shorter than the watch of the fence. */
async function each(count: number, work: (n: number) => Promise<void>): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await work(n);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const phaseOf = (move: Move): string => move.ledger(({ migration }) => migration.read().phase);
const journalOf = (move: Move): string[] =>
  move.ledger(({ journal }) =>
    journal
      .entries({ after: 0, limit: 100 })
      .map((entry) => (entry.event === 'phase' ? `phase ${entry.phase}` : entry.event)),
  );

async function moved(options: MoveOptions = AVAD): Promise<Move> {
  const move = await Move.open(options);
  await move.put(
    { id: '1', customerId: 'a', tenantId: 'P' },
    { id: '2', customerId: 'a', tenantId: 'P' },
    { id: '3', customerId: 'b', tenantId: 'Q' },
  );
  await move.run('copy');
  return move;
}

describe('cutover', () => {
  test('nothing wrong -> passes every phase, commits, and leaves nothing to tail', async () => {
    await using move = await moved();
    await move.put({ id: '1', customerId: 'a', tenantId: 'R' });
    const { result, hooks } = await cut(move);
    expect(result).toMatchObject({ complete: true, phase: 'committed', lateWrites: [] });
    expect(hooks).toEqual(['stop', 'commit']);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
    expect(journalOf(move).filter((event) => event.startsWith('phase'))).toEqual([
      'phase copying',
      'phase tailing',
      'phase ready',
      'phase fencing',
      'phase drained',
      'phase proven',
      'phase committed',
    ]);
    await expect(move.run('tail')).rejects.toThrow('committed: the target is in use');
    // Run again, it reports what was done and calls no hook a second time.
    const again = await cut(move);
    expect(again.result).toMatchObject({ phase: 'committed', lateWrites: [] });
    expect(again.hooks).toEqual([]);
  });

  test('writes still arrive -> waits for writers and reports what they wrote', async () => {
    await using move = await moved();
    let writing = Promise.resolve();
    const said: string[] = [];
    const areNamed = (): boolean => said.some((line) => line.startsWith('writes still arriving'));
    const writeUntilNamed = async (): Promise<void> => {
      for (let n = 0; !areNamed(); n += 1)
        await move.put({ id: `late${n % 9}`, customerId: 'z', tenantId: 'Z', n });
    };
    const { result } = await cut(move, {
      quietMs: 200,
      stopWriters: async () => {
        // The hook returns although writers continue.
        writing = writeUntilNamed();
      },
      say: (text) => said.push(text),
    });
    await writing;
    expect(result).toMatchObject({ phase: 'committed' });
    expect(said.join('\n')).toMatch(/writes still arriving: "late\d".* written in range 0/);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test('write during a comparison -> ignores its result and aborts it', async () => {
    await using move = await moved();
    let asked = 0;
    let calledOff = 0;
    const untilCalledOff = async (signal: AbortSignal): Promise<never> => {
      await whenAborted(signal);
      calledOff += 1;
      throw abortReason(signal);
    };
    const { result, said, hooks } = await cut(move, {
      prove: async (signal) => {
        asked += 1;
        if (asked < 4) await move.put({ id: 'late', customerId: 'z', tenantId: 'Z', n: asked });
        // Finds a difference, fails, does not end; then there are no more writes.
        if (asked === 1) return { equal: false, why: 'they differ', suspects: [] };
        if (asked === 2) throw new NotReadyError('cannot be', { why: 'it is tried', hint: 'none' });
        return asked === 3 ? untilCalledOff(signal) : { equal: true, why: '', suspects: [] };
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    expect([asked, calledOff, hooks]).toEqual([4, 1, ['stop', 'commit']]);
    expect(said.filter((line) => line.includes('"late" written in range 0'))).toHaveLength(3);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test('comparison ends first -> shows that it watches the fence', async () => {
    await using move = await moved();
    const steps: string[] = [];
    const { result } = await cut(move, { onStep: ({ name }) => steps.push(name) });
    expect(result).toMatchObject({ phase: 'committed' });
    expect(steps).toEqual([
      'catching up',
      'stopping writers',
      'draining',
      'comparing',
      'watching the fence',
      'after the commit',
      'watching for late writes',
    ]);
  });

  test('replica lags -> the last write is still seen', async () => {
    await using move = await moved();
    const { result } = await cut(move, {
      stopWriters: async () => {
        await move.admin.account({ replicaLagMs: 3_600_000 });
        await move.put({ id: '1', customerId: 'a', tenantId: 'last' });
        await move.source.item('2', 'a').delete();
      },
      // A comparison on a lagging replica would prove nothing.
      prove: async () => ({ equal: true, why: '', suspects: [] }),
    });
    await move.admin.account({ replicaLagMs: 0 });
    expect(result).toMatchObject({ phase: 'committed', lateWrites: [] });
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test('deadline passes -> backs out, the source stays in use', async () => {
    await using move = await moved();
    let n = 0;
    const writing = setInterval(
      () => void move.put({ id: `w${(n += 1) % 5}`, customerId: 'z', tenantId: 'Z', n }),
      30,
    );
    const { result, hooks } = await cut(move, { deadlineMs: 1500 });
    clearInterval(writing);
    expect(result).toMatchObject({
      message: 'the cutover did not finish in time',
      exitCode: 3,
      // Its hook lets the writers resume, so the operator need not.
      hint: expect.stringMatching(/^before the next try /) as unknown,
    });
    expect(hooks).toEqual(['stop', 'abort: the cutover did not finish in time']);
    expect(phaseOf(move)).toBe('tailing');
    await move.run('catch-up');
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
    expect((await cut(move)).result).toMatchObject({ phase: 'committed' });
  });

  test('delete behind the fence -> reported; expiration -> not', async () => {
    await using move = await moved({ ...AVAD, source: { defaultTtl: -1 }, flags: { ttl: ['remaining'] } });
    await move.put({ id: '9', customerId: 'a', tenantId: 'P', ttl: 60 });
    await move.run('catch-up');
    await move.put(...[1, 2, 3, 4, 5].map((n) => ({ id: `d${n}`, customerId: 'a', tenantId: 'P' })));
    const deleteAndExpire = async (): Promise<void> => {
      await each(5, async (n) => void (await move.source.item(`d${n}`, 'a').delete()));
      await move.admin.clock(120_000);
      await move.admin.purgeExpired('shop/orders');
    };
    let writing = Promise.resolve();
    const { result, said } = await cut(move, {
      quietMs: 200,
      stopWriters: async () => {
        writing = deleteAndExpire();
      },
      prove: async () => {
        await writing;
        return { equal: true, why: '', suspects: [] };
      },
    });
    expect(result).toMatchObject({ phase: 'committed' });
    const named = said.filter((line) => line.startsWith('writes still arriving')).join('\n');
    expect(named).toMatch(/"d\d"(?: and perhaps others)? deleted in range 0/);
    expect(named).not.toContain('"9"');
    expect((await move.documents(move.source)).map(({ id }) => id)).toEqual(['1', '2', '3']);
  });

  test.each<readonly [string, Cut, string]>([
    ['no clean verify', { lastCleanMs: () => null }, 'no clean verification on record'],
    [
      'sides that differ',
      { prove: async () => ({ equal: false, why: '1 missing', suspects: [] }) },
      'source and target are not equal',
    ],
    ['a hook that fails', { stopWriters: async () => Promise.reject(new Error('no')) }, 'no'],
  ])('%s -> refused, and the phase stays', async (_why, parts, message) => {
    await using move = await moved();
    const { result } = await cut(move, parts);
    expect(result).toMatchObject({ message });
    expect(phaseOf(move)).toBe('tailing');
  });

  test('open dead letters -> refused', async () => {
    await using move = await moved();
    await move.put({ id: '1', customerId: 'other', tenantId: 'P' });
    const { result, hooks } = await cut(move);
    expect(result).toMatchObject({ message: 'a document is not in the target', exitCode: 3 });
    expect([phaseOf(move), hooks]).toEqual(['tailing', []]);
    expect(move.ledger(({ units }) => units.unsettled())).toEqual([]);
  });

  test('differences -> repaired, copies unknown to the ledger included', async () => {
    await using move = await moved({});
    await move.source.item('2', 'a').delete();
    const [gone] = (await move.documents(move.target)).filter(({ id }) => id === '2');
    let asked = 0;
    // Twice more, the target was written to since it was compared: by the repair, and then by another process.
    const targetUpTo = new Map([['0', 0]]);
    const { result, said } = await cut(move, {
      prove: async () => {
        asked += 1;
        const suspects = asked === 1 ? [move.suspect({ id: '2', customerId: 'a', tenantId: 'P' })] : [];
        return { equal: asked > 1, why: '1 extra', suspects, ...(asked < 4 ? { targetUpTo } : {}) };
      },
    });
    expect([gone?.id, asked]).toEqual(['2', 4]);
    expect(said.filter((text) => text.includes('compared'))).toEqual([
      'comparing what was written in the target since it was compared, with the repairs',
      'the target has changed since it was compared; comparing what was written',
    ]);
    expect(result).toMatchObject({ phase: 'committed', documents: { deleted: 1 } });
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  });

  test('crash before the commit -> the next one starts at the gate', async () => {
    await using move = await moved();
    const crash = new AbortController();
    const { result } = await cut(move, {
      parts: { abort: crash.signal },
      prove: async () => {
        crash.abort(new CanceledError('SIGINT'));
        return { equal: true, why: '', suspects: [] };
      },
    });
    expect(result).toBeInstanceOf(Error);
    expect(phaseOf(move)).not.toBe('committed');
    expect((await cut(move)).result).toMatchObject({ phase: 'committed' });
    expect(journalOf(move).filter((event) => event === 'phase tailing')).toHaveLength(2);
    // A refused run shows no progress before it is refused.
    const shown: unknown[] = [];
    const refused = move.run('tail', { onSnapshot: (snapshot) => shown.push(snapshot) });
    await expect(refused).rejects.toThrow('this migration is committed');
    expect(shown).toEqual([]);
  });

  test('Ctrl-C in the gate -> says that no writer was stopped', async () => {
    await using move = await moved();
    const ctrlC = new AbortController();
    const { result, said } = await cut(move, {
      parts: { abort: ctrlC.signal },
      keepSource: async (signal) => {
        ctrlC.abort(new CanceledError('SIGINT'));
        signal.throwIfAborted();
        return null;
      },
    });
    expect(result).toBeInstanceOf(CanceledError);
    expect(said.at(-1)).toBe('no writer was stopped, and nothing was committed');
    expect(journalOf(move)).not.toContain('phase fencing');
  });

  test('late writes -> reported loudly', async () => {
    await using move = await moved();
    const { result, said } = await cut(move, {
      watchMs: 300,
      onCommit: async () => move.put({ id: 'oops', customerId: 'a', tenantId: 'P' }),
    });
    expect(result).toMatchObject({ phase: 'committed', lateWrites: [{ ids: ['"oops"'], what: 'written' }] });
    expect(said.join('\n')).toContain('LATE WRITE after the commit, not replicated: "oops" written');
    expect((await move.documents(move.target)).map(({ id }) => id)).not.toContain('oops');
  });
});
