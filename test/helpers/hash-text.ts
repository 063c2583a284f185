/** A hash as text, for the messages of tests. */
import { HASH_WORDS } from '../../src/documents/hash.ts';

export function hashText(words: Uint32Array, at: number): string {
  let text = '';
  for (let i = at; i < at + HASH_WORDS; i += 1) text += (words[i] ?? 0).toString(16).padStart(8, '0');
  return text;
}
