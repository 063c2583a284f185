/** `cosmig cutover`: the switch, with the proof in front of it and the way back until the last moment. */
import type { Command, Context } from '../cli/command.ts';
import type { CutoverOptions, CutoverResult } from '../engine/cutover/contract.ts';
import type { RunParts, Snapshot } from '../engine/run.ts';
import { UsageError, type CosmigError } from '../lib/errors.ts';
import { SPEC_OPTIONS } from '../spec/fields.ts';
import { Wrong } from '../spec/input.ts';
import { migrationName } from '../spec/migration-name.ts';
import { readDuration } from '../spec/values.ts';
import type { MoverLock } from '../state/lock.ts';
import type { Progress } from '../verify/verify.ts';
import { CutoverLine } from '../report/cutover-line.ts';
import { cutoverJson, cutoverText, troubleOf } from '../report/cutover.ts';
import { runHook, type Hook } from '../workflows/hooks.ts';
import { readLikeSource } from './like-source-option.ts';
import { moveBy } from '../report/run-engine.ts';

const OPTIONS = {
  ...SPEC_OPTIONS,
  writersStopped: {
    type: 'boolean',
    default: false,
    help: 'your word that the application does not write to the source any more',
  },
  onFence: { type: 'text', help: 'command that stops the writers; it ends when they have stopped' },
  deadline: {
    type: 'text',
    default: '2m',
    help: 'how long writers may be stopped before the commit; then it backs out',
  },
  quietFor: { type: 'text', default: '5s', help: 'how long nobody may have written before the commit' },
  onCommit: { type: 'text', help: 'command that points the application to the target' },
  onAbort: { type: 'text', help: 'command that lets the application write to the source again' },
  watch: { type: 'text', default: '2m', help: 'how long the source is watched for late writes afterwards' },
  likeSource: {
    type: 'text',
    help: "settings of the target to make like the source's after the commit: ttl, indexing, throughput, by commas",
  },
} as const;

type CutoverContext = Context<typeof OPTIONS>;

export const cutover: Command<typeof OPTIONS> = {
  name: 'cutover',
  summary: 'prove that both sides hold the same, and switch to the target',
  description:
    'Catches up, has the writers stopped, waits until nobody writes any more, compares both sides and commits; ' +
    'whatever fails before that leaves the source in use and ends with exit code 3, or 6 and 7 where the service or the ' +
    'disk of the ledger fails. Needs a cosmig verify that ended ' +
    'clean, and no open dead letters. Commands of --on-... get COSMIG_MIGRATION, COSMIG_SOURCE, COSMIG_TARGET and ' +
    'COSMIG_REASON, and may be run more than once.',
  examples: [
    {
      line: 'cosmig cutover --writers-stopped --deadline 10m',
      purpose: 'in a maintenance window, with the application down',
    },
    {
      line: 'cosmig cutover --on-fence ./writers-off.sh --on-abort ./writers-on.sh --on-commit ./use-target.sh',
      purpose: 'with scripts that turn the writers off and on',
    },
  ],
  options: OPTIONS,
  async run(context) {
    const { onFence, writersStopped, ...times } = context.options;
    if (onFence === undefined && !writersStopped) throw noStop();
    const likeSource = readLikeSource(context.options.likeSource);
    const read = {
      deadlineMs: readTime('--deadline', times.deadline),
      quietMs: readTime('--quiet-for', times.quietFor),
      watchMs: readTime('--watch', times.watch),
    };
    if (read.quietMs >= read.deadlineMs) throw noTime(times);
    // Loaded here: help needs neither the SDK nor the database.
    const { runCutover } = await import('../engine/run.ts');
    const { putLikeSource } = await import('../workflows/target-settings.ts');
    const { holdComparisons, lastCleanMs, prove } = await import('../workflows/compare.ts');
    const shown = new CutoverLine(context.clock, read);
    let cut: CutoverResult | undefined;
    const run = async (parts: RunParts): Promise<Snapshot> => {
      let lock: MoverLock | undefined;
      const result = await runCutover(parts, {
        ...read,
        ...hooksOf(context, parts),
        likeSource,
        applySettings: async (names, signal) => putLikeSource(parts, names, signal),
        lastCleanMs: () => {
          const atMs = lastCleanMs(parts.spec);
          if (atMs !== null) lock = holdComparisons(parts.spec);
          return atMs;
        },
        prove: async (signal, scope) => {
          const onProgress = (progress: Progress): void => shown.seeProof(progress);
          return prove(parts, { deadlineMs: read.deadlineMs, signal, scope, onProgress, lock });
        },
        say: (text) => context.out.note(text),
        onStep: (step) => shown.see(step),
      }).finally(() => lock?.release());
      const { committedAtMs, stoppedMs, settings, trouble, lateWrites, ...snapshot } = result;
      cut = { committedAtMs, stoppedMs, settings, trouble, lateWrites };
      // Nothing follows the source any more.
      return { ...snapshot, lagSeconds: null };
    };
    const moved = await moveBy(context, { command: 'cutover', run, shown });
    if (cut === undefined || moved === undefined) return moved;
    const trouble = troubleOf(cut);
    const result = {
      json: { ...moved.json, ...cutoverJson(cut), ...(trouble === undefined ? {} : errorJson(trouble)) },
      text: `${moved.text}\n${cutoverText(cut)}`,
    };
    if (trouble === undefined) return result;
    context.out.announce(result);
    throw trouble;
  },
};

