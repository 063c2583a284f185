/** An aborted comparison leaves no request in flight behind. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { runCutover } from '../../../src/engine/run.ts';
import { abortReason, whenAborted } from '../../../src/lib/abort.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { isLaterPage, orders, Tapped, write } from '../../helpers/migration/tapped.ts';
import { until } from '../../helpers/wait.ts';

/** Longer than the test holds any request. */
const PATIENT = { requestTimeoutMs: 20_000 };

async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true } });
  await write(tapped.move, orders(3));
  await tapped.move.run('copy');
  return tapped;
}

/** A gate that holds requests until it is opened. */
function held(): { readonly release: () => void; readonly released: Promise<void> } {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  return { release, released };
}

test('cutover: comparison aborted while the tail writes -> the next reader waits for that write', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  const { release, released } = held();
  // Holds the document's write to the target, and its reader's request for the next page.
  const seen = { isRead: false, isAsked: false, isSent: false };
  tap.meddle = async (request, forward) => {
    const reply = await forward();
    const hold = async (what: keyof typeof seen): Promise<void> => {
      seen[what] = true;
      await released;
    };
    const { what, container, body } = request;
    if (what === 'batch' && container === 'by-tenant' && body.includes('"late"')) await hold('isSent');
    if (!isLaterPage(request)) return reply;
    if (reply.body.includes('"late"')) seen.isRead = true;
    else if (seen.isRead && !seen.isAsked) await hold('isAsked');
    return reply;
  };
  let asked = 0;
  let calledOff: Promise<number> | undefined;
  const readWhileHeld = async (): Promise<number> => {
    const already = tap.seen.length;
    await delay(500);
    const since = tap.seen.slice(already);
    release();
    return since.filter(isLaterPage).length;
  };
  // The quiet time, after which a cutover looks for late writes, lasts until the tail has got so far.
  const quietMs = 12_345;
  const clock: Clock = {
    ...systemClock,
    sleep: async (delayMs, signal) => {
      if (delayMs !== quietMs) await systemClock.sleep(delayMs, signal);
      else await until(() => seen.isSent && seen.isAsked, { what: 'the tail to write it' });
    },
  };
  const result = await runCutover(move.parts({ timing: PATIENT, clock }), {
    ...CUTOVER,
    prove: async (signal) => {
      asked += 1;
      if (asked > 1) return { equal: true, why: '', suspects: [] };
      // More than a page, between the tail's first round and its second.
      await delay(100);
      await move.put({ id: 'late', customerId: 'z', tenantId: 'Z' }, ...orders(12, { again: true }));
      await whenAborted(signal);
      calledOff = readWhileHeld();
      throw abortReason(signal);
    },
    quietMs,
  });
  expect(result).toMatchObject({ phase: 'committed' });
  expect([asked, await calledOff]).toEqual([2, 0]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('cutover: target stops answering -> backs out at the deadline', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  const { release, released } = held();
  let isSent = false;
  tap.meddle = async ({ what, container, body }, forward) => {
    if (what === 'batch' && container === 'by-tenant' && body.includes('"late"')) {
      isSent = true;
      await released;
    }
    return forward();
  };
  let isReleased = false;
  const said: string[] = [];
  const cut = runCutover(move.parts({ timing: PATIENT }), {
    ...CUTOVER,
    deadlineMs: 3000,
    onAbort: async (why) => {
      said.push(`${why}, and the target ${isReleased ? 'has answered' : 'does not answer yet'}`);
      release();
    },
    prove: async (signal) => {
      await move.put({ id: 'late', customerId: 'z', tenantId: 'Z' });
      await until(() => isSent || signal.aborted, { what: 'the tail to write it' });
      await whenAborted(signal);
      throw abortReason(signal);
    },
  });
  const giveUp = setTimeout(() => {
    isReleased = true;
    release();
  }, 50_000);
  await expect(cut).rejects.toMatchObject({ message: 'the cutover did not finish in time', exitCode: 3 });
  clearTimeout(giveUp);
  expect(said).toEqual(['the cutover did not finish in time, and the target does not answer yet']);
  await move.run('catch-up');
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
