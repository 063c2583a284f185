/** How numbers and counts read in messages: the same in every layer, since errors are worded where they arise. */

/** 1234567 as 1,234,567. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 range`, `2 ranges`. */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `2 collision, 1 too-large`: the largest count first, zeros left out. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, number]) => `${formatCount(number)} ${name}`)
    .join(', ');
}
