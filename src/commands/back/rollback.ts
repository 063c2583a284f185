/** `cosmig rollback`: switches the application back to the source, with the same proof as a cutover. */
import type { Command } from '../../cli/command.ts';
import { PAGE_OPTIONS, withPage } from '../../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../../report/runs/notified.ts';
import { RUN_OPTIONS } from '../../spec/fields.ts';
import { HOOK_HELP, switchOptions } from './switching.ts';

const OPTIONS = {
  ...switchOptions({ from: 'target', to: 'source' }),
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const rollback: Command<typeof OPTIONS> = {
  name: 'rollback',
  summary: 'prove that both sides are equal, then switch back to the source',
  description:
    'The cutover in the other direction, with the same steps, options and exit codes: catches up, has the writers stopped, ' +
    'compares both sides, and commits. Any failure before the commit leaves the target in use. After the commit the source ' +
    'is in use, and cosmig tail can resume the migration from there without a new copy. Needs cosmig reverse to have caught ' +
    'up, a successful cosmig verify --reverse, and no open dead letters. ' +
    HOOK_HELP,
  examples: [
    {
      line: 'cosmig rollback --writers-stopped --deadline 10m',
      purpose: 'with the application down',
    },
    {
      line: 'cosmig rollback --on-fence ./writers-off.sh --on-abort ./writers-on.sh --on-commit ./use-source.sh',
      purpose: 'with scripts that stop the writers and let them resume',
    },
  ],
  options: OPTIONS,
  endsWith: {
    mismatch: 'the target was written to after the commit',
    'dead-letters': true,
    service: true,
    ledger: true,
    budget: true,
    'after-commit': true,
  },
  async run(context) {
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { runCutoverWithProgress } = await import('../../report/runs/run-cutover.ts');
    const { switchOrder } = await import('../../report/turns/switch-order.ts');
    const { watch, watchWrites } = context.options;
    const switched = { command: 'rollback', direction: 'back', watchMs: watchWrites } as const;
    const order = await switchOrder(context, switched);
    return inTurn(context, 'back', async (turned) =>
      withPage({ watch, ledger: () => loadLedgerPath({ ...turned, turn: undefined }) }, turned, async () =>
        withNotices(turned, 'rollback', async (observer) =>
          runCutoverWithProgress(turned, { ...order, likeSource: [] }, { command: 'rollback', observer }),
        ),
      ),
    );
  },
};
