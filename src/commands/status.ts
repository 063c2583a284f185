/**
 * `cosmig status`: the ledger as a picture. What always holds: no lock is taken and no byte changed, and who is running
 * is asked of the lock; without credentials, while a run is on and after a crash.
 */
import type { Command } from '../cli/command.ts';
import { loadLedgerPath } from '../spec/load.ts';
import { LEDGER_OPTIONS } from './ledger-options.ts';
import { statusOf } from '../report/status-data.ts';
import { tellStatus } from '../report/status.ts';

const OPTIONS = {
  ...LEDGER_OPTIONS,
  backup: { type: 'text', help: 'write a copy of the ledger to this new file, also while a run is on' },
} as const;

export const status: Command<typeof OPTIONS> = {
  name: 'status',
  summary: 'show how far a migration is; reads only',
  description:
    'Shows what the ledger knows: how far each range is, what was moved, what could not be, who is running, how the ' +
    'last run ended and what to do next. Needs no account, changes nothing, and works while a run is on or after a crash.',
  examples: [
    { line: 'cosmig status', purpose: 'the migration of cosmig.config.yaml in this folder' },
    { line: 'cosmig status --ledger .cosmig/orders.db --json', purpose: 'one ledger, for a script' },
  ],
  options: OPTIONS,
  async run({ options, env, clock, out }) {
    const path = loadLedgerPath({ options, env, clock });
    // Loaded here: help needs no database.
    const { readOverview } = await import('../state/overview.ts');
    const { VerifyStore, verifyPath } = await import('../verify/store.ts');
    const verified = verifyPath(path);
    const found = statusOf(path, readOverview(path), {
      lastProof: VerifyStore.lastProof(verified),
      isVerifying: VerifyStore.isAtWork(verified),
    });
    if (options.backup !== undefined) {
      const { Ledger } = await import('../state/ledger.ts');
      using ledger = Ledger.openReadonly(path);
      ledger.backup(options.backup);
      out.note(`the ledger was copied to ${options.backup}`);
    }
    return { json: { ...found }, text: tellStatus(found, clock.now()) };
  },
};
