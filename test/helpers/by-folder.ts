// Before each file of tests: what its folder needs. Files of several folders share a process, one after another.
import { expect, vi } from 'vitest';
import { useQuickTiming } from './quick-timing.ts';

/** A test that hangs ends by time; one that is slow because the machine is busy must not. */
const TEST_MS = 300_000;

// oxlint-disable-next-line vitest/no-standalone-expect -- nothing else of vitest knows the path here
const path = expect.getState().testPath?.replaceAll('\\', '/') ?? '';
vi.setConfig({ testTimeout: TEST_MS, hookTimeout: TEST_MS });
useQuickTiming(path.includes('/test/integration/'));
