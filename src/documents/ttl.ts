/**
 * The `ttl` of a copy that expires together with its original. It is computed when the document is read and
 * refreshed whenever it is sent, so that a delay does not extend the life of the copy.
 */

export interface Lifetime {
  /** The end of the digits of `ttl` in a text, and their number. */
  readonly end: number;
  readonly digits: number;
  /** When the original expires, in seconds of the service's clock. */
  readonly endsTs: number;
}

const BLANK = 0x20;

/**
 * Overwrites the `ttl` in a text with the remaining seconds, at least 1. If that has fewer digits, the text is
 * padded with blanks at its end, so that its size does not change.
 */
export function refreshTtl(text: Buffer, { end, digits, endsTs }: Lifetime, nowTs: number): void {
  const left = String(Math.max(1, endsTs - nowTs));
  const saved = digits - left.length;
  // The clock was set back: the first value stays.
  if (saved < 0) return;
  text.write(left, end - digits, 'latin1');
  if (saved === 0) return;
  text.copyWithin(end - saved, end);
  text.fill(BLANK, text.length - saved);
}

/** The same lifetime for a text that begins `by` bytes later. */
export function shifted({ end, ...lifetime }: Lifetime, by: number): Lifetime {
  return { ...lifetime, end: end - by };
}
