/** What is found in a target that is to be adopted, as counts and in words. Loads nothing else, so reports may use it. */
import { formatCount } from '../../lib/counting.ts';

/** What is in a target that is to be adopted, and what is not. */
export interface AdoptionCounts {
  /** Copies in their slot, with the content of the source document. */
  readonly same: number;
  /** Copies in their slot, with other content. */
  readonly different: number;
  /** Copies under another key than the one that the source document has now. */
  readonly wrongSlot: number;
  /** Documents of the source that have no copy. */
  readonly missing: number;
  /** Copies whose document is not in the source. */
  readonly extra: number;
  /** Documents that no migration with these settings has written. */
  readonly strangers: number;
}

/** Returns the counts in words, without those that are 0. */
export function describeAdoption({
  same,
  different,
  wrongSlot,
  missing,
  extra,
  strangers,
}: AdoptionCounts): string {
  const counts = [
    [same, 'up to date'],
    [different, 'with other content'],
    [wrongSlot, 'under another key'],
    [extra, 'whose document is not in the source'],
    [strangers, 'that no migration with these settings has written'],
    [missing, 'of the source are missing'],
  ] as const;
  const found = counts.filter(([count]) => count > 0).map(([count, what]) => `${formatCount(count)} ${what}`);
  return found.length === 0 ? 'both sides are empty' : found.join(', ');
}
