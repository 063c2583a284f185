// Each rule that keeps a promise is taken out, and something must notice: `npm run mutations [-- NAME...]`.
//   --runs N       seeds of the fault runs for each mutation of the mover, 12 by default
//   --model        only the model
//   --tests        only the rules of verify and cutover
//   --parallel N   fault runs at once, 3 by default
// The model must notice each of the mover's. The fault runs are asked with the rule taken out of the real engine, in a
// clone of HEAD; what they notice within so many seeds depends on the machine, and is reported, not demanded. A rule of
// verify or cutover has one test each, which must fail without it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES } from '../model/cases.ts';
import { explore } from '../model/scheduler.ts';
import { CUTOVER_RULES } from './mutations-cutover.ts';
import { DOCUMENT_RULES } from './mutations-documents.ts';
import { LOAD_RULES } from './load/mutations.ts';
import { PATCHES, type Edit, type Patch, type Rule } from './mutations-patches.ts';
import { LEDGER_RULES } from './ledger/mutations.ts';
import { SERVICE_RULES } from './mutations-service.ts';
import { VERIFY_RULES } from './mutations-verify.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The table's seed fails at once; after a change of the model one further on does. */
const MODEL_RUNS_MAX = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '12' },
    parallel: { type: 'string', default: '3' },
    model: { type: 'boolean', default: false },
    tests: { type: 'boolean', default: false },
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

/** Does something in a clone of HEAD without a rule. */
function without<T>({ name, edits }: Pick<Rule, 'name' | 'edits'>, body: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), `cosmig-mutation-${name}-`));
  try {
    execFileSync('git', ['clone', '--quiet', ROOT, folder]);
    // What was installed and built is the same.
    for (const each of ['node_modules', 'dist']) symlinkSync(join(ROOT, each), join(folder, each));
    for (const edit of edits) apply(folder, edit);
    return body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the fault runs say to the real engine without this rule. */
function askFaults(patch: Patch): string | undefined {
  return without(patch, (folder) => {
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
    spawnSync(process.execPath, argv, { cwd: folder, stdio: 'ignore' });
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Ran;
    const all = testResults.flatMap(({ assertionResults }) => assertionResults);
    return all.find(({ status }) => status === 'failed')?.fullName;
  });
}

const RULES = [
  ...DOCUMENT_RULES,
  ...VERIFY_RULES,
  ...CUTOVER_RULES,
  ...LEDGER_RULES,
  ...SERVICE_RULES,
  ...LOAD_RULES,
];
const known = new Set<string>([...PATCHES, ...RULES].map(({ name }) => name));
for (const name of positionals) if (!known.has(name)) throw new Error(`unknown rule ${name}`);
const isAsked = ({ name }: { readonly name: string }): boolean =>
  positionals.length === 0 || positionals.includes(name);

// All of them are named at once, before the first run.
const stale = [...PATCHES, ...RULES]
  .filter(isAsked)
  .flatMap(({ name, edits }) =>
    edits
      .filter(({ file, find }) => readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2)
      .map(() => name),
  );
if (stale.length > 0) throw new Error(`the code has changed under these, look at them: ${stale.join(', ')}`);

const rows: string[] = [];
for (const patch of values.tests ? [] : PATCHES.filter(isAsked)) {
  const model = askModel(patch);
  say(`${patch.name}: the model ${model === undefined ? 'DID NOT NOTICE' : `noticed: ${model}`}`);
  if (model === undefined) process.exitCode = 1;
  if (values.model) continue;
  const faults = askFaults(patch);
  say(
    `  the fault runs ${faults === undefined ? `did not notice within ${values.runs} seeds` : `noticed:\n    ${faults}`}`,
  );
  rows.push(
    `${patch.name.padEnd(40)} ${model === undefined ? '-' : 'model'} ${faults === undefined ? '-' : 'faults'}`,
  );
}
for (const rule of values.model ? [] : RULES.filter(isAsked)) {
  const test = askTest(rule);
  say(`${rule.name}: ${test === undefined ? 'NO TEST NOTICED' : `noticed: ${test}`}`);
  if (test === undefined) process.exitCode = 1;
  rows.push(`${rule.name.padEnd(40)} ${test === undefined ? '-' : 'test'}`);
}
if (rows.length > 0) say(`\n${rows.join('\n')}`);
