/**
 * The `ttl` of a copy that ends when its original does. It is reckoned when a document is read, and anew whenever it is
 * sent: what has to wait must not live longer for it.
 */

export interface Lifetime {
  /** Where the digits of `ttl` end in a text, and how many there are. */
  readonly end: number;
  readonly digits: number;
  /** When the original ends, in seconds of the service. */
  readonly endsTs: number;
}

const BLANK = 0x20;

/**
 * Writes what is left of a life over the `ttl` in a text. Digits that this saves become blanks at the end of the text:
 * its size stays. What is over already lives for a second.
 */
export function reckonAnew(text: Buffer, { end, digits, endsTs }: Lifetime, nowTs: number): void {
  const left = String(Math.max(1, endsTs - nowTs));
  const saved = digits - left.length;
  // A clock that was set back: what was reckoned first stands.
  if (saved < 0) return;
  text.write(left, end - digits, 'latin1');
  if (saved === 0) return;
  text.copyWithin(end - saved, end);
  text.fill(BLANK, text.length - saved);
}

/** The same life in a text that begins `by` bytes later. */
export function shifted({ end, ...lifetime }: Lifetime, by: number): Lifetime {
  return { ...lifetime, end: end - by };
}
