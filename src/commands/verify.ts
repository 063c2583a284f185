/** `cosmig verify`: whether both sides hold the same. */
import type { Command, Context, Result } from '../cli/command.ts';
import { CosmigError, UsageError } from '../lib/errors.ts';
import { systemRandom } from '../lib/random.ts';
import { SPEC_OPTIONS } from '../spec/fields.ts';
import { Wrong } from '../spec/input.ts';
import { loadSpec } from '../spec/load.ts';
import { migrationName } from '../spec/migration-name.ts';
import { readDuration } from '../spec/values.ts';
import type { Verdict } from '../verify/verdict.ts';
import type { Extent } from '../workflows/repair.ts';
import type { BroughtOver } from '../report/verify-error.ts';
import type { Progress } from '../verify/verify.ts';
import { Pace, verifyLine } from '../report/live-line.ts';
import { refuseReport, writeReport } from '../report/verify-report-file.ts';
import { unendedJson, verifyJson, verifyText } from '../report/verify.ts';

const OPTIONS = {
  ...SPEC_OPTIONS,
  level: {
    type: 'choice',
    choices: ['count', 'digest'],
    default: 'digest',
    help: 'how closely both sides are compared: count says only how many there are, digest compares every document',
  },
  fresh: {
    type: 'boolean',
    default: false,
    help: 'begin anew instead of going on where an earlier verify was interrupted',
  },
  repair: {
    type: 'boolean',
    default: false,
    help: 'bring right what differs, by what the source says, and compare once more; tails meanwhile, so no tail may run; the only verify that writes',
  },
  deadline: {
    type: 'text',
    default: '3m',
    help: 'how long differences that may still be in flight are looked at again',
  },
  report: {
    type: 'text',
    help: 'write what was compared, when and with which result to this file, as JSON',
  },
} as const;

export const verify: Command<typeof OPTIONS> = {
  name: 'verify',
  summary: 'compare source and target; reads only, unless --repair is given',
  description:
    'Compares both sides while writes go on and cosmig tail runs beside it, at low priority within --source-ru and ' +
    '--target-ru, and writes to neither unless --repair is given. Documents that may still be on their way are told from those that differ; what ' +
    'cannot be proven by --deadline ends with exit code 3, confirmed differences end with 4.',
  examples: [
    { line: 'cosmig verify --level count', purpose: 'how many documents there are on both sides' },
    {
      line: 'cosmig verify --report proof.json --source-ru 20%',
      purpose: 'every document, with a fifth of the RU/s of the source, and a proof to keep',
    },
  ],
  options: OPTIONS,
  async run(context) {
    const { options, env, clock, signal, out, log } = context;
    const deadlineMs = readDeadline(options.deadline);
    if (options.repair && options.level === 'count') throw noNames();
    if (options.report !== undefined) refuseReport(options.report);
    const { spec, connections } = loadSpec({ options, env, clock });
    // Loaded here: help needs neither the SDK nor the database.
    const { verify: compare } = await import('../verify/verify.ts');
    const { VerifyStore, verifyPath } = await import('../verify/store.ts');
    const { Ledger } = await import('../state/ledger.ts');
    const { unequalOf, whoBringsOver } = await import('../report/verify-error.ts');
    // Who repairs is a mover as well.
    const isTaken = (): boolean =>
      VerifyStore.isAtWork(verifyPath(spec.ledger)) || (options.repair && Ledger.isRunning(spec.ledger));
    const skipped = (): Result => {
      const json = { command: 'verify', migration: migrationName(spec), complete: false, skipped: true };
      return { json, text: 'another cosmig is working with this ledger; nothing was done' };
    };
    if (spec.skipsIfRunning && isTaken()) return skipped();
    const tell = sayer(context);
    let hasBegun = false;
    let unwritten: CosmigError | undefined;
    const look = async (extent: Extent, within: AbortSignal): Promise<Verdict> =>
      compare({
        spec,
        connections,
        level: options.level,
        fresh: extent.startsWith('all') || (extent === 'as asked' && options.fresh),
        again: extent === 'what differed',
        afterRepair: extent === 'all once more' || extent === 'what differed',
        deadlineMs,
        clock,
        random: systemRandom,
        log,
        signal: within,
        say: (text) => out.note(text),
        onProgress: (progress) => {
          hasBegun = true;
          tell(progress);
        },
        onVerdict: (found, named) => {
          if (options.report !== undefined) unwritten = writeReport(options.report, found, named);
        },
      });
    let verdict: Verdict;
    try {
      verdict = options.repair ? await repair(context, look) : await look('as asked', signal);
    } catch (error) {
      // It was begun between the question and the lock.
      if (spec.skipsIfRunning && !hasBegun && isTaken()) return skipped();
      const about = { migration: migrationName(spec), level: options.level };
      if (error instanceof CosmigError) out.announce({ json: unendedJson(about, error), text: '' });
      throw error;
    }
    const isBroughtOver = (): BroughtOver => (options.repair ? 'by a repair' : whoBringsOver(spec));
    const unequal = unequalOf(verdict, isBroughtOver);
    if (unequal !== undefined && unwritten !== undefined) out.note(`${unwritten.message}: ${unwritten.why}`);
    const error = unequal ?? unwritten;
    const result = { json: verifyJson(verdict, error), text: verifyText(verdict) };
    if (error === undefined) return result;
    out.announce(result);
    throw error;
  },
};

async function repair(
  { options, env, clock, signal, abortSignal, out, log }: Context<typeof OPTIONS>,
  compare: (extent: Extent, signal: AbortSignal) => Promise<Verdict>,
): Promise<Verdict> {
  const { compareAndRepair } = await import('../workflows/repair.ts');
  const { spec, connections } = loadSpec({ options, env, clock });
  const say = (text: string): void => out.note(text);
  const [drain, abort] = [signal, abortSignal];
  const parts = { spec, connections, clock, random: systemRandom, log, drain, abort, say };
  return compareAndRepair({ parts, say, compare });
}

function noNames(): UsageError {
  return new UsageError('--repair and --level count were both given', {
    why: 'a count names no documents that could be brought right',
    hint: 'leave --level out',
  });
}

function readDeadline(text: string): number {
  const read = readDuration(text);
  if (!(read instanceof Wrong)) return read;
  throw new UsageError(`--deadline ${text} is not possible`, {
    why: read.why,
    hint: 'write for instance --deadline 3m',
  });
}

function sayer({ clock, out }: Context<typeof OPTIONS>): (progress: Progress) => void {
  const pace = new Pace();
  return (progress) => {
    const { expected: _expected, budgetRu: _budgetRu, ...picture } = progress;
    const rates = pace.see({ atMs: clock.now(), documents: progress.source, ru: progress.ru });
    out.progress(picture, (columns) => verifyLine(progress, rates, columns));
  };
}
