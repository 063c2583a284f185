/** `cosmig doctor`: checks everything that a migration needs, and changes nothing. */
import type { Command } from '../cli/command.ts';
import { runDoctor } from '../report/runs/run-doctor.ts';
import { MIGRATION_OPTIONS, TARGET_OPTIONS } from '../spec/fields.ts';

const OPTIONS = { ...TARGET_OPTIONS, ...MIGRATION_OPTIONS } as const;

export const doctor: Command<typeof OPTIONS> = {
  name: 'doctor',
  summary: 'check that a migration can run, and change nothing',
  description:
    'Checks everything that a migration needs, end to end: both accounts and the clock, permissions for each later ' +
    'command, change feeds, throughput, settings of both containers, the ledger and its disk. Prints a line for each ' +
    'check, and what to do about those that fail. Changes nothing; exit code 3 if a check fails.',
  examples: [
    {
      line: 'cosmig doctor --source shop/orders --target shop/orders-by-tenant --partition-key /tenantId --create-target',
      purpose: 'before the first copy',
    },
    { line: 'cosmig doctor --json', purpose: 'the migration of cosmig.config.yaml, for a script' },
  ],
  options: OPTIONS,
  async run(context) {
    return runDoctor(context);
  },
};
