/** `cosmig finish`: ends the way back after a cutover. */
import type { Command } from '../../cli/command.ts';
import { MIGRATION_OPTIONS } from '../../spec/fields.ts';

const OPTIONS = {
  yes: {
    type: 'boolean',
    help: 'end the way back also before the time of --keep-source-for is over',
  },
  ...MIGRATION_OPTIONS,
} as const;

export const finish: Command<typeof OPTIONS> = {
  name: 'finish',
  summary: 'give up the way back after a cutover; deletes nothing',
  description:
    'Ends the way back for good: cosmig reverse and rollback are refused from then on. Restores the time to live of the ' +
    'container that was kept, looks whether the container in use has a backup of its own, and prints what is left to do ' +
    'with the other one. Deletes nothing. While the time of --keep-source-for is not over it needs --yes; without it, it ' +
    'prints how long the way back would still be kept. Stop cosmig reverse first.',
  examples: [
    { line: 'cosmig finish', purpose: 'the migration of cosmig.config.yaml' },
    { line: 'cosmig finish --yes', purpose: 'the same before the time of --keep-source-for is over' },
  ],
  options: OPTIONS,
  endsWith: { service: true, ledger: true },
  async run({ options: { yes, ...options }, ...rest }) {
    const context = { ...rest, options };
    const { runParts } = await import('../../report/runs/run-engine.ts');
    const { finishResult, stillKept } = await import('../../report/turns/finish-result.ts');
    const { finishWayBack } = await import('../../workflows/finish.ts');
    const { refuseMissingLedger } = await import('../../state/ledger.ts');
    const parts = runParts(context);
    refuseMissingLedger(parts.spec.ledger);
    const finished = await finishWayBack(parts, (open) => {
      if (!yes) throw stillKept(open, context.clock.now());
    });
    return finishResult(parts.spec, finished);
  },
};
