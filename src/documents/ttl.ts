/**
 * The `ttl` of a copy that expires together with its original. The mover computes the `ttl` when it reads the document,
 * and refreshes it whenever it sends the copy, so that a delay does not extend the life of the copy.
 */

export interface Lifetime {
  /** The offset after the digits of `ttl` in a text. `digits` is the number of the digits. */
  readonly end: number;
  readonly digits: number;
  /** When the original expires, in seconds since the epoch by the service's clock. */
  readonly endsTs: number;
}

const BLANK = 0x20;

/**
 * Overwrites the `ttl` in a text with the remaining seconds, at least 1. If the new number has fewer digits, blanks are
 * added at the end of the text, so that its size does not change.
 */
export function refreshTtl(text: Buffer, { end, digits, endsTs }: Lifetime, nowTs: number): void {
  const left = String(Math.max(1, endsTs - nowTs));
  const saved = digits - left.length;
  // More digits than before mean that the clock was set back. In that case the `ttl` stays as it is.
  if (saved < 0) return;
  text.write(left, end - digits, 'latin1');
  if (saved === 0) return;
  text.copyWithin(end - saved, end);
  text.fill(BLANK, text.length - saved);
}

/** Returns the lifetime with its offset for a text that begins `by` bytes later. */
export function shifted({ end, ...lifetime }: Lifetime, by: number): Lifetime {
  return { ...lifetime, end: end - by };
}
