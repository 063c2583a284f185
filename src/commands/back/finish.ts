/** `cosmig finish`: ends the way back after a cutover. */
import type { Command } from '../../cli/command.ts';
import { MIGRATION_OPTIONS } from '../../spec/fields.ts';

const OPTIONS = MIGRATION_OPTIONS;

export const finish: Command<typeof OPTIONS> = {
  name: 'finish',
  summary: 'give up the way back after a cutover; deletes nothing',
  description:
    'Ends the way back for good: cosmig reverse and rollback are refused from then on. Restores the time to live of the ' +
    'container that was kept, looks whether the container in use has a backup of its own, and prints what is left to do ' +
    'with the other one. Deletes nothing. Stop cosmig reverse first.',
  examples: [
    { line: 'cosmig finish', purpose: 'the migration of cosmig.config.yaml' },
    { line: 'cosmig finish --ledger .cosmig/orders.db --json', purpose: 'one ledger, for a script' },
  ],
  options: OPTIONS,
  async run(context) {
    const { runParts } = await import('../../report/runs/run-engine.ts');
    const { finishResult } = await import('../../report/turns/finish-result.ts');
    const { finishWayBack } = await import('../../workflows/finish.ts');
    const { refuseMissingLedger } = await import('../../state/ledger.ts');
    const parts = runParts(context);
    refuseMissingLedger(parts.spec.ledger);
    return finishResult(parts.spec, await finishWayBack(parts));
  },
};
