/**
 * `cosmig dead-letters discard`: the operator accepts that a document will not be migrated. Invariant: discarding many at
 * once needs --yes.
 */
import type { Command, Values } from '../../cli/command.ts';
import { pluralize } from '../../lib/counting.ts';
import { UsageError } from '../../lib/errors.ts';
import type { DISCARDED } from '../../report/json/ledger-results.ts';
import type { TypeOf } from '../../report/json/schema.ts';
import { LEDGER_OPTIONS } from '../../spec/fields.ts';
import type { Reason } from '../../state/dead-letters.ts';
import type { LetterChoice } from '../../workflows/dead-letters.ts';
import { DEAD_LETTERS, numberOrAll, withLedger } from './index.ts';

/** Every reason; a test compares this list with that of the ledger, which --help does not load. */
const REASONS = [
  'collision',
  'missing-key',
  'invalid-key',
  'key-conflict',
  'too-large',
  'key-too-long',
  'partition-full',
  'bad-id',
  'unique-key',
  'foreign-document',
  'changed-by-others',
  'rejected',
] as const satisfies readonly Reason[];

const OPTIONS = {
  all: { type: 'boolean', help: 'discard all open ones of one --reason; needs --yes' },
  reason: { type: 'choice', choices: REASONS, value: 'REASON', help: 'with --all, the reason' },
  yes: { type: 'boolean', help: 'with --all, confirm that all of them are discarded' },
  ...LEDGER_OPTIONS,
} as const;

export const deadLettersDiscard: Command<typeof OPTIONS> = {
  name: 'dead-letters discard',
  group: DEAD_LETTERS,
  summary: 'accept that these documents will not be migrated',
  description:
    'Removes a dead letter from the open ones: you accept that its document will not be in the target. Nothing is moved ' +
    'or deleted, and the decision stays in the ledger. If the document changes in the source later, the change is moved. ' +
    'A cutover with --keep-source-for refuses while a discarded document is in the source and not in the target. ' +
    'No other run may hold the ledger: stop cosmig tail with Ctrl-C before, and start it again afterwards.',
  examples: [
    { line: 'cosmig dead-letters discard 12', purpose: 'one of them' },
    { line: 'cosmig dead-letters discard --all --reason too-large --yes', purpose: 'all of one reason' },
  ],
  options: OPTIONS,
  endsWith: { ledger: true },
  operand: '[NUMBER]',
  async run(context) {
    const choice = choiceFrom(context.options, context.operand);
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { discardLetters } = await import('../../workflows/dead-letters.ts');
    const { nextLine } = await import('../../report/status/next-step.ts');
    return inTurn(context, 'newest', async (turned) => {
      const path = loadLedgerPath(turned);
      const result = await withLedger(async () => discardLetters(path, choice, turned.clock.now()));
      const { discarded, deadLetters } = result;
      const json: TypeOf<typeof DISCARDED> = { command: 'dead-letters discard', ...result };
      const text = `${pluralize(discarded, 'dead letter')} discarded, ${deadLetters.open} still open`;
      return { json, text, ...nextLine(discarded === 0 ? null : NEXT) };
    });
  },
};

const NEXT =
  'continue with the migration: cosmig verify and cutover count what is left behind; a cutover with --keep-source-for refuses while such a document is in the source and not in the target';

/** Returns which letters to discard. Called before the ledger is opened, so that wrong usage is reported first. */
function choiceFrom({ all, reason, yes }: Values<typeof OPTIONS>, operand: string | undefined): LetterChoice {
  const usage = 'dead-letters discard NUMBER, or --all --reason REASON --yes';
  const number = numberOrAll(operand, all, usage);
  if (number !== 'all') return { number };
  if (reason === undefined || !yes) {
    throw new UsageError(`--all needs ${reason === undefined ? '--reason' : '--yes'}`, {
      why: 'you accept that each of these documents will be missing from the target',
      hint: `check them with cosmig dead-letters list, then write --all --reason ${reason ?? 'REASON'} --yes`,
    });
  }
  return { reason };
}
