/** `cosmig tail`: replicates what the application writes to the source after the copy. */
import type { Command } from '../cli/command.ts';
import { PAGE_OPTIONS, withPage } from '../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../report/runs/notified.ts';
import { RUN_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  untilCaughtUp: { type: 'boolean', help: 'replicate what is there now, then end' },
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const tail: Command<typeof OPTIONS> = {
  name: 'tail',
  summary: 'replicate what is written after the copy, until stopped',
  description:
    'Continues where the copy of each range ended: applies every change of the source to the target, moves documents ' +
    'whose new key has changed, and, where the source reports deletes, removes those documents. Runs until Ctrl-C; ' +
    'with --until-caught-up, until there is nothing new. Run it again at any time.',
  examples: [
    { line: 'cosmig tail', purpose: 'the migration of cosmig.config.yaml, until Ctrl-C' },
    {
      line: 'cosmig tail --until-caught-up --for 20m --skip-if-running --json',
      purpose: 'from a schedule: exit 0 when caught up, 8 when the time was too short',
    },
  ],
  options: OPTIONS,
  endsWith: { 'dead-letters': true, service: true, ledger: true, budget: true },
  async run(context) {
    const { inTurn } = await import('../report/turns/in-turn.ts');
    const { loadLedgerPath } = await import('../spec/load.ts');
    const { runToGoal } = await import('../report/runs/run-engine.ts');
    const { untilCaughtUp, watch } = context.options;
    const goal = untilCaughtUp ? 'catch-up' : 'tail';
    return inTurn(context, 'forth', async (turned) =>
      withPage({ watch, ledger: () => loadLedgerPath({ ...turned, turn: undefined }) }, turned, async () =>
        withNotices(turned, 'tail', async (observer) =>
          runToGoal(turned, { command: 'tail', goal, observer }),
        ),
      ),
    );
  },
};
