/**
 * Returns the known word that the operator probably meant: the one with the fewest typing errors, at most `changesMax`.
 */
export function nearest(
  word: string,
  known: readonly string[],
  changesMax = Number.POSITIVE_INFINITY,
): string | undefined {
  // Two swapped letters count as two changes. If more than a third of the word differs, a guess would not help.
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(word, candidate);
    const limit = Math.max(candidate.length > 3 ? 2 : 1, Math.floor(candidate.length / 3));
    if (distance <= Math.min(limit, changesMax) && distance < (best?.distance ?? Infinity))
      best = { word: candidate, distance };
  }
  return best?.word;
}

/** Returns how many letters have to be inserted, deleted or replaced to turn one word into the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [line, letter] of from.split('').entries()) {
    const next = [line + 1];
    for (const [column, other] of to.split('').entries()) {
      const change = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
