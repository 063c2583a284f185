/**
 * What an operator decides about dead letters. Invariant: discarding is recorded in the journal, and moves or deletes
 * nothing.
 */
import { NotReadyError, UsageError } from '../lib/errors.ts';
import { migrationName } from '../spec/migration-name.ts';
import type { Letter, Reason } from '../state/dead-letters.ts';
import { Ledger } from '../state/ledger.ts';

/** One letter by its number, or all open letters with one reason. */
export type LetterChoice = { readonly number: number } | { readonly reason: Reason };

export interface Discarded {
  readonly migration: string;
  readonly discarded: number;
  readonly deadLetters: { readonly open: number };
}

export function discardLetters(path: string, choice: LetterChoice, nowMs: number): Discarded {
  using ledger = Ledger.openForOperator(path);
  const discarded =
    'number' in choice
      ? discardOne(ledger, choice.number, nowMs)
      : ledger.letters.discardAll(choice.reason, nowMs);
  const { number: letter = null, reason = null } = { number: undefined, reason: undefined, ...choice };
  if (discarded > 0)
    ledger.journal.append({ event: 'dead letters discarded', discarded, letter, reason }, nowMs);
  const open = ledger.letters.openCount();
  return { migration: migrationName(ledger.migration.read().pinned), discarded, deadLetters: { open } };
}

function discardOne(ledger: Ledger, number: number, nowMs: number): 1 {
  requireOpenLetter(ledger, number);
  // Another process may have closed the letter after the check above.
  if (!ledger.letters.discard(number, nowMs)) throw notOpen(requireLetter(ledger, number));
  return 1;
}

export function requireLetter(ledger: Ledger, number: number): Letter {
  const letter = ledger.letters.get(number);
  if (letter !== null) return letter;
  throw new UsageError(`there is no dead letter ${number}`, {
    why: 'the ledger has no dead letter of this number',
    hint: 'see cosmig dead-letters list --all',
  });
}

export function requireOpenLetter(ledger: Ledger, number: number): void {
  const letter = requireLetter(ledger, number);
  if (letter.state !== 'open') throw notOpen(letter);
}

function notOpen({ number, state }: Letter): NotReadyError {
  return new NotReadyError(`dead letter ${number} is not open`, {
    why: state === 'closed' ? 'its document has been moved or deleted since' : 'it was discarded already',
    hint:
      state === 'closed'
        ? 'see cosmig dead-letters list'
        : 'change its document in the source, and cosmig tail moves it',
  });
}
