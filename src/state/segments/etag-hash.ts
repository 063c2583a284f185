/**
 * Etags as the ledger keeps them: hashes of 64 bits, which distinguish the versions of one document. Invariant: a hash
 * is never all zeros, since zeros stand for an unknown etag.
 */
import { writeWord } from '../../documents/hash.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
export const ETAG_BYTES = 8;
/** The bytes that stand for an unknown etag. */
export const NO_ETAG = Buffer.alloc(ETAG_BYTES);

/** Returns the hash of an etag. */
export function etagToBytes(etag: string): Buffer {
  const bytes = Buffer.alloc(ETAG_BYTES);
  writeEtag(bytes, 0, etag);
  return bytes;
}

const FRESH = [0xdead_beef, 0x41c6_ce57] as const;

/**
 * Computes the two halves of an etag's hash. They are mixed at the end (as in cyrb53), because etags differ in few
 * characters.
 */
class EtagHash {
  #one = 0;
  #two = 0;

  readText(text: string): this {
    let one: number = FRESH[0];
    let two: number = FRESH[1];
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      one = Math.imul(one ^ unit, 0x9e37_79b1);
      two = Math.imul(two ^ unit, 0x5f35_6495);
    }
    this.#one = one;
    this.#two = two;
    return this;
  }

  /** Reads an etag as JSON text. Returns false if it is not ASCII, or if a character other than a quote is escaped. */
  readPlain(page: Uint8Array, start: number, end: number): boolean {
    if (page[start] !== QUOTE) return false;
    let one: number = FRESH[0];
    let two: number = FRESH[1];
    for (let i = start + 1; i < end - 1; i += 1) {
      let unit = page[i] ?? 0;
      if (unit >= 0x80) return false;
      if (unit === BACKSLASH) {
        i += 1;
        unit = page[i] ?? 0;
        if (unit !== QUOTE) return false;
      }
      one = Math.imul(one ^ unit, 0x9e37_79b1);
      two = Math.imul(two ^ unit, 0x5f35_6495);
    }
    this.#one = one;
    this.#two = two;
    return true;
  }

  write(out: Buffer, at: number): void {
    let [one, two] = [this.#one, this.#two];
    const mixed = Math.imul(one ^ (one >>> 16), 0x85eb_ca6b) ^ Math.imul(two ^ (two >>> 13), 0xc2b2_ae35);
    two = Math.imul(two ^ (two >>> 16), 0x85eb_ca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2_ae35);
    one = mixed;
    if (one === 0 && two === 0) two = 1;
    writeWord(out, at, one);
    writeWord(out, at + 4, two);
  }
}

const hash = new EtagHash();

/** Writes the hash of an etag, or zeros if the etag is null. */
export function writeEtag(out: Buffer, at: number, etag: string | null): void {
  if (etag !== null) return hash.readText(etag).write(out, at);
  writeWord(out, at, 0);
  writeWord(out, at + 4, 0);
}

/** Writes the hash of an etag that is JSON text in a page. `start` 0 means that the document has no etag. */
export function writeEtagOf(page: Uint8Array, start: number, end: number, out: Buffer, at: number): void {
  if (start > 0 && hash.readPlain(page, start, end)) hash.write(out, at);
  else writeEtag(out, at, decoded(page, start, end));
}

/**
 * Writes 64 bits of a content hash where else the etag stands, for a version that is not known. Like the hash of an etag,
 * they are never all zeros.
 */
export function writeContentMark(out: Buffer, at: number, words: Uint32Array): void {
  const [one = 0, two = 0] = words;
  writeWord(out, at, one);
  writeWord(out, at + 4, one === 0 && two === 0 ? 1 : two);
}

function decoded(page: Uint8Array, start: number, end: number): string | null {
  if (start === 0) return null;
  const value: unknown = JSON.parse(Buffer.from(page.subarray(start, end)).toString());
  return typeof value === 'string' ? value : null;
}
