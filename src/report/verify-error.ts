/** A comparison that did not end clean: why, and what to do about it by whoever brings over what differs. */
import { MismatchError, NotReadyError, type CosmigError } from '../lib/errors.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { Ledger } from '../state/ledger.ts';
import type { Verdict } from '../verify/verdict.ts';
import { kindsText } from './verify.ts';
import { counted } from './format.ts';

/** By a tail beside the comparison, by the repair that has compared; or never any more. */
export type BroughtOver = 'by a tail' | 'by a repair' | 'never';

export function whoBringsOver({ ledger: path }: MigrationSpec): BroughtOver {
  using ledger = Ledger.openReadonly(path);
  return ledger.migration.read().phase === 'committed' ? 'never' : 'by a tail';
}

const COMMITTED = 'the target is in use, and nothing is brought over any more';

const REPAIRED =
  'they were brought right, and differ still: see who else writes into the target; what is no document of the source, take out yourself';

const NOT_PROVEN: Readonly<Record<BroughtOver, string>> = {
  'by a tail':
    'let cosmig tail run or catch up (cosmig tail --until-caught-up), then run cosmig verify again',
  'by a repair':
    'more was written than the target takes: give it more RU/s, or --deadline more time, then run cosmig verify --repair again',
  never: `nothing: ${COMMITTED}`,
};

/** Who brings over is asked only where something differs. */
export function unequalOf(verdict: Verdict, howBroughtOver: () => BroughtOver): CosmigError | undefined {
  const { equal, differences, inFlight, level } = verdict;
  if (equal === true) return undefined;
  const isBroughtOver = howBroughtOver();
  if (equal === null) {
    return new NotReadyError('it is not proven that both sides hold the same', {
      why: inFlightText(verdict),
      hint: NOT_PROVEN[isBroughtOver],
    });
  }
  const total = Object.values(differences).reduce((sum, one) => sum + one, 0);
  const rest = inFlight > 0 ? inFlightText(verdict) : 'nothing was in flight';
  return new MismatchError(`${counted(total, 'difference')} between source and target`, {
    why: `${kindsText(differences)}; both sides were looked at twice, and ${rest}`,
    hint: level === 'count' ? 'run cosmig verify, which names them' : mendingOf(verdict, isBroughtOver),
  });
}

function inFlightText({ inFlight, waitsFor }: Verdict): string {
  return `${counted(inFlight, 'document')} may still be in flight${waitsFor === null ? '' : `: ${waitsFor}`}`;
}

function mendingOf({ differences }: Verdict, isBroughtOver: BroughtOver): string {
  const named = 'see the documents that are named above (more of them in --report FILE)';
  if (isBroughtOver === 'never') return `${named}; ${COMMITTED}`;
  if (isBroughtOver === 'by a repair') return `${named}; ${REPAIRED}`;
  // What everybody sees first whose account does not tell deletes.
  const { extra, ...others } = differences;
  return extra > 0 && Object.values(others).every((documents) => documents === 0)
    ? `${named}; those that were deleted in the source, where no feed tells of it, cosmig verify --repair takes out of the target`
    : `${named}; cosmig verify --repair brings them right`;
}
