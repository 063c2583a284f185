/** `cosmig dead-letters retry`: reads the documents of open dead letters from the source and tries to move them again. */
import type { Command } from '../../cli/command.ts';
import { pluralize } from '../../lib/counting.ts';
import { RUN_OPTIONS } from '../../spec/fields.ts';
import { DEAD_LETTERS, numberOrAll, withLedger } from './index.ts';

const OPTIONS = {
  all: { type: 'boolean', help: 'retry every open one' },
  ...RUN_OPTIONS,
} as const;

export const deadLettersRetry: Command<typeof OPTIONS> = {
  name: 'dead-letters retry',
  group: DEAD_LETTERS,
  summary: 'try one or all of them again, after fixing the documents',
  description:
    'Reads the documents of open dead letters from the source and moves them. A letter is closed when its document has ' +
    'been moved, or was deleted in the source. No other run may hold the ledger: stop cosmig tail with Ctrl-C before, and ' +
    'start it again afterwards; a tail that runs closes the letters of documents that you fix or delete by itself. Ends with exit code 5 while letters are open.',
  examples: [
    { line: 'cosmig dead-letters retry 12', purpose: 'one of them' },
    { line: 'cosmig dead-letters retry --all', purpose: 'every open one' },
  ],
  options: OPTIONS,
  endsWith: { 'dead-letters': true, service: true, ledger: true, budget: true },
  operand: '[NUMBER]',
  async run(context) {
    const { options, operand } = context;
    const which = numberOrAll(operand, options.all, 'dead-letters retry NUMBER, or --all');
    // Refused before the run connects to an account.
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { withMetrics } = await import('../../report/metrics/during.ts');
    const { retryText } = await import('../../report/copy.ts');
    const { runWithProgress } = await import('../../report/runs/run-engine.ts');
    const { retryLetters } = await import('../../engine/run.ts');
    const command = 'dead-letters retry';
    return inTurn(context, 'newest', async (turned) => {
      if (which !== 'all') await refuseUnlessOpen(which, loadLedgerPath(turned));
      return withMetrics(turned, command, async () =>
        runWithProgress(turned, {
          command,
          text: retryText,
          run: async (parts) => {
            const wanted = which === 'all' ? which : [which];
            const result = await withLedger(async () => retryLetters(parts, wanted));
            turned.out.note(`${pluralize(result.retried, 'dead letter')} retried, ${result.closed} closed`);
            return result;
          },
        }),
      );
    });
  },
};

async function refuseUnlessOpen(number: number, path: string): Promise<void> {
  const { Ledger } = await import('../../state/ledger.ts');
  const { requireOpenLetter } = await import('../../workflows/dead-letters.ts');
  using ledger = Ledger.openReadonly(path);
  requireOpenLetter(ledger, number);
}
