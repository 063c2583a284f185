import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BatchReply, OperationResult, RangeWait } from '../../../../src/cosmos/bulk/operation.ts';
import type { Load } from '../../../../src/cosmos/load/range-limit.ts';
import { Lab, PLACES, done, refused, settled, throttled, type Request } from './dispatcher-lab.ts';
import { draws } from '../../../helpers/generated.ts';

const reasons = (waits: RangeWait[]): string[] => waits.map(({ reason }) => reason);

describe('dispatcher: a range', () => {
  test('idle -> sends at once all that one turn of the event loop brings; busy -> waits for more operations', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let i = 0; i < 3; i += 1) lab.add();
    await settled();
    const first = lab.take();
    expect(first.numbers).toEqual([1, 2, 3]);
    lab.add();
    await settled();
    expect(lab.requests).toEqual([]);
    expect(reasons(lab.dispatcher.waits())).toEqual(['filling']);
    await lab.advance(5);
    expect(lab.requests.map(({ numbers }) => numbers)).toEqual([[4]]);
    expect(reasons(lab.dispatcher.waits())).toEqual(['in flight']);
    first.reply(done(first));
    const second = lab.take();
    second.reply(done(second));
    await settled();
    expect([1, 2, 3, 4].map((number) => lab.outcome(number))).toEqual(['done', 'done', 'done', 'done']);
    expect(reasons(lab.dispatcher.waits())).toEqual(['nothing to do']);
    lab.dispatcher.drain();
    await run;
    expect(lab.timers).toBe(0);
  });

  test('more is expected -> a small batch waits until it is worth a request, until no more comes, or for 500 ms', async () => {
    const lab = new Lab();
    let isExpecting = true;
    lab.dispatcher.filling.expectsMore = () => isExpecting;
    const run = lab.dispatcher.run(lab.stop.signal);
    const sent = (): number[] => lab.requests.splice(0).map(({ numbers }) => numbers.length);
    for (let i = 0; i < 31; i += 1) lab.add();
    await settled();
    expect([sent(), reasons(lab.dispatcher.waits())]).toEqual([[], ['filling']]);
    lab.add();
    await settled();
    expect(sent()).toEqual([32]);
    lab.add();
    await lab.advance(490);
    expect(sent()).toEqual([]);
    await lab.advance(20);
    expect(sent()).toEqual([1]);
    lab.add();
    await lab.advance(100);
    isExpecting = false;
    await lab.advance(10);
    expect(sent()).toEqual([1]);
    isExpecting = true;
    lab.add();
    await settled();
    expect(sent()).toEqual([]);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect([lab.dispatcher.unfinished, lab.timers]).toEqual([0, 0]);
  });

  test('128 batches in flight -> a small one waits for a reply, or 500 ms; a full one does not', async () => {
    const lab = new Lab();
    lab.known = lab.actual = Array.from({ length: 131 }, (_, n) => n);
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let range = 0; range < 128; range += 1) lab.add(range);
    await settled();
    expect(lab.requests).toHaveLength(128);
    lab.add(128);
    for (let i = 0; i < 100; i += 1) lab.add(129);
    await lab.advance(10);
    expect(lab.requests.map(({ numbers }) => numbers.length).slice(128)).toEqual([100]);
    for (const request of lab.requests.splice(0, 2)) request.reply(done(request));
    await lab.advance(10);
    expect(lab.requests.map(({ numbers }) => numbers.length).slice(127)).toEqual([1]);
    lab.add(130);
    await lab.advance(480);
    expect(lab.requests).toHaveLength(128);
    await lab.advance(40);
    expect(lab.requests).toHaveLength(129);
    for (const request of lab.requests.splice(0)) request.reply(done(request));
    lab.dispatcher.drain();
    await run;
    expect(lab.timers).toBe(0);
  });

  test('256 batches in flight -> a small one waits for a reply, or 2 s', async () => {
    const lab = new Lab();
    lab.known = lab.actual = Array.from({ length: 260 }, (_, n) => n);
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let range = 0; range < 256; range += 1) lab.add(range);
    await lab.advance(520);
    expect(lab.requests).toHaveLength(256);
    lab.add(256);
    await lab.advance(1980);
    expect(lab.requests).toHaveLength(256);
    await lab.advance(40);
    expect(lab.requests).toHaveLength(257);
    lab.add(257);
    await lab.advance(1000);
    for (const request of lab.requests.splice(0, 2)) request.reply(done(request));
    await lab.advance(10);
    expect(lab.requests).toHaveLength(256);
    for (const request of lab.requests.splice(0)) request.reply(done(request));
    lab.dispatcher.drain();
    await run;
    expect(lab.timers).toBe(0);
  });

  test('throttled -> rests as long as the service asks, and no other range rests', async () => {
    const lab = new Lab({ governor: 'real' });
    lab.known = lab.actual = [0, 32];
    const run = lab.dispatcher.run(lab.stop.signal);
    const slow = lab.add(0);
    await settled();
    lab.take().reply({ chargeRu: 0, results: throttled(1000) });
    await settled();
    for (let round = 0; round < 10; round += 1) {
      const quick = lab.add(40);
      await settled();
      const request = lab.take();
      expect(request.range).toBe('r32/2');
      request.reply(done(request));
      await lab.advance(50);
      expect(lab.outcome(quick)).toBe('done');
    }
    expect(lab.dispatcher.waits()[0]).toMatchObject({ range: 'r0/2', reason: 'throttled', operations: 1 });
    await lab.advance(499);
    expect(lab.requests).toEqual([]);
    // The hint is kept; jitter only adds to it.
    await lab.advance(252);
    const request = lab.take();
    expect(request.numbers).toEqual([slow]);
    request.reply(done(request));
    lab.dispatcher.drain();
    await run;
  });

  test('throttled repeatedly -> each time it waits once, by the hint of the service', async () => {
    const lab = new Lab({ governor: 'real' });
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    await settled();
    for (let times = 0; times < 12; times += 1) {
      lab.take().reply({ chargeRu: 0, results: throttled(400) });
      await lab.advance(399);
      expect(lab.requests).toEqual([]);
      // The range limit spreads the hint by up to a quarter; nothing is added to that.
      await lab.advance(101);
      expect(lab.requests).toHaveLength(1);
    }
    const request = lab.take();
    request.reply(done(request));
    lab.dispatcher.drain();
    await run;
  });

  test('throttled for ever -> the run ends after 15 minutes, and names the reason', async () => {
    const lab = new Lab({ governor: 'real' });
    const beganMs = lab.clock.monotonicMs();
    const run = lab.dispatcher.run(lab.stop.signal);
    const number = lab.add();
    const thrown: unknown[] = [];
    const watched = run.catch((error: unknown) => thrown.push(error));
    await settled();
    while (thrown.length === 0) {
      for (const request of lab.requests.splice(0)) request.reply({ chargeRu: 0, results: throttled(5000) });
      await lab.advance(6250);
    }
    await watched;
    expect(thrown.map(String)).toEqual([expect.stringMatching(/it is throttled, for \d+ s now/)]);
    expect((lab.clock.monotonicMs() - beganMs) / 60_000).toBeCloseTo(15, 0);
    expect(lab.outcome(number)).toBe('not-done');
  });

  test('a mixed reply -> sends again what was refused, never what may have happened', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let i = 0; i < 4; i += 1) lab.add();
    await settled();
    const results: OperationResult<number>[] = [
      { is: 'done', value: 1 },
      throttled(10),
      { is: 'ambiguous' },
      refused('transient'),
    ];
    lab.take().reply({ chargeRu: 4, results });
    await lab.advance(100);
    const again = lab.take();
    expect(again.numbers).toEqual([2, 4]);
    again.reply(done(again));
    lab.dispatcher.drain();
    await run;
    expect([1, 2, 3, 4].map((number) => lab.outcome(number))).toEqual(['done', 'done', 'ambiguous', 'done']);
  });

  test('no reply -> the range rests, and nothing is sent again', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    await settled();
    lab.take().reply({ chargeRu: 0, results: { is: 'ambiguous' } });
    await settled();
    lab.add();
    await settled();
    expect([lab.outcome(1), lab.requests.length]).toEqual(['ambiguous', 0]);
    expect(reasons(lab.dispatcher.waits())).toEqual(['transient']);
    await lab.advance(100);
    const request = lab.take();
    expect(request.numbers).toEqual([2]);
    request.reply(done(request));
    lab.dispatcher.drain();
    await run;
  });

  test('a split -> the ranges are listed once, and operations go to the children', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add(1);
    lab.add(50);
    await settled();
    lab.add(51);
    await lab.advance(5);
    lab.add(2);
    lab.actual = [0, 32];
    const split: BatchReply<number> = { chargeRu: 0, results: refused('split') };
    const [first, second] = [lab.take(), lab.take()];
    first.reply(split);
    await settled();
    expect(reasons(lab.dispatcher.waits())).toEqual(['splitting']);
    await lab.advance(10);
    second.reply(split);
    await settled();
    const pending: Request[] = [];
    for (let i = 0; i < 3; i += 1) {
      await lab.advance(5);
      pending.push(...lab.requests.splice(0));
      for (const request of pending) request.reply(done(request));
    }
    const sent = pending.map(({ range, numbers }) => `${range}: ${numbers.join()}`);
    expect(sent.toSorted()).toEqual(['r0/2: 1,4', 'r32/2: 2', 'r32/2: 3']);
    expect(lab.refreshes).toBe(1);
    lab.dispatcher.drain();
    await run;
    expect(lab.dispatcher.waits().map(({ range }) => range)).not.toContain('r0/1');
  });

  test('a split that is not listed yet -> rests before the ranges are listed again', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    const number = lab.add(1);
    await settled();
    lab.take().reply({ chargeRu: 0, results: refused('split') });
    await lab.advance(10);
    expect(lab.requests).toEqual([]);
    expect(reasons(lab.dispatcher.waits())).toEqual(['split']);
    await lab.advance(100);
    const request = lab.take();
    request.reply(done(request));
    lab.dispatcher.drain();
    await run;
    expect(lab.outcome(number)).toBe('done');
  });

  test('admission -> waits for the governor, which observes every reply', async () => {
    const seen: Load[] = [];
    let budget = false;
    const lab = new Lab({
      governor: {
        admit: () => (budget ? 'go' : { reason: 'no budget', delayMs: 20 }),
        observe: (_range, observation) => seen.push(observation),
      },
    });
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    lab.add();
    await lab.advance(20);
    expect(lab.requests).toEqual([]);
    expect(reasons(lab.dispatcher.waits())).toEqual(['no budget']);
    budget = true;
    await lab.advance(20);
    const request = lab.take();
    lab.clock.advance(7);
    request.reply({ chargeRu: 12.5, results: [throttled(3), { is: 'done', value: 1 }] });
    await settled();
    expect(seen).toEqual([{ chargeRu: 12.5, operations: 2, throttled: 1, retryAfterMs: 3, elapsedMs: 7 }]);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
  });
});

