// Before each file of tests: what its folder needs. Files of several folders share a process, one after another.
import { expect, vi } from 'vitest';
import { useQuickTiming } from './quick-timing.ts';

const FOLDERS = [
  { folder: '/test/contract/', testTimeout: 30_000, isQuick: false },
  { folder: '/test/integration/', testTimeout: 60_000, isQuick: true },
  { folder: '/test/faults/', testTimeout: 180_000, isQuick: false },
] as const;
const UNIT = { testTimeout: 20_000, isQuick: false } as const;

// oxlint-disable-next-line vitest/no-standalone-expect -- nothing else of vitest knows the path here
const path = expect.getState().testPath?.replaceAll('\\', '/') ?? '';
const { testTimeout, isQuick } = FOLDERS.find(({ folder }) => path.includes(folder)) ?? UNIT;
vi.setConfig({ testTimeout });
useQuickTiming(isQuick);
