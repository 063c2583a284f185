import { describe, expect, test } from 'vitest';
import { TroubleError, type Trouble, type TroubleKind } from '../../../../src/cosmos/transport/trouble.ts';
import {
  Patience,
  retrying,
  logWaits,
  type PatienceParts,
  type Wait,
} from '../../../../src/cosmos/load/retry.ts';
import { createLog } from '../../../../src/lib/log.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { HurriedClock, VirtualClock } from '../../../helpers/clock.ts';

const { signal: forever } = new AbortController();

function trouble(kind: TroubleKind, more: Partial<Trouble> = {}): Trouble {
  return { kind, status: 0, substatus: 0, what: `it was ${kind}`, chargeRu: 0, ...more };
}

/** Time passes by waiting only. */
function rig(random = seededRandom(1)): {
  patience: Patience;
  waits: Wait[];
  parts: PatienceParts & { readonly clock: VirtualClock };
} {
  const clock = new HurriedClock();
  const waits: Wait[] = [];
  const parts = {
    clock,
    random,
    onWait: (wait: Wait) => void waits.push(wait),
  };
  return { patience: new Patience(parts), waits, parts };
}

/** Fails in these ways, then gives a word. */
function failing(...troubles: readonly Trouble[]): () => Promise<string> {
  let at = 0;
  return async () => {
    const next = troubles[at];
    at += 1;
    if (next !== undefined) throw new TroubleError(next);
    return 'done';
  };
}

test('retrying: passing trouble -> waits longer each time, names the reason, and returns the result', async () => {
  const { patience, waits } = rig();
  const work = failing(
    trouble('transient'),
    trouble('transient'),
    trouble('transient'),
    trouble('throttled'),
  );
  await expect(retrying(work, { signal: forever, patience })).resolves.toBe('done');
  expect(waits.map(({ reason, attempt }) => [reason, attempt])).toEqual([
    ['transient', 1],
    ['transient', 2],
    ['transient', 3],
    ['throttled', 1],
  ]);
  const [first = 0, second = 0, third = 0] = waits.map(({ delayMs }) => delayMs);
  expect(first).toBeGreaterThanOrEqual(50);
  expect(first).toBeLessThanOrEqual(100);
  expect(second).toBeGreaterThanOrEqual(100);
  expect(third).toBeGreaterThanOrEqual(200);
});

test('patience: a hint of the service -> never shorter than the hint, and spread between callers', () => {
  const delays = Array.from(
    { length: 50 },
    (_, seed) => rig(seededRandom(seed)).patience.next(trouble('throttled', { retryAfterMs: 1000 })).delayMs,
  );
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(1000);
  expect(Math.max(...delays)).toBeLessThanOrEqual(1300);
  expect(new Set(delays).size).toBeGreaterThan(20);
});

describe('patience: gives up', () => {
  test.each(['ambiguous', 'conflict', 'too-large', 'fatal', 'split'] as const)(
    '%s -> at once',
    async (kind) => {
      const { patience, waits } = rig();
      const run = retrying(failing(trouble(kind)), { signal: forever, patience });
      await expect(run).rejects.toMatchObject({ trouble: { kind } });
      expect(waits).toEqual([]);
    },
  );

  test.each([
    ['denied', 120],
    ['transient', 300],
    ['throttled', 900],
  ] as const)('%s that lasts -> exit code 6 within %i s', async (kind, seconds) => {
    const { patience, waits, parts } = rig();
    const startedMs = parts.clock.now();
    const run = retrying(() => Promise.reject(new TroubleError(trouble(kind))), {
      signal: forever,
      patience,
    });
    await expect(run).rejects.toMatchObject({ exitCode: 6, trouble: { kind } });
    const lastedMs = parts.clock.now() - startedMs;
    expect(lastedMs).toBeLessThanOrEqual(seconds * 1000);
    expect(lastedMs).toBeGreaterThan(seconds * 1000 * 0.85);
    // Even so the waits grow, so that the service is not flooded.
    expect(waits.length).toBeLessThan(200);
  });

  test('kinds of trouble that alternate -> it still ends', async () => {
    const { patience, waits, parts } = rig();
    const startedMs = parts.clock.now();
    let turn = 0;
    const work = async (): Promise<never> => {
      turn += 1;
      parts.clock.advance(1000);
      throw new TroubleError(trouble(turn % 2 === 0 ? 'transient' : 'throttled'));
    };
    await expect(retrying(work, { signal: forever, patience })).rejects.toMatchObject({
      trouble: { kind: 'transient' },
    });
    expect(parts.clock.now() - startedMs).toBeLessThan(16 * 60_000);
    expect(waits.length).toBeGreaterThan(10);
  });

  test('the clock is set forward while the service throttles -> patience lasts as long as before', () => {
    const { patience, parts } = rig();
    for (let seconds = 0; seconds < 890; seconds += 10) {
      patience.endure(trouble('throttled'));
      parts.clock.advance(10_000);
      if (seconds === 100) parts.clock.step(600_000);
    }
    expect(patience.endure(trouble('throttled')).lastedMs).toBe(890_000);
  });

  test('the signal is aborted during a wait -> the wait ends', async () => {
    const stop = new AbortController();
    const run = retrying(failing(trouble('throttled', { retryAfterMs: 60_000 })), {
      signal: stop.signal,
      patience: new Patience({
        clock: new VirtualClock(),
        random: seededRandom(1),
        onWait: () => stop.abort(new Error('stop')),
      }),
    });
    await expect(run).rejects.toThrow('stop');
  });

  test('an error that is not trouble -> thrown at once', async () => {
    const { patience } = rig();
    await expect(
      retrying(() => Promise.reject(new TypeError('ours')), { signal: forever, patience }),
    ).rejects.toThrow(TypeError);
  });
});

test('retrying: a split -> waited for only where asked; a success starts the patience again', async () => {
  const { patience, waits } = rig();
  const options = { signal: forever, patience, splits: 'waited-for' } as const;
  await retrying(failing(trouble('split'), trouble('split')), options);
  await retrying(failing(trouble('split')), options);
  expect(waits.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
});

test('logWaits: a long wait -> logged now and then, with the account', async () => {
  const said: string[] = [];
  const clock = new VirtualClock();
  const write = (line: string): void => void said.push(line);
  const onWait = logWaits(createLog({ level: 'warn', format: 'text', clock, write }), clock);
  const at = 'https://myaccount.documents.azure.com/';
  // Each asks for three seconds of patience, and several wait at a time.
  for (let lastedMs = 0; lastedMs <= 60_000; lastedMs += 3000) {
    for (const reason of ['throttled', 'transient'] as const)
      onWait({ reason, delayMs: 3000, attempt: 1, lastedMs, trouble: trouble('throttled', { at }) });
    clock.advance(3000);
  }
  expect(said).toEqual([
    expect.stringContaining(`waiting for ${at}: it was throttled, for 6 s now`),
    expect.stringContaining(`waiting for ${at}: it was throttled, for 36 s now`),
  ]);
});
