/** A copy into dozens of ranges: a page has one or two documents for each of them, and a request costs as much as ten. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { deferred } from '../../../src/lib/deferred.ts';
import { bulkLoad } from '../../helpers/emulator/bulk-load.ts';
import {
  before,
  expectSame,
  isBatchOf,
  isLaterPage,
  orders,
  Tapped,
} from '../../helpers/migration/tapped.ts';
import type { TapRequest } from '../../helpers/migration/tap.ts';
import { until } from '../../helpers/wait.ts';

/** The emulator gives a container a range for each so many RU/s. */
const RU_PER_RANGE = 6000;

test.each([
  { ranges: 31, waits: false },
  { ranges: 32, waits: true },
])(
  'copy: $ranges ranges, while the next page is read -> small batches wait: $waits',
  async ({ ranges, waits }) => {
    await using tapped = await Tapped.open({
      settings: { pageBytes: 12_000 },
      target: { throughput: ranges * RU_PER_RANGE },
    });
    const { move, tap } = tapped;
    await bulkLoad(
      move.source,
      orders(100).map((one, n) => ({ ...one, tenantId: `tenant ${n}` })),
    );
    // The preflight sends batches of its own.
    const isCopying = (request: TapRequest): boolean =>
      isBatchOf('by-tenant')(request) && request.body.includes('"customerId"');
    const batches = (): number => tap.seen.filter(isCopying).length;
    const { promise: intended, resolve } = deferred();
    let stoppedMs: number | undefined;
    let batchesMeanwhile = Number.NaN;
    let hasRead = false;
    tap.meddle = before((request) => hasRead && isLaterPage(request), {
      1: async () => {
        // The documents of the first page are being sent. By this clock no batch ever waits for too long.
        stoppedMs = systemClock.monotonicMs();
        await intended;
        if (waits) await sleep(60);
        else await until(() => batches() > 0 || null, { what: 'a batch is sent' });
        batchesMeanwhile = batches();
        stoppedMs = undefined;
      },
    });
    const copied = await move.run('copy', {
      timing: { requestTimeoutMs: 20_000 },
      clock: { ...systemClock, monotonicMs: () => stoppedMs ?? systemClock.monotonicMs() },
      onPoint: (point) => {
        if (point === 'page-read') hasRead = true;
        if (point === 'intended') resolve();
      },
    });
    expect(batchesMeanwhile > 0).toBe(!waits);
    await expectSame(move, copied);
  },
);