describe('dispatcher: rests', () => {
  /** A lab with two batches of one range in flight. */
  async function twoOnTheirWay(): Promise<{ lab: Lab; run: Promise<void> }> {
    const lab = new Lab({ governor: 'real' });
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let i = 0; i < 200; i += 1) lab.add();
    await settled();
    expect(lab.requests).toHaveLength(2);
    return { lab, run };
  }

  test('a refusal of a batch sent before the rest -> not counted as another attempt', async () => {
    const { lab, run } = await twoOnTheirWay();
    for (const request of lab.requests.splice(0))
      request.reply({ chargeRu: 0, results: refused('transient') });
    await lab.advance(100);
    expect(lab.requests).toHaveLength(2);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
  });

  test('a shorter hint -> does not end a longer rest', async () => {
    const { lab, run } = await twoOnTheirWay();
    lab.take().reply({ chargeRu: 0, results: throttled(1000) });
    lab.take().reply({ chargeRu: 0, results: throttled(10) });
    await lab.advance(999);
    expect(lab.requests).toEqual([]);
    await lab.advance(251);
    expect(lab.requests).toHaveLength(2);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
  });

  test('two alarms -> the earlier one fires', async () => {
    let delayMs = 1000;
    const lab = new Lab({
      governor: {
        admit: () => (delayMs > 0 ? { reason: 'no budget', delayMs } : 'go'),
      },
    });
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    await settled();
    delayMs = 10;
    lab.add();
    await settled();
    delayMs = 0;
    await lab.advance(10);
    expect(lab.take().numbers).toEqual([1, 2]);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(lab.timers).toBe(0);
  });

  test('a governor that admits everything -> at most 64 requests in flight', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    for (let i = 0; i < 7000; i += 1) lab.add();
    await settled();
    expect(lab.requests).toHaveLength(64);
    expect(lab.dispatcher.waits()[0]).toMatchObject({ reason: 'in flight', operations: 600, inFlight: 64 });
    const sinceMs = lab.dispatcher.waits()[0]?.sinceMs ?? 0;
    lab.clock.advance(77);
    const request = lab.take();
    request.reply(done(request));
    await settled();
    // Progress: the stall warning starts to count again.
    expect(lab.dispatcher.waits()[0]?.sinceMs).toBe(sinceMs + 77);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
  });
});

