/** `cosmig cutover`: switches the application to the target after a proof. Until the commit, the cutover can back out. */
import type { Command } from '../cli/command.ts';
import { PAGE_OPTIONS, withPage } from '../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../report/runs/notified.ts';
import { RUN_OPTIONS, WAY_BACK_OPTIONS } from '../spec/fields.ts';
import { readDuration } from '../spec/input/values.ts';
import { HOOK_HELP, switchOptions } from './back/switching.ts';

const OPTIONS = {
  ...switchOptions({ from: 'source', to: 'target' }),
  likeSource: {
    type: 'choices',
    choices: ['ttl', 'indexing', 'throughput'],
    help: 'after the commit, give the target these settings of the source, separated by commas',
  },
  ...WAY_BACK_OPTIONS,
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
    'a later step such as --on-commit failed. Needs a successful cosmig verify and no open dead letters. ' +
    HOOK_HELP,
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
  endsWith: {
    mismatch: 'the source was written to after the commit',
    'dead-letters': true,
    service: true,
    ledger: true,
    budget: true,
    'after-commit': true,
  },
  async run(context) {
    const { inTurn } = await import('../report/turns/in-turn.ts');
    const { runCutoverWithProgress } = await import('../report/runs/run-cutover.ts');
    const { loadLedgerPath } = await import('../spec/load.ts');
    const { switchOrder } = await import('../report/turns/switch-order.ts');
    const { options, out } = context;
    const { watch, watchWrites, likeSource } = options;
    // Before --watch served a page, it was the name of --watch-writes.
    const time = watch === undefined ? undefined : readDuration(watch);
    const isTime = typeof time === 'number';
    const watchMs = isTime ? time : watchWrites;
    const order = await switchOrder(context, { command: 'cutover', direction: 'forth', watchMs });
    if (isTime) out.note(`--watch ${watch} is taken for --watch-writes ${watch}; write that from now on`);
    return inTurn(context, 'forth', async (turned) => {
      return withPage(
        { watch: isTime ? undefined : watch, ledger: () => loadLedgerPath(context) },
        turned,
        async () =>
          withNotices(turned, 'cutover', async (observer) =>
            runCutoverWithProgress(turned, { ...order, likeSource }, { command: 'cutover', observer }),
          ),
      );
    });
  },
};