function errorJson({ code, message, hint }: CosmigError): Readonly<Record<string, unknown>> {
  return { complete: false, error: { code, message, hint } };
}

function hooksOf(
  { options, env, out }: CutoverContext,
  { spec }: RunParts,
): Pick<CutoverOptions, 'stopWriters' | 'onCommit' | 'onAbort'> {
  const { source, target } = spec;
  const about = {
    ...env,
    COSMIG_MIGRATION: migrationName(spec),
    COSMIG_SOURCE: `${source.database}/${source.container}`,
    COSMIG_TARGET: `${target.database}/${target.container}`,
  };
  const call = async (
    flag: string,
    command: string | undefined,
    { reason = '', context, signal }: Pick<Hook, 'context'> & { reason?: string; signal?: AbortSignal },
  ) => {
    if (command === undefined) return;
    const told = signal === undefined ? { out } : { out, signal };
    const hook = { flag, command, env: { ...about, COSMIG_REASON: reason } };
    await runHook(context === undefined ? hook : { ...hook, context }, told);
  };
  return {
    stopWriters: async (signal) => call('--on-fence', options.onFence, { signal }),
    onCommit: async (signal) => call('--on-commit', options.onCommit, { signal, context: COMMITTED }),
    onAbort:
      options.onAbort === undefined
        ? null
        : async (reason) => call('--on-abort', options.onAbort, { reason }),
  };
}

/** Its failure must not be taken for a way back. */
const COMMITTED = {
  before: 'the target is in use',
  next: 'then run cosmig cutover again, which goes on with it',
};

function readTime(flag: string, text: string): number {
  const read = readDuration(text);
  if (!(read instanceof Wrong)) return read;
  throw new UsageError(`${flag} ${text} is not possible`, {
    why: read.why,
    hint: `write for instance ${flag} 30s`,
  });
}

function noTime({
  deadline,
  quietFor,
}: {
  readonly deadline: string;
  readonly quietFor: string;
}): UsageError {
  return new UsageError(`--quiet-for ${quietFor} leaves no time before --deadline ${deadline}`, {
    why: 'the writers would be stopped until the deadline, and the cutover back out each time',
    hint: 'give a longer --deadline, or a shorter --quiet-for',
  });
}

function noStop(): UsageError {
  return new UsageError('nobody says that the writers are stopped', {
    why: 'what is written to the source after the last comparison would be lost',
    hint: 'give --on-fence COMMAND that stops them, or stop them and say --writers-stopped',
  });
}
