/** What somebody probably meant: the known word that is few typing mistakes away, `changesMax` at most. */
export function nearest(
  word: string,
  known: readonly string[],
  changesMax = Number.POSITIVE_INFINITY,
): string | undefined {
  // Two letters swapped are two changes; beyond a third of the word a guess helps nobody.
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(word, candidate);
    const bearable = Math.max(candidate.length > 3 ? 2 : 1, Math.floor(candidate.length / 3));
    if (distance <= Math.min(bearable, changesMax) && distance < (best?.distance ?? Infinity))
      best = { word: candidate, distance };
  }
  return best?.word;
}

/** Letters to insert, drop or change to turn one word into the other. */
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
