/**
 * Fifty viewers for some minutes of virtual time, by night for an hour: the server and the page keep nothing of
 * what they have sent.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LivePage } from '../../../src/report/watch/live.ts';
import { startWatch, type RunningWatch, type Shown } from '../../../src/watch/server.ts';
import { VirtualClock } from '../../helpers/clock.ts';
import { sized } from '../../helpers/nightly.ts';
import { usedBytes } from '../../helpers/process/used-bytes.ts';
import { openLedger, temporaryFolder, NOW_MS } from '../../unit/state/making.ts';
import { copying } from '../../unit/report/watch/making.ts';

const SECONDS = sized({ daily: 450, nightly: 3600 });
const WARM_SECONDS = 200;
/** What a page of a large migration changes in a second. */
const PART_BYTES = 20_000;

async function serve(shown: Shown, clock: VirtualClock): Promise<RunningWatch> {
  return startWatch({ port: 0, token: 'token', shown, clock, signal: new AbortController().signal });
}

/** Opens the events of a page and throws away what comes. */
async function viewer({ url }: RunningWatch): Promise<{ bytes: number; close(): void }> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const seen = { bytes: 0, close: (): void => void socket.destroy() };
  socket.on('data', ({ length }) => (seen.bytes += length));
  socket.write(`GET ${pathname}events HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  await once(socket, 'data');
  return seen;
}

async function pass(clock: VirtualClock, ms: number): Promise<void> {
  clock.advance(ms);
  do await nextTurn();
  while (clock.sleepers === 0);
}

test('fifty viewers for long, and something new every second -> the server keeps none of it', async () => {
  let seconds = 0;
  // Kept once for all viewers, what follows the warm seconds would be 14 MB.
  const shown: Shown = {
    policy: '',
    page: () => '',
    metrics: () => '',
    parts: () => ({ work: `${seconds} ${'x'.repeat(PART_BYTES)}` }),
  };
  const clock = new VirtualClock();
  const server = await serve(shown, clock);
  const viewers = await Promise.all(Array.from({ length: 50 }, async () => viewer(server)));
  for (; seconds < WARM_SECONDS; seconds += 1) await pass(clock, 1000);
  const beforeBytes = await usedBytes();
  for (; seconds < SECONDS; seconds += 1) await pass(clock, 1000);
  const enough = beforeBytes + 6_000_000;
  expect(await usedBytes(enough)).toBeLessThanOrEqual(enough);
  const sentBytes = Math.min(...viewers.map(({ bytes }) => bytes));
  expect(sentBytes).toBeGreaterThan((SECONDS - WARM_SECONDS) * PART_BYTES);
  for (const one of viewers) one.close();
  await server.close();
});

test('the page of a run that reports for an hour -> it keeps the last two reports', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const ledger = openLedger(path);
  copying(ledger);
  const last = ledger.runs.last()?.report;
  const clock = new VirtualClock(NOW_MS + 60_000);
  const page = new LivePage(path, { clock, version: '1' });
  const look = (): number => {
    clock.advance(10_000);
    const ranges = last?.target.ranges.map((range) => ({ ...range, id: `${range.id}-${clock.now()}` })) ?? [];
    if (last != null) ledger.runs.report({ ...last, atMs: clock.now(), target: { ...last.target, ranges } });
    return Object.values(page.parts()).join('').length;
  };
  for (let looks = 0; looks < 60; looks += 1) look();
  const beforeBytes = await usedBytes();
  const lengths = Array.from({ length: 300 }, look);
  const enough = beforeBytes + 4_000_000;
  expect(await usedBytes(enough)).toBeLessThanOrEqual(enough);
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThan(1000);
  expect(Math.min(...lengths)).toBeGreaterThan(5000);
  ledger.close();
});