describe('dispatcher: the end', () => {
  test('operations that are added while the run ends -> each gets an outcome', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    const ends: string[] = [];
    const insist = async (): Promise<void> => {
      while (ends.length < 40)
        await new Promise<void>((resolve) => {
          lab.dispatcher.add(
            lab.operation(0, ({ is }) => {
              ends.push(is);
              resolve();
            }),
          );
        });
    };
    const insisting = insist();
    await settled();
    lab.stop.abort(new Error('enough'));
    // Not a turn of the loop in between: right while the group ends.
    const late: number[] = [];
    for (let hops = 0; hops < 40; hops += 1) {
      late.push(lab.add());
      await Promise.resolve();
    }
    await expect(run).rejects.toThrow('enough');
    await insisting;
    expect(ends[0]).toBe('ambiguous');
    expect(new Set([...ends.slice(1), ...late.map((number) => lab.outcome(number))])).toEqual(
      new Set(['not-done']),
    );
  });

  test('drain -> sends batches that wait for more operations, and ends when all are complete', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    await settled();
    lab.add();
    await settled();
    expect(lab.timers).toBe(1);
    lab.dispatcher.drain();
    expect(() => lab.add()).toThrow('drains');
    await settled();
    expect(lab.requests).toHaveLength(2);
    for (const request of lab.requests) request.reply(done(request));
    await run;
    expect([lab.dispatcher.unfinished, lab.timers]).toEqual([0, 0]);
  });

  test('abort -> what waits is not done, what is in flight is ambiguous, later operations are not done', async () => {
    const lab = new Lab({ governor: 'real' });
    lab.known = [0, 32];
    lab.actual = [0, 32];
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add(1);
    lab.add(40);
    await settled();
    lab.take();
    lab.take().reply({ chargeRu: 0, results: throttled(60_000) });
    await settled();
    lab.add(1);
    lab.stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    lab.add(1);
    expect([1, 2, 3, 4].map((number) => lab.outcome(number))).toEqual([
      'ambiguous',
      'not-done',
      'not-done',
      'not-done',
    ]);
    expect([lab.dispatcher.unfinished, lab.timers]).toEqual([0, 0]);
  });

  test('an unexpected error of a request -> ends the run', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.add();
    await settled();
    lab.add();
    lab.take().fail(new Error('what is this'));
    await expect(run).rejects.toThrow('what is this');
    expect([1, 2].map((number) => lab.outcome(number))).toEqual(['ambiguous', 'not-done']);
  });

  test('an operation throws on completion -> the others are still completed', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    lab.dispatcher.add(
      lab.operation(0, () => {
        throw new Error('mine');
      }),
    );
    const other = lab.add();
    await settled();
    const request = lab.take();
    request.reply(done(request));
    await expect(run).rejects.toThrow('mine');
    expect([lab.outcome(other), lab.dispatcher.unfinished]).toEqual(['done', 0]);
  });

  test('denied for too long -> the run ends with the reason', async () => {
    const lab = new Lab();
    const run = lab.dispatcher.run(lab.stop.signal);
    const number = lab.add();
    const thrown: unknown[] = [];
    const watched = run.catch((error: unknown) => thrown.push(error));
    for (let attempts = 0; attempts < 50 && thrown.length === 0; attempts += 1) {
      await settled();
      for (const request of lab.requests.splice(0))
        request.reply({ chargeRu: 0, results: refused('denied') });
      await settled();
      await lab.advance(10_000);
    }
    await watched;
    expect(thrown.map(String)).toEqual([expect.stringContaining('it is denied')]);
    expect(lab.outcome(number)).toBe('not-done');
  });
});

