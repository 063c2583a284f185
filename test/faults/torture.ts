// Whole migrations under trouble, one seed after the other, until it is stopped: `npm run torture`.
//   --hours N | --runs N   how long; without either until Ctrl-C
//   --parallel N           so many at once, 2 by default
//   --stop                 at the first failure
//   --cutover              proofs and cutovers instead, up to the commit
//   --turns                there, back, and there again instead
// COSMIG_SEED=N begins with that seed and continues with the next ones. What a failed run leaves behind is kept.
import { parseArgs } from 'node:util';
import { runCutovers, type CutoverReport } from './harness/cutover/run.ts';
import { RunFailure } from './harness/fault-run.ts';
import { runMigration, type RunReport } from './harness/migration/run.ts';
import { runTurns } from './harness/turns/run.ts';
import { freshSeed } from '../helpers/seed.ts';
import { buildForProcesses } from '../helpers/process/built.ts';

await buildForProcesses();

const { values } = parseArgs({
  options: {
    hours: { type: 'string' },
    runs: { type: 'string' },
    parallel: { type: 'string', default: '2' },
    stop: { type: 'boolean', default: false },
    cutover: { type: 'boolean', default: false },
    turns: { type: 'boolean', default: false },
  },
});
const endsAt = values.hours === undefined ? Infinity : Date.now() + Number(values.hours) * 3_600_000;
const runsMax = values.runs === undefined ? Infinity : Number(values.runs);
const given = process.env['COSMIG_SEED'] ?? '';

let begun = 0;
let interrupted = false;
const failed: number[] = [];

function nextSeed(): number {
  return given === '' ? freshSeed() : Number(given) + begun;
}

function mayGoOn(): boolean {
  return begun < runsMax && Date.now() < endsAt && !interrupted && !(values.stop && failed.length > 0);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function lane(): Promise<void> {
  while (mayGoOn()) {
    const seed = nextSeed();
    begun += 1;
    try {
      say(await runSeed(seed));
    } catch (error) {
      failed.push(seed);
      say(`seed ${seed} FAILED: ${error instanceof Error ? error.message : String(error)}`);
      if (!(error instanceof RunFailure) && error instanceof Error) say(error.stack ?? '');
      if (error instanceof RunFailure) say(`  ledger and logs: ${error.folder}`);
    }
  }
}

async function runSeed(seed: number): Promise<string> {
  const options = { keeps: true };
  if (values.cutover) return shownCutover(await runCutovers(seed, options));
  if (!values.turns) return shown(await runMigration(seed, options));
  const beganMs = Date.now();
  const { kills, documents } = await runTurns(seed);
  const seconds = Math.round((Date.now() - beganMs) / 1000);
  return `seed ${seed} passed in ${seconds} s: ${kills} kills, ${documents} documents`;
}

function shown({
  seed,
  durationMs,
  starts,
  struck,
  kills,
  documents,
  versions,
  levers,
  network,
  passings,
  parts,
}: RunReport): string {
  const { source, target, letters } = documents;
  const points = Object.entries(passings).map(([point, times]) => `${point} ${times}`);
  return [
    `seed ${seed} passed in ${Math.round(durationMs / 1_000)} s: ${starts} starts, ${struck} struck, ${JSON.stringify(parts)}`,
    `${versions} versions, ${source} -> ${target} documents, letters ${JSON.stringify(letters)}`,
    kills.join(', '),
    `${levers.splits} splits, ${levers.merges} merges, network ${JSON.stringify(network)}; ${points.join(', ')}`,
  ].join('; ');
}

function shownCutover({ seed, durationMs, starts, struck, blows, documents, levers }: CutoverReport): string {
  return [
    `seed ${seed} passed in ${Math.round(durationMs / 1_000)} s: ${starts} starts, ${struck} struck`,
    `${documents} documents, ${levers.splits} splits, ${levers.merges} merges`,
    blows.join(', ') || 'nothing struck',
  ].join('; ');
}

process.once('SIGINT', () => {
  interrupted = true;
  say('ending after the runs that are on');
});
await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
say(`${begun} runs, ${failed.length} failed${failed.length > 0 ? `: ${failed.join(', ')}` : ''}`);
process.exitCode = failed.length > 0 ? 1 : 0;
