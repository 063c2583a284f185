/**
 * Shortens the times that wait for a network: an account on the same machine answers in milliseconds, and what was lost
 * is lost at once. The one place where tests do that for the command line, in this process and in those they start;
 * COSMIG_TEST_TIMING=real keeps the times of the product, which nightly tests use.
 */
import { COMPARE_TIMING, TIMING } from '../../src/spec/timing.ts';

export const QUICK = { requestTimeoutMs: 2000, pollMs: 50, showMs: 200 } as const;
export const QUICK_COMPARE = { requestTimeoutMs: 2000, gapMs: 100, checkpointMs: 300 } as const;

const PRODUCT = { ...TIMING };
const PRODUCT_COMPARE = { ...COMPARE_TIMING };

/** For a file of tests that lose no request: one that takes long belongs to a process that was stopped for a while. */
export function waitForReplies(): void {
  Object.assign(TIMING, { requestTimeoutMs: PRODUCT.requestTimeoutMs });
  Object.assign(COMPARE_TIMING, { requestTimeoutMs: PRODUCT_COMPARE.requestTimeoutMs });
}

/** Both ways, because files of tests share a process. */
export function useQuickTiming(isQuick: boolean): void {
  const quick = isQuick && process.env['COSMIG_TEST_TIMING'] !== 'real';
  Object.assign(TIMING, quick ? QUICK : PRODUCT);
  Object.assign(COMPARE_TIMING, quick ? QUICK_COMPARE : PRODUCT_COMPARE);
}
