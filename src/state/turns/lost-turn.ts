/** The refusal for the ledger of a turn that has begun and whose file is gone. */
import { LedgerError } from '../../lib/errors.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';

/** `number`: the turn whose ledger is missing. `previous`: the ledger which says that it has begun. */
export function turnLost(
  ledger: string,
  { number, previous }: { readonly number: number; readonly previous: string },
): LedgerError {
  const swapped = leadsBack(number) ? ' with the two containers swapped,' : '';
  return new LedgerError(`the ledger ${ledger} is missing, and changes were replicated with it`, {
    why: `${previous} says that it had begun, and without it nothing knows how far the changes were replicated`,
    hint: `put the file back, or a copy of it that cosmig status --backup has written; if there is none, begin a migration of its own that reads the container in use: another --ledger,${swapped} and --adopt-target`,
  });
}
