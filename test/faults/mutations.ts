// Each rule that keeps a promise is taken out, and something must notice: `npm run mutations [-- NAME...]`.
//   --runs N       seeds of the fault runs for each mutation, 12 by default
//   --model        only the model
//   --parallel N   fault runs at once, 3 by default
// The model must notice each. The fault runs are asked with the rule taken out of the real engine, in a clone of HEAD;
// what they notice within so many seeds depends on the machine, and is reported, not demanded.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES } from '../model/cases.ts';
import { explore } from '../model/scheduler.ts';
import { PATCHES, type Edit, type Patch } from './mutations-patches.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The table's seed fails at once; after a change of the model one further on does. */
const MODEL_RUNS_MAX = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '12' },
    parallel: { type: 'string', default: '3' },
    model: { type: 'boolean', default: false },
  },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What the model says to a mover without this rule. */
function askModel({ name }: Patch): string | undefined {
  const { seed, scenario, steps } = CASES[name];
  for (let next = seed; next < seed + MODEL_RUNS_MAX; next += 1) {
    const finding = explore(next, { mutation: name, steps: steps ?? false, scenario });
    if (finding !== null) return finding.failure;
  }
  return undefined;
}

/** Replaces a text that must stand there exactly once. */
function apply(folder: string, { file, find, replace }: Edit): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`${file} has ${parts.length - 1} times what the mutation is about:\n${find}`);
  writeFileSync(path, parts.join(replace));
}

/** What the fault runs say to the real engine without this rule. */
function askFaults(patch: Patch): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), `cosmig-mutation-${patch.name}-`));
  try {
    execFileSync('git', ['clone', '--quiet', ROOT, folder]);
    // What was installed and built is the same.
    for (const name of ['node_modules', 'dist']) symlinkSync(join(ROOT, name), join(folder, name));
    for (const edit of patch.edits) apply(folder, edit);
    const { stdout } = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        'test/faults/torture.ts',
        '--stop',
        '--runs',
        values.runs,
        '--parallel',
        values.parallel,
      ],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, COSMIG_SEED: process.env['COSMIG_SEED'] ?? '1' },
      },
    );
    const found = stdout.split('\n').findIndex((line) => line.includes(' FAILED: '));
    return found < 0
      ? undefined
      : stdout
          .split('\n')
          .slice(found, found + 3)
          .join('\n    ');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const asked = PATCHES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const rows: string[] = [];
for (const patch of asked) {
  const model = askModel(patch);
  say(`${patch.name}: the model ${model === undefined ? 'DID NOT NOTICE' : `noticed: ${model}`}`);
  if (model === undefined) process.exitCode = 1;
  if (values.model) continue;
  const faults = askFaults(patch);
  say(
    `  the fault runs ${faults === undefined ? `did not notice within ${values.runs} seeds` : `noticed:\n    ${faults}`}`,
  );
  rows.push(
    `${patch.name.padEnd(32)} ${model === undefined ? '-' : 'model'} ${faults === undefined ? '-' : 'faults'}`,
  );
}
if (rows.length > 0) say(`\n${rows.join('\n')}`);
