/** `cosmig verify`: finds out whether source and target are equal. */
import type { Command } from '../cli/command.ts';
import { UsageError } from '../lib/errors.ts';
import { PAGE_OPTIONS, withPage } from '../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../report/runs/notified.ts';
import { RUN_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  level: {
    type: 'choice',
    choices: ['count', 'digest'],
    default: 'digest',
    help: 'count compares the number of documents, digest the content of every document',
  },
  fresh: { type: 'boolean', help: 'start from scratch instead of resuming an interrupted verify' },
  reverse: {
    type: 'boolean',
    help: 'compare in the other direction after a cutover, while cosmig reverse runs',
  },
  repair: {
    type: 'boolean',
    help: 'fix differing documents from the source, then compare again; replicates while it runs, so stop cosmig tail first; writes to the target',
  },
  deadline: {
    type: 'duration',
    default: '3m',
    help: 'how long to recheck differences that may still be in flight',
  },
  report: {
    type: 'text',
    value: 'FILE',
    help: 'write what was compared, when and with which result to this file, as JSON',
  },
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const verify: Command<typeof OPTIONS> = {
  name: 'verify',
  summary: 'compare source and target; read-only unless --repair is given',
  description:
    'Compares both sides while the application writes and cosmig tail runs, at low priority within --source-ru and ' +
    '--target-ru, and writes to neither side unless --repair is given. Documents still being replicated are not counted ' +
    'as differences. What cannot be proven within --deadline ends with exit code 3, confirmed differences with 4.',
  examples: [
    { line: 'cosmig verify --level count', purpose: 'how many documents there are on both sides' },
    {
      line: 'cosmig verify --report proof.json --source-ru 20%',
      purpose: 'every document, with a fifth of the RU/s of the source; keeps a report',
    },
  ],
  options: OPTIONS,
  endsWith: { mismatch: true, 'dead-letters': true, service: true, ledger: true, budget: true },
  async run(context) {
    const { inTurn } = await import('../report/turns/in-turn.ts');
    const { loadLedgerPath } = await import('../spec/load.ts');
    const { runVerifyWithProgress } = await import('../report/runs/run-verify.ts');
    const { level, fresh, repair, deadline: deadlineMs, report, watch, reverse } = context.options;
    if (repair && level === 'count') {
      throw new UsageError('--repair and --level count were both given', {
        why: 'a count does not name the documents that differ',
        hint: 'remove --level',
      });
    }
    const order = { level, fresh, repair, deadlineMs, report };
    return inTurn(context, reverse ? 'back' : 'forth', async (turned) =>
      withPage({ watch, ledger: () => loadLedgerPath({ ...turned, turn: undefined }) }, turned, async () =>
        withNotices(turned, 'verify', async (observer) => runVerifyWithProgress(turned, order, observer)),
      ),
    );
  },
};
