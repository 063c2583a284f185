/**
 * Runs benchmarks, which show whether the goals for performance are met:
 *
 *   npm run bench [-- name...] [--documents N] [--profile DIR] [--http] [--json]
 *
 * This is not a test: figures depend on the machine, ratios within one run much less.
 */
import { parseArgs } from 'node:util';
import { benchBudget } from './budget.ts';
import { benchCopy } from './copy.ts';
import { benchCutover } from './cutover.ts';
import { benchDocuments } from './pages.ts';
import { benchEmulator } from './emulator.ts';
import { benchKeys } from './keys.ts';
import { benchLedger } from './ledger.ts';
import { benchMetered } from './metered.ts';
import { pinSelf } from './pinning.ts';
import { benchPlan } from './plan.ts';
import { benchRanges } from './ranges.ts';
import { benchWatch } from './watch.ts';
import { formatTable } from './report.ts';
import { benchSizes } from './sizes.ts';
import type { Result } from './report.ts';
import { benchTail } from './tail.ts';
import { benchVerify } from './verify.ts';

export interface BenchOptions {
  /**
   * The number of documents in the large container, from --documents: at least 20,000, in hundreds. Undefined when
   * not given.
   */
  readonly documents: number | undefined;
  /** The folder for CPU profiles, from --profile; undefined when not given. */
  readonly profileDir: string | undefined;
  /** Whether the null service speaks plain http, from --http; it speaks https by default, as Azure does. */
  readonly isPlain: boolean;
  /** Prints progress for people. */
  readonly say: (text: string) => void;
}

const BENCHMARKS: Readonly<Record<string, (options: BenchOptions) => Promise<Result[]>>> = {
  keys: benchKeys,
  ledger: benchLedger,
  documents: benchDocuments,
  emulator: benchEmulator,
  copy: benchCopy,
  ranges: benchRanges,
  sizes: benchSizes,
  budget: benchBudget,
  metered: benchMetered,
  tail: benchTail,
  verify: benchVerify,
  plan: benchPlan,
  watch: benchWatch,
  cutover: benchCutover,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    documents: { type: 'string' },
    profile: { type: 'string' },
    http: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const documents = values.documents === undefined ? undefined : Number(values.documents);
const names = positionals.length > 0 ? positionals : Object.keys(BENCHMARKS);
const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name));
const isUsable = documents === undefined || (documents >= 20_000 && documents % 100 === 0);
if (unknown.length > 0 || !isUsable) {
  console.error(`usage: npm run bench -- [${Object.keys(BENCHMARKS).join('|')}]... [--documents N]`);
  process.exit(2);
}

pinSelf();
const results: Result[] = [];
for (const name of names) {
  const say = (text: string): void => console.error(`${name}: ${text}`);
  const options = { documents, profileDir: values.profile, isPlain: values.http, say };
  results.push(...((await BENCHMARKS[name]?.(options)) ?? []));
}
process.stdout.write(values.json ? `${JSON.stringify(results)}\n` : `\n${formatTable(results)}`);
