// Before each file of tests: what its folder needs. Files of several folders share a process, one after another.
import { expect, vi } from 'vitest';
import { useQuickTiming } from './quick-timing.ts';

const [MINUTE_MS, FAULTS_MS] = [60_000, 180_000];

// oxlint-disable-next-line vitest/no-standalone-expect -- nothing else of vitest knows the path here
const path = expect.getState().testPath?.replaceAll('\\', '/') ?? '';
vi.setConfig({ testTimeout: path.includes('/test/faults/') ? FAULTS_MS : MINUTE_MS });
useQuickTiming(path.includes('/test/integration/'));
