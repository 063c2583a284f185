// Runs the tests that take longer than a developer waits: `npm run test:nightly [-- STEP...]`. Every step runs, even
// after a step that failed. The table at the end shows which steps failed, and so does the exit code.
// docs/internals/testing.md says why each step is here.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

interface Step {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const npm = (script: string, ...argv: readonly string[]): readonly string[] => ['run', script, '--', ...argv];

const STEPS: readonly Step[] = [
  // With new random seeds, 50,000 planted documents, a minute of writes during a comparison, and ten SIGKILLs of the
  // emulator.
  { name: 'tests', argv: npm('test'), env: { COSMIG_NIGHTLY: '1' } },
  // With the real waits of an operator: 45 seconds after an unclean end of a run, and a second between two polls.
  {
    name: 'real-times',
    argv: npm('test', 'test/integration/tail/scheduled.test.ts', 'test/integration/copy/ledger-runs.test.ts'),
    env: { COSMIG_TEST_TIMING: 'real' },
  },
  // Every document of a copy read value by value, as only those that are not plain are otherwise.
  {
    name: 'value-by-value',
    argv: npm('test', 'test/integration/copy', 'test/faults/migration.test.ts', 'test/model/engine'),
    env: { COSMIG_TEST_PACKING: 'no' },
  },
  { name: 'torture', argv: npm('torture', '--runs', '100') },
  { name: 'torture-cutover', argv: npm('torture', '--cutover', '--runs', '50') },
  { name: 'torture-turns', argv: npm('torture', '--turns', '--runs', '50') },
  // A thousand damages to ledgers in the middle of migrations; by day 25.
  {
    name: 'damage',
    argv: npm('test', 'test/faults/ledger/damage.test.ts'),
    env: { COSMIG_DAMAGES: '1000' },
  },
  { name: 'mutations', argv: npm('mutations') },
  // Clients in other languages, as far as this machine has them.
  { name: 'clients', argv: npm('clients') },
  // Needs a registry of npm.
  { name: 'package', argv: npm('check:package') },
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => STEPS.every((step) => step.name !== name));
if (unknown.length > 0) throw new Error(`unknown steps: ${unknown.join(', ')}`);

const rows = STEPS.filter(({ name }) => asked.length === 0 || asked.includes(name)).map((step) => {
  process.stdout.write(`\n== ${step.name}\n`);
  const beganMs = performance.now();
  const { status } = spawnSync('npm', step.argv, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...step.env },
    // On Windows npm is a .cmd file, which only a shell can run.
    shell: process.platform === 'win32',
  });
  const minutes = ((performance.now() - beganMs) / 60_000).toFixed(1);
  if (status !== 0) process.exitCode = 1;
  return `${step.name.padEnd(16)} ${status === 0 ? 'passed' : 'FAILED'} ${minutes.padStart(6)} min`;
});
process.stdout.write(`\n${rows.join('\n')}\n`);
