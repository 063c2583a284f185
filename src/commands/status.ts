/**
 * `cosmig status`: shows the state of a migration. Invariants: it takes no lock, changes no byte and needs no
 * credentials. Whether a run is active is decided by the lock of the operating system, not by what the run has
 * recorded.
 */
import type { Command } from '../cli/command.ts';
import { LEDGER_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  backup: {
    type: 'text',
    value: 'FILE',
    help: 'write a copy of the ledger to this new file, also during a run',
  },
  report: {
    type: 'text',
    value: 'FILE',
    help: 'write the page of cosmig watch as it is now to this file, for a change ticket, with documents and RU of each partition before and after',
  },
  ...LEDGER_OPTIONS,
} as const;

export const status: Command<typeof OPTIONS> = {
  name: 'status',
  summary: 'show how far a migration is; read-only',
  description:
    'Shows what the ledger records: how far each range is, what was moved and what could not be, which run is active, ' +
    'how the last run ended, and what to do next. Needs no account, changes nothing, and works during a run and after a crash.',
  examples: [
    { line: 'cosmig status', purpose: 'the migration of cosmig.config.yaml in this folder' },
    { line: 'cosmig status --ledger .cosmig/orders.db --json', purpose: 'one ledger, for a script' },
  ],
  options: OPTIONS,
  endsWith: { ledger: true },
  async run(context) {
    const { inTurn } = await import('../report/turns/in-turn.ts');
    const { loadLedgerPath } = await import('../spec/load.ts');
    const { report } = context.options;
    if (report !== undefined) {
      const { refuseReport } = await import('../report/runs/report-file.ts');
      refuseReport(report);
    }
    const { readStatus } = await import('../report/status/read-status.ts');
    const { notingSameFlags } = await import('../spec/same-flags.ts');
    const { leadsBack } = await import('../spec/turns/settings-of-turn.ts');
    const { renderStatus } = await import('../report/status/status.ts');
    return inTurn(context, 'newest', async (turned) => {
      const { options, clock, out } = turned;
      const path = loadLedgerPath(turned);
      const first = loadLedgerPath({ ...turned, turn: undefined });
      const shown = readStatus(first, turned.turn ?? 0, clock.now());
      if (options.backup !== undefined) {
        const { Ledger } = await import('../state/ledger.ts');
        using ledger = Ledger.openReadonly(path);
        ledger.backup(options.backup);
        out.note(`the ledger was copied to ${options.backup}`);
      }
      const result = {
        json: { ...shown },
        text: renderStatus(
          { ...shown, next: notingSameFlags(shown.next, options) },
          clock.now(),
          leadsBack(turned.turn ?? 0),
        ),
      };
      if (report === undefined) return result;
      const { writeWatchPage } = await import('../report/status/report-file.ts');
      const { resultOrThrow } = await import('../report/runs/result-or-throw.ts');
      const error = writeWatchPage(report, first, clock.now());
      if (error === undefined) out.note(`the report is in ${report}`);
      return resultOrThrow(result, error, out);
    });
  },
};
