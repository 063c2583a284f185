/**
 * Comparisons one after the other while an application writes and a tail runs: for some seconds, or for as many
 * as COSMIG_SOAK_SECONDS says. At the end the test prints what it saw.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CanceledError } from '../../../../src/lib/errors.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { bulkLoad } from '../../../helpers/emulator/bulk-load.ts';
import type { TestEmulator } from '../../../helpers/emulator/emulator.ts';
import { EmulatorProcess } from '../../../faults/harness/emulator/process.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { sized } from '../../../helpers/nightly.ts';

const SECONDS = Number(process.env['COSMIG_SOAK_SECONDS'] ?? sized({ daily: 6, nightly: 60 }));
/** Short in CI, where other tests run in parallel. */
const [WRITES_PER_SECOND, DOCUMENTS] = SECONDS < 60 ? [100, 2000] : [500, 20_000];
/** Bounds the operations that wait for a busy emulator. */
const UNANSWERED_MAX = 200;
const BURST_MS = 10;
/** The application, the tail and the comparison share this process. */
const PATIENT = { requestTimeoutMs: 30_000 };
const random = seededRandom(Number(process.env['COSMIG_SEED'] ?? 500));

const orderOf = (n: number, more: object = {}): Order => ({
  id: `o${n}`,
  customerId: `c${n % 997}`,
  tenantId: `t${n % 53}`,
  n,
  ...more,
});

function asTestEmulator(emulator: EmulatorProcess): TestEmulator {
  const { endpoint, key, admin } = emulator;
  const close = async (): Promise<void> => emulator.kill();
  const connectionString = `AccountEndpoint=${endpoint};AccountKey=${key};`;
  return {
    endpoint,
    key,
    admin,
    connectionString,
    certificate: undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Creates, changes, moves and deletes documents at a fixed rate. */
async function write({ source }: Move, stop: AbortSignal): Promise<number> {
  const one = async (writes: number): Promise<void> => {
    const n = random.below(DOCUMENTS);
    const what = random.below(10);
    const order = orderOf(n, { writes, ...(what < 2 ? { tenantId: `t${random.below(53)}` } : {}) });
    if (what === 2) {
      await source
        .item(order.id, String(order['customerId']))
        .delete()
        .catch((error: { code?: number }) => {
          if (error.code !== 404) throw error;
        });
    } else await source.items.upsert(order);
  };
  /** An application lives with a connection that was lost. */
  const lost = (error: Error & { readonly code?: unknown }): void => {
    if (error.code !== 'ECONNRESET') throw error;
  };
  const beganAt = performance.now();
  const under = new Set<Promise<void>>();
  let writes = 0;
  while (!stop.aborted) {
    const due = ((performance.now() - beganAt) / 1000) * WRITES_PER_SECOND;
    while (writes < due && under.size < UNANSWERED_MAX) {
      const writing = one((writes += 1))
        .catch(lost)
        .finally(() => under.delete(writing));
      under.add(writing);
    }
    await delay(BURST_MS);
  }
  await Promise.all(under);
  return writes;
}

test(
  `verify under writes for ${SECONDS} s -> nothing is confirmed to differ, and few documents are in flight`,
  async () => {
    const size = { throughput: 20_000 };
    const settings = { ru: 'off', avad: true, retentionSeconds: 3600 } as const;
    const emulator = await EmulatorProcess.start(':memory:', settings);
    await using move = await Move.open({ emulator: asTestEmulator(emulator), source: size, target: size });
    await bulkLoad(
      move.source,
      Array.from({ length: DOCUMENTS }, (_none, n) => orderOf(n)),
    );
    await move.run('copy', { timing: PATIENT });
    const [drain, stop] = [new AbortController(), new AbortController()];
    const tail = move.run('tail', { drain: drain.signal, timing: PATIENT }).catch((error: unknown) => error);
    const writing = write(move, stop.signal);
    const endAt = performance.now() + SECONDS * 1000;
    const seen = { passes: 0, equal: 0, notProven: 0, openPeak: 0, inFlightPeak: 0, lookedAtAgain: 0 };
    while (seen.passes === 0 || performance.now() < endAt) {
      const verdict = await verifyMove(move, {
        deadlineMs: 5000,
        fresh: true,
        timing: { ...PATIENT, gapMs: 500, pageSize: 1000 },
        onProgress: ({ open }) => (seen.openPeak = Math.max(seen.openPeak, open)),
      });
      expect(verdict.differences).toEqual({ missing: 0, extra: 0, different: 0, wrongSlot: 0 });
      expect(verdict.equal).not.toBe(false);
      seen.passes += 1;
      if (verdict.equal === true) seen.equal += 1;
      else seen.notProven += 1;
      seen.inFlightPeak = Math.max(seen.inFlightPeak, verdict.inFlight);
      seen.lookedAtAgain += Number(verdict.details['lookedAtAgain']);
    }
    stop.abort();
    const writes = await writing;
    const quiet = await verifyMove(move, {
      deadlineMs: 200_000,
      fresh: true,
      timing: { ...PATIENT, gapMs: 500 },
    });
    expect(quiet).toMatchObject({ equal: true, inFlight: 0 });
    // Else nothing was ever in flight, and this has shown nothing.
    expect(seen.lookedAtAgain).toBeGreaterThan(0);
    expect(seen.openPeak).toBeLessThan(DOCUMENTS / 2);
    drain.abort(new CanceledError('SIGTERM'));
    await tail;
    if (SECONDS > 60) process.stdout.write(`${JSON.stringify({ seconds: SECONDS, writes, ...seen })}\n`);
  },
  SECONDS * 1000 + 300_000,
);