/** The reply of a target that refuses, splits or loses some requests. */
function moody(lab: Lab, request: Request): BatchReply<number> {
  const { random } = lab;
  if (!lab.isThere(request.range)) return { chargeRu: 0, results: refused('split') };
  const mood = random.below(12);
  if (mood === 0) return { chargeRu: 0, results: throttled(random.below(50)) };
  if (mood === 1) return { chargeRu: 0, results: { is: 'ambiguous' } };
  if (mood === 2) return { chargeRu: 0, results: refused('transient') };
  if (mood < 8 && request.hasOnlyRuns) return { chargeRu: 1, results: { is: 'created' } };
  return {
    chargeRu: 1,
    results: request.numbers.map((value): OperationResult<number> => {
      const mood = random.below(20);
      if (mood === 0) return throttled(random.below(20));
      return mood === 1 ? { is: 'ambiguous' } : { is: 'done', value };
    }),
  };
}

test('dispatcher: random replies, splits and aborts -> each operation gets its one right outcome', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.boolean(), async (seed, aborts) => {
      let limit = 3;
      const lab = new Lab({
        seed,
        governor: {
          admit: (_range, { inFlight }) => (inFlight < limit ? 'go' : { reason: 'in flight' }),
        },
      });
      const { random, dispatcher } = lab;
      dispatcher.filling.expectsMore = () => random.below(2) === 0;
      const run = dispatcher.run(lab.stop.signal);
      const ended = run.then(
        () => 'drained',
        (error: unknown) => String(error),
      );
      /** What the target did with each operation, the last word first. */
      const truth = new Map<number, string>();
      const onItsWay = new Set<number>();
      const answered = new Set<Request>();
      let overlaps = 0;
      const answer = (request: Request): void => {
        const reply = moody(lab, request);
        const { results } = reply;
        for (const [i, number] of request.numbers.entries()) {
          const result = 'is' in results ? results : results[i];
          truth.set(number, result?.is === 'created' ? 'done' : (result?.is ?? ''));
          onItsWay.delete(number);
        }
        answered.add(request);
        request.reply(reply);
      };
      const open: Request[] = [];
      const collect = (): void => {
        for (const request of lab.requests.splice(0)) {
          open.push(request);
          for (const number of request.numbers) {
            // Not twice at once, and never again after an answer that was not a refusal.
            const before = truth.get(number);
            if (onItsWay.has(number) || before === 'done' || before === 'ambiguous') overlaps += 1;
            onItsWay.add(number);
          }
        }
      };
      let added = 0;
      for (let steps = 0; steps < 120; steps += 1) {
        for (let more = random.below(30); more > 0; more -= 1) {
          const place = random.below(PLACES);
          if (random.below(3) === 0)
            added += lab.addRun(Array.from({ length: 1 + random.below(40) }, (_, i) => place + (i % 4)));
          else {
            lab.add(place);
            added += 1;
          }
        }
        await settled();
        collect();
        for (let some = random.below(4); some > 0 && open.length > 0; some -= 1)
          answer(open.splice(random.below(open.length), 1)[0] as Request);
        if (random.below(4) === 0) await lab.advance(random.below(30));
        if (random.below(30) === 0) lab.actual = [0, ...lab.actual.map((start) => start / 2 + 32)];
        limit = 1 + random.below(4);
      }
      await settled();
      collect();
      if (aborts) lab.stop.abort(new Error('enough'));
      else dispatcher.drain();
      const ends: string[] = [];
      const watched = ended.then((how) => ends.push(how));
      for (let steps = 0; ends.length === 0; steps += 1) {
        await lab.advance(20);
        collect();
        if (!aborts) for (const request of open.splice(0)) answer(request);
        expect(steps).toBeLessThan(aborts ? 3 : 2000);
      }
      await watched;
      expect(ends).toEqual([aborts ? 'Error: enough' : 'drained']);
      expect([dispatcher.unfinished, lab.timers, overlaps]).toEqual([0, 0, 0]);
      expect(lab.outcomes.size).toBe(added);
      const wrong = [...lab.outcomes].filter(([number, outcomes]) => {
        const said = outcomes.map(({ is }) => is).join();
        if (onItsWay.has(number)) return said !== 'ambiguous';
        const did = truth.get(number);
        return said !== (did === undefined || did === 'refused' ? 'not-done' : did);
      });
      expect(wrong).toEqual([]);
    }),
    { numRuns: draws(15) },
  );
});
