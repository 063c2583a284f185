import { defineConfig } from 'vitest/config';

// `npm run test:unit` is what a developer runs between two edits: no sockets, seconds.
// `npm test` is every project below, and is all that CI runs.
const unit = ['test/unit/**/*.test.ts', 'test/model/**/*.test.ts', 'test/cli/**/*.test.ts', 'test/*.test.ts'];

const setupFiles = ['./test/helpers/seed.ts'];

export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    // The machine has two cores; servers under test need one of them.
    maxWorkers: 2,
    globalSetup: ['./test/helpers/temporary.ts'],
    projects: [
      // Unit tests share a process: loading the program anew for each file took a third of their time.
      { test: { name: 'unit', include: unit, setupFiles, isolate: false, testTimeout: 20_000 } },
      {
        test: { name: 'contract', include: ['test/contract/**/*.test.ts'], setupFiles, testTimeout: 30_000 },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          setupFiles,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          setupFiles,
          testTimeout: 180_000,
          // Each run is several processes, which mostly wait.
          maxConcurrency: 3,
        },
      },
    ],
  },
});
