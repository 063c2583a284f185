/**
 * Hashes a key that was computed from decoded values, to the same words as the kernel does (wasm/row-keys.ts): the first
 * half of the service's own hash of a value, whose second half is the position. For a hierarchical key, the words of the
 * levels so far are hashed together.
 */
import { hashBytes } from '../../documents/hash.ts';
import { encodeUnits } from '../../documents/name-tree.ts';
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';

/** Writes two words for each level, the low word first, to `out`. */
export function writeKeyWords(values: readonly KeyComponent[], out: Int32Array): void {
  const levels = Buffer.alloc(8 * values.length);
  const hash = new Uint32Array(4);
  for (const [level, value] of values.entries()) {
    writeValueWords(value, hash);
    levels.writeUInt32LE(hash[0] ?? 0, 8 * level);
    levels.writeUInt32LE(hash[1] ?? 0, 8 * level + 4);
    if (level > 0) hashBytes(levels.subarray(0, 8 * level + 8), hash, 0);
    out[2 * level] = hash[0] ?? 0;
    out[2 * level + 1] = hash[1] ?? 0;
  }
}

function writeValueWords(value: KeyComponent, out: Uint32Array): void {
  // The service's hash is the same for all halves of surrogate pairs, which are different values.
  if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) return hashBytes(encodeUnits(value), out, 0);
  const key = effectiveKey('hash-v2', [value]);
  out[0] = Number.parseInt(key.slice(24), 16);
  out[1] = Number.parseInt(key.slice(16, 24), 16);
}

/** Positions that were computed, by the words of their key: a bounded memory, in which a later key replaces another. */
export class Positions {
  readonly #known = new Int32Array(3 * 4096);

  of(high: number, low: number, compute: () => number): number {
    const at = 3 * (low & 4095);
    const known = this.#known;
    if (known[at] === high && known[at + 1] === low) return known[at + 2] ?? 0;
    const position = compute();
    known.set([high, low, position], at);
    return position;
  }
}
