/**
 * `cosmig dead-letters discard`: the operator's word that a document need not be moved. What always holds: it is
 * written to the journal, it moves and deletes nothing, and many at once need --yes.
 */
import type { Command, Values } from '../../cli/command.ts';
import { UsageError } from '../../lib/errors.ts';
import { loadLedgerPath } from '../../spec/load.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { Ledger } from '../../state/ledger.ts';
import { REASONS } from '../../state/dead-letters.ts';
import { DEAD_LETTERS, noSuchLetter, notOpen, numberOf, reasonOf } from './index.ts';
import { LEDGER_OPTIONS } from '../ledger-options.ts';
import { counted } from '../../report/format.ts';

const OPTIONS = {
  ...LEDGER_OPTIONS,
  all: { type: 'boolean', default: false, help: 'all open ones of one --reason; needs --yes' },
  reason: { type: 'text', help: `with --all, which: ${REASONS.join(', ')}` },
  yes: { type: 'boolean', default: false, help: 'discard them all, without being asked again' },
} as const;

export const deadLettersDiscard: Command<typeof OPTIONS> = {
  name: 'dead-letters discard',
  group: DEAD_LETTERS,
  summary: 'waive one, or all of a reason: they count as seen, nothing is moved',
  description:
    'Takes a dead letter out of the open ones: you vouch that its document need not be in the target. Nothing is moved ' +
    'or deleted; the waiver stays in the ledger and is listed. A change of the document in the source is moved as ever.',
  examples: [
    { line: 'cosmig dead-letters discard 12', purpose: 'one of them' },
    { line: 'cosmig dead-letters discard --all --reason too-large --yes', purpose: 'all of one reason' },
  ],
  options: OPTIONS,
  operand: 'NUMBER',
  async run({ options, operand, env, clock }) {
    const choose = chosen(options, operand);
    const path = loadLedgerPath({ options, env, clock });
    const { Ledger: Ledgers } = await import('../../state/ledger.ts');
    using ledger = Ledgers.openForOperator(path);
    const { discarded, number: letter = null, reason = null } = choose(ledger, clock.now());
    if (discarded > 0)
      ledger.journal.append({ event: 'dead letters discarded', discarded, letter, reason }, clock.now());
    const open = ledger.letters.openCount();
    const json = {
      command: 'dead-letters discard',
      migration: migrationName(ledger.migration.read().pinned),
      discarded,
      deadLetters: { open },
    };
    const text = `${counted(discarded, 'dead letter')} discarded, ${open} still open`;
    return { json, text };
  },
};

type Chosen = (
  ledger: Ledger,
  nowMs: number,
) => { readonly discarded: number; readonly number?: number; readonly reason?: string };

/** What is to be discarded; complaints come before the ledger is touched. */
function chosen({ all, reason: text, yes }: Values<typeof OPTIONS>, operand: string | undefined): Chosen {
  if (all === (operand !== undefined)) {
    throw new UsageError(all ? `both ${operand} and --all were given` : 'no dead letter was named', {
      why: 'it is one of them, by its number, or all of a reason',
      hint: 'write cosmig dead-letters discard NUMBER, or --all --reason REASON --yes',
    });
  }
  if (operand !== undefined) {
    const number = numberOf(operand);
    return (ledger, nowMs) => discardOne(ledger, number, nowMs);
  }
  const reason = text === undefined ? undefined : reasonOf(text, REASONS);
  if (reason === undefined || !yes) {
    throw new UsageError(`--all needs ${reason === undefined ? '--reason' : '--yes'}`, {
      why: 'each of these documents would be missing from the target by your word',
      hint: `look at them with cosmig dead-letters list, then write --all --reason ${reason ?? 'REASON'} --yes`,
    });
  }
  return (ledger, nowMs) => ({ discarded: ledger.letters.discardAll(reason, nowMs), reason });
}

function discardOne(ledger: Ledger, number: number, nowMs: number): ReturnType<Chosen> {
  const letter = ledger.letters.get(number);
  if (letter === null) throw noSuchLetter(number);
  if (!ledger.letters.discard(number, nowMs)) throw notOpen(letter);
  return { discarded: 1, number };
}
