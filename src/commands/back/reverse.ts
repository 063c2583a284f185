/** `cosmig reverse`: replicates what the application writes to the target after the cutover, back to the source. */
import type { Command } from '../../cli/command.ts';
import { PAGE_OPTIONS, withPage } from '../../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../../report/runs/notified.ts';
import { RUN_OPTIONS } from '../../spec/fields.ts';

const OPTIONS = {
  untilCaughtUp: { type: 'boolean', help: 'replicate what is there now, then end' },
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const reverse: Command<typeof OPTIONS> = {
  name: 'reverse',
  summary: 'keep the source up to date after the cutover, until stopped',
  description:
    'After a cutover with --keep-source-for: replicates every change of the target to the source, so that cosmig rollback ' +
    'can return to it. The first run reads the source once, to find where each document is; it copies nothing. Runs until ' +
    'Ctrl-C; with --until-caught-up, until there is nothing new: exit code 0 means that, also while a return is not safe, ' +
    'which cosmig status says. Run it again at any time.',
  examples: [
    { line: 'cosmig reverse', purpose: 'the migration of cosmig.config.yaml, until Ctrl-C' },
    {
      line: 'cosmig reverse --until-caught-up --for 20m --skip-if-running --json',
      purpose: 'from a schedule: exit 0 when caught up, 8 when the time was too short',
    },
  ],
  options: OPTIONS,
  endsWith: { 'dead-letters': true, service: true, ledger: true, budget: true },
  async run(context) {
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { runToGoal } = await import('../../report/runs/run-engine.ts');
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { untilCaughtUp, watch } = context.options;
    const goal = untilCaughtUp ? 'catch-up' : 'tail';
    return inTurn(context, 'back', async (turned) =>
      withPage({ watch, ledger: () => loadLedgerPath({ ...turned, turn: undefined }) }, turned, async () =>
        withNotices(turned, 'reverse', async (observer) =>
          runToGoal(turned, { command: 'reverse', goal, observer }),
        ),
      ),
    );
  },
};
