/**
 * Formats numbers and counts for messages. Every layer uses the same formats, because an error gets its text in the
 * layer in which it arises.
 */

/** Formats a number with separators: 1234567 becomes `1,234,567`. A fraction gets at most three digits. */
export function formatCount(value: number): string {
  // The first number that Node formats by a locale takes 30 ms, which is much of the time of a short command.
  if (!Number.isSafeInteger(value)) return value.toLocaleString('en-US');
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Returns a count with its noun, such as `1 range` or `2 ranges`. */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Returns a share as `45 %`, `4.5 %` or `under 0.1 %`. A share that is not whole is never shown as 100 %. */
export function formatShare(share: number): string {
  if (share > 0 && share < 0.001) return 'under 0.1 %';
  if (share < 1 && share >= 0.9995) return 'over 99.9 %';
  const percent = Math.round(share * 1000) / 10;
  return `${percent >= 10 && percent <= 99 ? Math.round(percent) : percent} %`;
}

/** Lists counts, such as `2 collision, 1 too-large`: the largest first, zeros left out. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, number]) => `${formatCount(number)} ${name}`)
    .join(', ');
}
