// Each rule that keeps a promise is taken out, and something must notice: `npm run mutations [-- NAME...]`.
//   --model        only the model, without each of its rules
//   --engine       only the engine in the world of the model, without each rule of the model and each of its own
//   --tests        only the rules that the model does not know
//   --faults       only the fault runs, for some rules of the mover
//   --runs N       seeds of the fault runs for each rule, 12 by default
//   --parallel N   fault runs at once, 3 by default
// Every rule but those of the fault runs has one test, which must fail without it. The fault runs are asked with the
// rule taken out of the whole program; what they notice within so many seeds depends on the machine, and is reported,
// not demanded. All this happens in a clone of HEAD.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES } from '../model/cases.ts';
import { explore } from '../model/scheduler.ts';
import { MUTATIONS, type Mutation } from '../model/mutations.ts';
import { DRIVEN, FAULTY, TESTED } from './mutations/all-rules.ts';
import type { Edit, Rule } from './mutations/rule.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The table's seed fails at once; after a change of the model one further on does. */
const MODEL_RUNS_MAX = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '12' },
    parallel: { type: 'string', default: '3' },
    model: { type: 'boolean', default: false },
    engine: { type: 'boolean', default: false },
    tests: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What the model says to a mover without this rule. */
function askModel(name: Mutation): string | undefined {
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

let cloned: string | undefined;

/** A clone of HEAD. What was installed and built is the same. */
function cloneOfHead(): string {
  if (cloned !== undefined) return cloned;
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-mutations-'));
  cloned = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  execFileSync('git', ['clone', '--quiet', ROOT, folder]);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // A rule may be removed from the kernel, too.
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  return folder;
}

/** The tests compile it where a source is newer (test/kernel.ts). */
const KERNEL = 'dist/documents/kernel.wasm';

/** Does something in the clone without a rule. */
function without<T>({ edits }: Pick<Rule, 'edits'>, body: (folder: string) => T): T {
  const folder = cloneOfHead();
  const isInKernel = edits.some(({ file }) => file.startsWith('wasm/'));
  const files = [...edits.map(({ file }) => file), ...(isInKernel ? [KERNEL] : [])];
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file))]));
  try {
    for (const edit of edits) apply(folder, edit);
    return body(folder);
  } finally {
    for (const [file, text] of texts) writeFileSync(join(folder, file), text);
  }
}

/** What the fault runs say to the real engine without this rule. */
function askFaults(rule: Rule): string | undefined {
  return without(rule, (folder) => {
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
    const lines = stdout.split('\n');
    const found = lines.findIndex((line) => line.includes(' FAILED: '));
    return found < 0 ? undefined : lines.slice(found, found + 3).join('\n    ');
  });
}

/** What vitest says of its tests, as far as it is asked here. */
interface Ran {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Which test fails without this rule; one that did not run has noticed nothing. */
function askTest(rule: Rule): string | undefined {
  return without(rule, (folder) => {
    const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
    const report = join(folder, 'report.json');
    const argv = [
      vitest,
      'run',
      rule.test,
      '-t',
      rule.by,
      '--bail',
      '1',
      '--reporter',
      'json',
      '--outputFile',
      report,
    ];
    rmSync(report, { force: true });
    // The stories start no process, so nothing has to be compiled for one.
    const built = rule.test.startsWith('test/model/') ? 'nothing' : '';
    spawnSync(process.execPath, argv, {
      cwd: folder,
      stdio: 'ignore',
      env: { ...process.env, COSMIG_TEST_BUILD: built, COSMIG_TEST_DRAWS: 'all' },
    });
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Ran;
    const all = testResults.flatMap(({ assertionResults }) => assertionResults);
    return all.find(({ status }) => status === 'failed')?.fullName;
  });
}

const ALL = [...TESTED, ...DRIVEN];
const known = new Set<string>(ALL.map(({ name }) => name));
for (const name of positionals) if (!known.has(name)) throw new Error(`unknown rule ${name}`);
const isAsked = ({ name }: { readonly name: string }): boolean =>
  positionals.length === 0 || positionals.includes(name);
const isGroupAsked = (group: 'model' | 'engine' | 'tests' | 'faults'): boolean =>
  values[group] || !(values.model || values.engine || values.tests || values.faults);

// All of them are named at once, before the first run.
const stale = ALL.filter(isAsked).flatMap(({ name, edits }) =>
  edits
    .filter(({ file, find }) => readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2)
    .map(() => name),
);
if (stale.length > 0) throw new Error(`the code has changed under these, look at them: ${stale.join(', ')}`);

const rows: string[] = [];
function note(name: string, by: string, noticed: string | undefined): void {
  say(`${name}: ${noticed === undefined ? `${by} DID NOT NOTICE` : `${by} noticed: ${noticed}`}`);
  rows.push(`${name.padEnd(40)} ${noticed === undefined ? '-' : by}`);
}

if (isGroupAsked('model')) {
  for (const name of MUTATIONS.filter((one) => isAsked({ name: one }))) {
    const noticed = askModel(name);
    note(name, 'the model', noticed);
    if (noticed === undefined) process.exitCode = 1;
  }
}
const asked = [...(isGroupAsked('engine') ? DRIVEN : []), ...(isGroupAsked('tests') ? TESTED : [])];
for (const rule of asked.filter(isAsked)) {
  const noticed = askTest(rule);
  note(rule.name, 'its test', noticed);
  if (noticed === undefined) process.exitCode = 1;
}
if (isGroupAsked('faults')) {
  for (const rule of FAULTY.filter(isAsked))
    note(rule.name, `the fault runs (${values.runs} seeds)`, askFaults(rule));
}
if (rows.length > 0) say(`\n${rows.join('\n')}`);
