/**
 * `cosmig dead-letters list`: prints one line per letter, for any number of letters. It only reads the ledger and
 * needs no account.
 */
import type { Command } from '../../cli/command.ts';
import { LEDGER_OPTIONS } from '../../spec/fields.ts';
import type { Letter } from '../../state/dead-letters.ts';
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

export const deadLettersList: Command<typeof OPTIONS> = {
  name: 'dead-letters list',
  group: DEAD_LETTERS,
  summary: 'list dead letters, by default the open ones',
  description:
    'Prints a line for each document that could not be moved: number, reason, id, source key and target key, and why. ' +
    'With --json each of them is an object on a line of its own. Only reads the ledger, also during a run.',
  examples: [
    { line: 'cosmig dead-letters list', purpose: 'the open ones' },
    {
      line: 'cosmig dead-letters list --ledger .cosmig/orders.db --all --json',
      purpose: 'all that were ever opened, for a script',
    },
  ],
  options: OPTIONS,
  async run(context) {
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { Ledger } = await import('../../state/ledger.ts');
    return inTurn(context, 'newest', async (turned) => {
      const { options, out } = turned;
      using ledger = Ledger.openReadonly(loadLedgerPath(turned));
      const state = options.all ? 'any' : options.state;
      let listed = 0;
      for (const letter of ledger.letters.each(state)) {
        listed += 1;
        if (!(await out.line(lineOf(letter, state), letterJson(letter)))) return undefined;
      }
      if (listed === 0) out.note(state === 'any' ? 'there are no dead letters' : `no ${state} dead letters`);
      return undefined;
    });
  },
};

function lineOf(letter: Letter, shown: string): string {
  const { number, state, reason, id, sourceKey, targetKey, why } = letter;
  const shownState = shown === 'any' ? state.padEnd(11) : '';
  const head = `${String(number).padStart(6)}  ${shownState}${reason.padEnd(17)}`;
  return `${head}${id}  ${sourceKey} -> ${targetKey ?? '(no key)'}  ${why}`;
}
