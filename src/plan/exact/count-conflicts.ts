/** Counts the sorted entries of a unique key: documents with the same new key and the same values are next to each other. */
import { EXAMPLES_MAX } from './count-keys.ts';
import { UNIQUE_ENTRY } from './entries.ts';
import type { OrderedEntries } from './exact-entries.ts';
import { throughTurns } from './turns.ts';

/** Documents that have the same unique values under the new key, by the first two words of their common hash. */
export interface FoundConflict {
  readonly high: number;
  readonly low: number;
  readonly numbers: readonly number[];
}

export interface ConflictCounts {
  /** How many documents would be refused: all but one of those with the same values in one value of the key. */
  readonly documents: number;
  readonly found: readonly FoundConflict[];
}

export async function countConflicts(
  { merge, end }: OrderedEntries,
  signal: AbortSignal,
): Promise<ConflictCounts> {
  const last = new Uint32Array(UNIQUE_ENTRY.words);
  const found: FoundConflict[] = [];
  let [documents, group] = [0, 0];
  await throughTurns(() => {
    const at = merge.next();
    if (at < 0) return false;
    const { words } = merge;
    let same = 0;
    while (same < UNIQUE_ENTRY.number && words[at + same] === last[same]) same += 1;
    group = group > 0 && same === UNIQUE_ENTRY.number ? group + 1 : 1;
    if (group > 1) documents += 1;
    if (group === 2 && found.length < EXAMPLES_MAX) {
      const [high = 0, low = 0] = words.subarray(at, at + 2);
      const numbers = [words[at + UNIQUE_ENTRY.number] ?? 0, last[UNIQUE_ENTRY.number] ?? 0];
      found.push({ high, low, numbers });
    }
    for (let i = 0; i < last.length; i += 1) last[i] = words[at + i] ?? 0;
    return true;
  }, signal);
  end();
  return { documents, found };
}
