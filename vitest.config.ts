import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

// `npm run test:unit` is what a developer runs between two edits: no sockets, seconds.
// `npm test` is every project below, and is all that CI runs. docs/internals/testing.md says what runs nightly instead.
const unit = ['test/unit/**/*.test.ts', 'test/model/**/*.test.ts', 'test/cli/**/*.test.ts', 'test/*.test.ts'];

// These two change the process that they run in: one replaces a module, one the working directory.
const alone = ['test/integration/cosmos/connect.test.ts', 'test/integration/docs/readme.test.ts'];

const seed = './test/helpers/seed.ts';
const quickTiming = './test/helpers/quick-timing.ts';

// Files share a process: loading the program again for each of them took a third of the time.
const shared = { isolate: false } as const;

export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    // Most tests wait for servers and for times that are the point of the test: with two workers, two cores are idle for
    // more than half of a run. Unit tests do not wait.
    maxWorkers: process.env['npm_lifecycle_event'] === 'test:unit' ? 2 : 6,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['./test/helpers/temporary.ts', './test/helpers/process/build.ts'],
    projects: [
      { test: { name: 'unit', ...shared, include: unit, setupFiles: [seed], testTimeout: 20_000 } },
      {
        test: {
          name: 'contract',
          ...shared,
          include: ['test/contract/**/*.test.ts'],
          setupFiles: [seed],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          ...shared,
          include: ['test/integration/**/*.test.ts'],
          exclude: alone,
          setupFiles: [seed, quickTiming],
          testTimeout: 60_000,
        },
      },
      {
        test: { name: 'alone', include: alone, setupFiles: [seed, quickTiming], testTimeout: 60_000 },
      },
      {
        test: {
          name: 'faults',
          ...shared,
          include: ['test/faults/**/*.test.ts'],
          setupFiles: [seed],
          testTimeout: 180_000,
          // Each run is several processes, which mostly wait.
          maxConcurrency: 3,
        },
      },
    ],
  },
});
