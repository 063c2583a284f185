/** `cosmig dead-letters retry`: moves the documents of letters once more, as they are in the source now. */
import type { Command, Values } from '../../cli/command.ts';
import type { RunParts, Snapshot } from '../../engine/run.ts';
import { UsageError } from '../../lib/errors.ts';
import { SPEC_OPTIONS } from '../../spec/fields.ts';
import { loadLedgerPath } from '../../spec/load.ts';
import { DEAD_LETTERS, noSuchLetter, notOpen, numberOf } from './index.ts';
import { moveBy } from '../../report/run-engine.ts';
import { counted } from '../../report/format.ts';

const OPTIONS = {
  all: { type: 'boolean', default: false, help: 'every open one' },
  ...SPEC_OPTIONS,
} as const;

export const deadLettersRetry: Command<typeof OPTIONS> = {
  name: 'dead-letters retry',
  group: DEAD_LETTERS,
  summary: 'try one or all of them again, after mending what they say',
  description:
    'Reads the documents of open dead letters from the source as they are now and moves them; a letter whose document ' +
    'is where it belongs, or is gone, is closed. No run may be on. Ends with exit code 5 while letters are open.',
  examples: [
    { line: 'cosmig dead-letters retry 12', purpose: 'one of them' },
    { line: 'cosmig dead-letters retry --all', purpose: 'every open one' },
  ],
  options: OPTIONS,
  operand: 'NUMBER',
  async run(context) {
    const { options, operand, env, clock, out } = context;
    const which = wanted(options, operand);
    if (which !== 'all') await refuseUnknown(which, loadLedgerPath({ options, env, clock }));
    const { retryLetters } = await import('../../engine/run.ts');
    const run = async (parts: RunParts): Promise<Snapshot> => {
      const result = await retryLetters(parts, which);
      out.note(`${counted(result.retried, 'dead letter')} tried again, ${result.closed} closed`);
      return result;
    };
    return moveBy(context, { command: 'dead-letters retry', run });
  },
};

function wanted({ all }: Values<typeof OPTIONS>, operand: string | undefined): 'all' | readonly [number] {
  if (all !== (operand === undefined)) {
    throw new UsageError(all ? `both ${operand} and --all were given` : 'no dead letter was named', {
      why: 'it is one of them, by its number, or all',
      hint: 'write cosmig dead-letters retry NUMBER, or --all',
    });
  }
  return operand === undefined ? 'all' : [numberOf(operand)];
}

/** Before anything is connected to. */
async function refuseUnknown([number]: readonly [number], path: string): Promise<void> {
  const { Ledger } = await import('../../state/ledger.ts');
  using ledger = Ledger.openReadonly(path);
  const letter = ledger.letters.get(number);
  if (letter === null) throw noSuchLetter(number);
  if (letter.state !== 'open') throw notOpen(letter);
}
