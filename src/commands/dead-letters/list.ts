/**
 * `cosmig dead-letters list`: prints a few lines per letter, for any number of letters. It only reads the ledger and
 * needs no account.
 */
import type { Command } from '../../cli/command.ts';
import { LEDGER_OPTIONS } from '../../spec/fields.ts';
import { DEAD_LETTERS, letterJson } from './index.ts';

const OPTIONS = {
  state: {
    type: 'choice',
    choices: ['open', 'closed', 'discarded', 'any'],
    default: 'open',
    help: 'which ones to list',
  },
  all: { type: 'boolean', help: 'the same as --state any' },
  ...LEDGER_OPTIONS,
} as const;

const NEXT =
  'next: cosmig dead-letters show NUMBER says what to do about one; retry NUMBER tries it again, ' +
  'discard NUMBER leaves its document behind';

export const deadLettersList: Command<typeof OPTIONS> = {
  name: 'dead-letters list',
  group: DEAD_LETTERS,
  summary: 'list dead letters, by default the open ones',
  description:
    'Prints for each document that could not be moved its number, reason, id, source key and target key, and below that why. ' +
    'With --json each of them is an object on a line of its own. Only reads the ledger, also during a run.',
  examples: [
    { line: 'cosmig dead-letters list', purpose: 'the open ones' },
    {
      line: 'cosmig dead-letters list --ledger .cosmig/orders.db --all --json',
      purpose: 'all that were ever opened, for a script',
    },
  ],
  options: OPTIONS,
  endsWith: { ledger: true },
  async run(context) {
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { listedText, othersText } = await import('../../report/dead-letter.ts');
    const { Ledger } = await import('../../state/ledger.ts');
    return inTurn(context, 'newest', async (turned) => {
      const { options, out } = turned;
      using ledger = Ledger.openReadonly(loadLedgerPath(turned));
      const state = options.all ? 'any' : options.state;
      let listed = 0;
      for (const letter of ledger.letters.each(state)) {
        listed += 1;
        if (!(await out.line(listedText(letter, state), letterJson(letter)))) return undefined;
      }
      if (listed === 0) {
        const others = state === 'any' ? '' : othersText(ledger.letters.counts());
        out.note(state === 'any' ? 'there are no dead letters' : `no ${state} dead letters${others}`);
      }
      const showsOpen = (state === 'open' || state === 'any') && ledger.letters.openCount() > 0;
      return showsOpen ? { json: null, text: '', aside: NEXT } : undefined;
    });
  },
};
