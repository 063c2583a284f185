import { defineConfig } from 'vitest/config';
import { COMPILED_MODULES, compiledModules } from './test/compiled-modules.ts';
import { sized } from './test/helpers/nightly.ts';
import { LongestFirst } from './test/longest-first.ts';

// `npm run test:unit` is what a developer runs between two edits: no sockets, seconds.
// `npm test` is every project below, and is all that CI runs. docs/internals/testing.md says what runs nightly instead.
const unit = [
  'test/unit/**/*.test.ts',
  'test/model/*.test.ts',
  'test/model/back/**/*.test.ts',
  'test/cli/**/*.test.ts',
  'test/*.test.ts',
];
// The whole engine, with a ledger on disk and Microsoft's SDK.
const engine = ['test/model/engine/**/*.test.ts'];
const contract = ['test/contract/**/*.test.ts'];
const integration = ['test/integration/**/*.test.ts'];
const faults = ['test/faults/**/*.test.ts'];

// These two change the process that they run in: one replaces a module, one the working directory.
const alone = ['test/integration/cosmos/connect.test.ts', 'test/integration/docs/readme.test.ts'];

interface Files {
  readonly name: string;
  readonly include: readonly string[];
  /** Files share a process: loading the program again for each of them took a third of the time. */
  readonly isolate?: boolean;
}

const project = ({ name, include, isolate = false }: Files) => ({
  plugins: [compiledModules()],
  test: {
    name,
    isolate,
    include: [...include],
    // Node itself loads them.
    server: { deps: { external: [COMPILED_MODULES] } },
    exclude: isolate ? [] : alone,
    // The garbage of a request outlives the 16 MB that Node has for new objects: collecting it took a tenth of a run. Both cores
    // are busy with tests, so what V8 does in threads of its own (garbage, compiling) only costs more: 7 to 10 % of CPU time.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded'],
    // By night, the fault runs have many seeds, and each of these is several processes.
    maxConcurrency: sized({ daily: 5, nightly: 3 }),
    setupFiles: ['./test/seed-generated.ts', './test/helpers/by-folder.ts'],
  },
});

// Each project transforms the sources again, and has workers of its own that load them. So what is not asked for by name
// is one project.
const isAsked = process.argv.some((argument) => argument.startsWith('--project'));
const projects = isAsked
  ? [
      { name: 'unit', include: unit },
      { name: 'engine', include: engine },
      { name: 'contract', include: contract },
      { name: 'integration', include: integration },
      { name: 'faults', include: faults },
    ]
  : [{ name: 'tests', include: [...unit, ...engine, ...contract, ...integration, ...faults] }];

export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    // Most tests wait for servers and for times that are the point of the test: with two workers, two cores are idle for
    // more than half of a run. Unit tests do not wait.
    maxWorkers: process.env['npm_lifecycle_event'] === 'test:unit' ? 2 : 10,
    sequence: { sequencer: LongestFirst },
    globalSetup: [
      './test/kernel.ts',
      './test/compiled-modules.ts',
      './test/helpers/temporary.ts',
      './test/helpers/process/build.ts',
    ],
    projects: [...projects, { name: 'alone', include: alone, isolate: true }].map(project),
  },
});
