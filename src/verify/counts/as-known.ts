/**
 * Whether both sides have as many documents as the mover knows. Invariant: a document that the ledger counts in error is
 * left out only if it is on neither side now. A comparison of all documents has not seen it, and no change since has
 * shown it.
 */
import type { KnownDocuments } from '../../state/index/known-documents.ts';
import { swapped } from '../recheck/find-absent.ts';
import type { VerifyStore } from '../store.ts';
import type { Comparison } from '../verify.ts';
import { countBoth, type CountedSides } from './compare-counts.ts';

/** What was counted at about the same time. */
interface Counted {
  readonly sides: CountedSides;
  readonly known: KnownDocuments;
}

/** Counts both sides, before what has changed is compared; null: the ledger does not know the numbers yet. */
export async function countNow(comparison: Comparison, store: VerifyStore): Promise<Counted | null> {
  const absent = store
    .absent()
    .map(swapped)
    .toSorted((one, other) => one.compare(other));
  const known = await comparison.ledger.known(comparison.signal, absent);
  return known === null ? null : { sides: await countBoth(comparison), known };
}

/**
 * Returns the numbers of documents on both sides, if each side has exactly as many as the mover knows; otherwise null.
 * Called when what has changed was compared.
 *
 * The source has no document that the mover does not know, since the feed shows each. So if the numbers are equal, no
 * document was deleted there unreported. The target has no document that the mover does not know either: that was so at
 * the last clean comparison, and what came later is compared. Comparing the two counts with each other would prove
 * less: a delete in the source could hide the loss of another document in the target.
 *
 * The documents that the last clean comparison has found on neither side are not among those that each side must have.
 * One that was created again since has an entry in this comparison, and counts.
 */
export function asKnown(counted: Counted | null, { candidates }: VerifyStore): CountedSides | null {
  if (counted === null) return null;
  const { sides, known } = counted;
  const gone = known.live.filter((identity) => !candidates.has(swapped(identity))).length;
  const isAsKnown = sides.source.count === known.source - gone && sides.target.count === known.target - gone;
  return isAsKnown ? sides : null;
}
