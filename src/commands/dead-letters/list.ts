/** `cosmig dead-letters list`: one line a letter, however many there are; reads only, needs no account. */
import type { Command } from '../../cli/command.ts';
import { printable } from '../../keys/show.ts';
import { loadLedgerPath } from '../../spec/load.ts';
import type { Letter } from '../../state/dead-letters.ts';
import { DEAD_LETTERS, jsonOfLetter } from './index.ts';
import { LEDGER_OPTIONS } from '../ledger-options.ts';

/** Letters that are in memory at once. */
const PAGE = 500;

const OPTIONS = {
  ...LEDGER_OPTIONS,
  state: {
    type: 'choice',
    choices: ['open', 'closed', 'discarded', 'any'],
    default: 'open',
    help: 'what became of them',
  },
  all: { type: 'boolean', default: false, help: 'the same as --state any' },
} as const;

export const deadLettersList: Command<typeof OPTIONS> = {
  name: 'dead-letters list',
  group: DEAD_LETTERS,
  summary: 'list them, the open ones unless asked otherwise',
  description:
    'Prints a line for each document that could not be moved: number, reason, id, source key and target key, and why. ' +
    'With --json each line is an object. Reads the ledger only, also while a run is on.',
  examples: [
    { line: 'cosmig dead-letters list', purpose: 'what is open' },
    {
      line: 'cosmig dead-letters list --ledger .cosmig/orders.db --all --json',
      purpose: 'everything there ever was, for a script',
    },
  ],
  options: OPTIONS,
  async run({ options, env, clock, out }) {
    const path = loadLedgerPath({ options, env, clock });
    const { Ledger } = await import('../../state/ledger.ts');
    using ledger = Ledger.openReadonly(path);
    const state = options.all ? 'any' : options.state;
    let after = 0;
    let page: readonly Letter[];
    do {
      page = ledger.letters.list({ state, after, limit: PAGE });
      for (const letter of page) {
        after = letter.number;
        if (!(await out.line(lineOf(letter, state), jsonOfLetter(letter)))) return undefined;
      }
    } while (page.length === PAGE);
    if (after === 0) out.note(state === 'any' ? 'there are no dead letters' : `no dead letter is ${state}`);
    return undefined;
  },
};

function lineOf(letter: Letter, shown: string): string {
  const { number, state, reason, id, sourceKey, targetKey, why } = letter;
  const became = shown === 'any' ? state.padEnd(11) : '';
  const head = `${String(number).padStart(6)}  ${became}${reason.padEnd(17)}`;
  return printable(`${head}${id}  ${sourceKey} -> ${targetKey ?? '(no key)'}  ${why}`);
}
