/** `cosmig cutover`: switches the application to the target after a proof. Until the commit, the cutover can back out. */
import type { Command } from '../cli/command.ts';
import { UsageError } from '../lib/errors.ts';
import { PAGE_OPTIONS, withPage } from '../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../report/runs/notified.ts';
import { RUN_OPTIONS } from '../spec/fields.ts';
import { readDuration } from '../spec/input/values.ts';

const OPTIONS = {
  writersStopped: { type: 'boolean', help: 'confirm that the application has stopped writing to the source' },
  onFence: {
    type: 'text',
    value: 'COMMAND',
    help: 'command that stops the writers; it ends when they have stopped',
  },
  deadline: {
    type: 'duration',
    default: '2m',
    help: 'how long writers may be stopped before the commit; after that the cutover backs out',
  },
  quietFor: {
    type: 'duration',
    default: '5s',
    help: 'how long the source must be without writes before the commit',
  },
  onCommit: { type: 'text', value: 'COMMAND', help: 'command that points the application to the target' },
  onAbort: {
    type: 'text',
    value: 'COMMAND',
    help: 'command that lets the application write to the source again',
  },
  watchWrites: {
    type: 'duration',
    default: '2m',
    help: 'how long to watch the source for late writes after the commit',
  },
  likeSource: {
    type: 'choices',
    choices: ['ttl', 'indexing', 'throughput'],
    help: 'after the commit, give the target these settings of the source, separated by commas',
  },
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const cutover: Command<typeof OPTIONS> = {
  name: 'cutover',
  summary: 'prove that both sides are equal, then switch to the target',
  description:
    'Catches up, has the writers stopped (--on-fence, or --writers-stopped when you stopped them yourself), waits until no more writes arrive, compares both sides and commits. Any failure ' +
    'before the commit leaves the source in use and ends with exit code 3, or with 6 or 7 when the service or the disk ' +
    'of the ledger fails. After the commit the target is in use: exit code 0, 4 after late writes to the source, 9 when ' +
    'a later step such as --on-commit failed. Needs a successful cosmig verify and no open dead letters. The commands of --on-fence, ' +
    '--on-commit and --on-abort get COSMIG_MIGRATION, COSMIG_SOURCE, COSMIG_TARGET and COSMIG_REASON, and may run more ' +
    'than once.',
  examples: [
    {
      line: 'cosmig cutover --writers-stopped --deadline 10m',
      purpose: 'in a maintenance window, with the application down',
    },
    {
      line: 'cosmig cutover --on-fence ./writers-off.sh --on-abort ./writers-on.sh --on-commit ./use-target.sh',
      purpose: 'with scripts that stop the writers and let them resume',
    },
  ],
  options: OPTIONS,
  async run(context) {
    const { options, env, clock, out } = context;
    const { onFence, onCommit, onAbort, writersStopped, likeSource } = options;
    const { deadline: deadlineMs, quietFor: quietMs, watchWrites, watch } = options;
    if (onFence === undefined && !writersStopped) {
      throw new UsageError('cutover needs to know that writers are stopped', {
        why: 'writes to the source after the last comparison would be lost',
        hint: 'pass --on-fence COMMAND, or stop them yourself and pass --writers-stopped',
      });
    }
    if (quietMs >= deadlineMs) {
      throw new UsageError('--quiet-for is not shorter than --deadline', {
        why: 'the writers would be stopped until the deadline, and the cutover would always back out',
        hint: 'pass a longer --deadline, or a shorter --quiet-for',
      });
    }
    const { loadSpec } = await import('../spec/load.ts');
    const { operatorHooks } = await import('../workflows/hooks.ts');
    const { runCutoverWithProgress } = await import('../report/runs/run-cutover.ts');
    const { spec } = loadSpec({ options, env, clock });
    // Before --watch served a page, it was the name of --watch-writes.
    const time = watch === undefined ? undefined : readDuration(watch);
    const isTime = typeof time === 'number';
    if (isTime) out.note(`--watch ${watch} is taken for --watch-writes ${watch}; write that from now on`);
    const hooks = operatorHooks({ onFence, onCommit, onAbort }, { spec, env, out });
    const watchMs = isTime ? time : watchWrites;
    return withPage({ watch: isTime ? undefined : watch, ledger: () => spec.ledger }, context, async () =>
      withNotices(context, 'cutover', async (observer) =>
        runCutoverWithProgress(context, { ...hooks, deadlineMs, quietMs, watchMs, likeSource }, observer),
      ),
    );
  },
};
