/** What is in flight in a run and in a comparison, and how old it is: in the snapshot, on the page, for Prometheus. */
import { expect, test } from 'vitest';
import type { RunSnapshot } from '../../../src/engine/progress/snapshot.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { LivePage } from '../../../src/report/watch/live.ts';
import { deferred } from '../../../src/lib/deferred.ts';
import type { Order } from '../../helpers/migration/move.ts';
import { isBatchOf, Tapped } from '../../helpers/migration/tapped.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { until } from '../../helpers/wait.ts';

const orders: Order[] = Array.from({ length: 30 }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n % 3}`,
  tenantId: `t${n}`,
}));

test('the target does not answer -> the oldest page and request grow old; afterwards nothing is in flight', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await move.run('copy');
  const page = new LivePage(move.ledgerPath, { clock: systemClock, version: '1' });
  const seen: RunSnapshot['load'][] = [];
  const stop = new AbortController();
  const tail = move.run('tail', {
    drain: stop.signal,
    timing: { requestTimeoutMs: 45_000 },
    onSnapshot: ({ load }) => seen.push(load),
  });
  await until(() => seen.length > 0, { what: 'the tail to begin' });
  const { promise: answers, resolve: answer } = deferred();
  tap.meddle = async (request, forward) => {
    if (isBatchOf('by-tenant')(request)) await answers;
    return forward();
  };
  await putAll(move, orders);
  await until(() => (seen.at(-1)?.target.requests?.oldestMs ?? 0) > 2000, {
    what: 'a request of two seconds',
  });
  const { inFlight, pages, target } = seen.at(-1) ?? {};
  expect(inFlight).toBeGreaterThan(0);
  expect(pages?.oldestMs).toBeGreaterThan(2000);
  expect(pages?.bytes).toBeGreaterThan(1000);
  expect(target?.requests?.bytes).toBeGreaterThan(100);
  const isShown = (): boolean =>
    /waiting to be written, oldest (?:[2-9]|\d\d)\.?\d* s/.test(page.parts()['work'] ?? '');
  await until(isShown, { what: 'the age on the page' });
  const metrics = page.metrics('prometheus');
  const sinceS = Number(/^cosmig_oldest_in_flight_timestamp_seconds\{.*\} (.*)$/m.exec(metrics)?.[1]);
  expect(Date.now() / 1000 - sinceS).toBeGreaterThan(2);
  expect(Date.now() / 1000 - sinceS).toBeLessThan(60);
  expect(metrics).toMatch(/^cosmig_requests_in_flight\{.*side="target"\} [1-9]\d*$/m);
  answer();
  await until(() => seen.at(-1)?.inFlight === 0, { what: 'the outcome of every document' });
  stop.abort(new Error('seen'));
  await expect(tail).rejects.toThrow('seen');
  const nothing = { count: 0, bytes: 0, oldestMs: null };
  expect(seen.at(-1)).toMatchObject({ inFlight: 0, pages: nothing, target: { requests: nothing } });
  await until(() => !(page.parts()['work'] ?? '').includes('waiting to be written'), {
    what: 'the end of the run',
  });
  expect(page.metrics('prometheus')).not.toContain('cosmig_oldest_');
});
