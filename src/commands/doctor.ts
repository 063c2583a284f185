/**
 * `cosmig doctor`: checks everything that a migration needs, and changes nothing. With `--probe` it asks the service
 * instead.
 */
import type { Command } from '../cli/command.ts';
import { UsageError } from '../lib/errors.ts';
import { MIGRATION_OPTIONS, TARGET_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  probe: {
    type: 'text',
    value: 'DB/CONTAINER',
    help: 'instead of the checks, ask the account of the source what cosmig relies on, in scratch containers of this name that are removed at the end; needs no settings of a migration',
  },
  yes: { type: 'boolean', help: 'with --probe, accept what the scratch containers cost' },
  report: {
    type: 'text',
    value: 'FILE',
    help: 'with --probe, write the answers to this file, without names and keys',
  },
  ...TARGET_OPTIONS,
  ...MIGRATION_OPTIONS,
} as const;

export const doctor: Command<typeof OPTIONS> = {
  name: 'doctor',
  summary: 'check that a migration can run, and change nothing',
  description:
    'Checks everything that a migration needs, end to end: both accounts and the clock, permissions for each later ' +
    'command, change feeds, throughput, the new key in a few documents, settings of both containers, the ledger and its disk. Prints a line for each ' +
    'check, and what to do about those that fail. Changes nothing; exit code 3 if a check fails. With --probe it asks ' +
    'the service itself, in three scratch containers, and ends with exit code 4 if an answer differs from what cosmig relies on.',
  examples: [
    {
      line: 'cosmig doctor --source shop/orders --target shop/orders-by-customer --partition-key /customerId --create-target',
      purpose: 'before the first copy',
    },
    {
      line: 'cosmig doctor --probe shop/cosmig-probe --yes --report probes.json',
      purpose: 'before the first migration in an account; costs cents',
    },
  ],
  options: OPTIONS,
  endsWith: { mismatch: 'with --probe, an answer differs', service: true },
  async run({ options: { probe, yes, report, ...options }, ...context }) {
    if (probe !== undefined) {
      const { runProbesFor } = await import('../report/runs/run-probes.ts');
      return runProbesFor({ ...context, options }, { probe, isAccepted: yes, report });
    }
    if (yes || report !== undefined) {
      throw new UsageError(`${yes ? '--yes' : '--report'} was given without --probe`, {
        why: 'the checks cost nothing, and --json prints them for a script',
        hint: 'add --probe DB/CONTAINER, or remove it',
      });
    }
    const { runDoctor } = await import('../report/runs/run-doctor.ts');
    return runDoctor({ ...context, options });
  },
};
