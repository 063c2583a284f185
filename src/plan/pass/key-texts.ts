/**
 * Remembers what the heavy values of a key look like: sketches know hashes only. A text is made when a value has become
 * a noticeable share of everything, which costs nothing for the many values that never do.
 */

/** A value with less than this share is never among those that are shown, unless there are few values. */
const SHARE_MIN = 1 / 5000;
/** How many texts are kept. There cannot be many more values that each have a noticeable share. */
const TEXTS_MAX = 50_000;

export class ValueTexts {
  readonly #texts: Map<string, string>;

  constructor(saved: ReadonlyArray<readonly [string, string]> = []) {
    this.#texts = new Map(saved);
  }

  has(high: number, low: number): boolean {
    return this.#texts.has(nameOf(high, low));
  }

  keep(high: number, low: number, text: string): void {
    if (this.#texts.size < TEXTS_MAX) this.#texts.set(nameOf(high, low), text);
  }

  of(high: number, low: number): string {
    return this.#texts.get(nameOf(high, low)) ?? '(one of many small values)';
  }

  toJson(): Array<readonly [string, string]> {
    return [...this.#texts];
  }
}

/**
 * Whether the text of a value is due: its share is noticeable, and the number of its documents is a power of two, so
 * that a value which keeps growing is asked about repeatedly, but rarely.
 */
export function isTextDue(documents: number, weight: number, total: number): boolean {
  return (documents & (documents - 1)) === 0 && weight >= total * SHARE_MIN;
}

function nameOf(high: number, low: number): string {
  // fromCharCode uses the lower 16 bits of each number, and is faster than digits.
  return String.fromCharCode(high >>> 16, high, low >>> 16, low);
}
