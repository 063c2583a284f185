/**
 * Formats numbers and counts for messages. Every layer uses the same formats, because an error gets its text in the
 * layer in which it arises.
 */

/** Formats a number with separators: 1234567 becomes `1,234,567`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}

/** Returns a count with its noun, such as `1 range` or `2 ranges`. */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Lists counts, such as `2 collision, 1 too-large`: the largest first, zeros left out. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, number]) => `${formatCount(number)} ${name}`)
    .join(', ');
}
