/**
 * Who has contributed what to the sums: entries one behind the other, as comparison-entries.ts describes them. What always holds:
 * entries are whole words, and what is taken for one is one.
 */
import { ENTRY } from '../../documents/comparison-entries.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { assert } from '../../lib/assert.ts';
import { LedgerError } from '../../lib/errors.ts';
import { bucketOf } from './buckets.ts';
import { putName, type NameParts } from '../document-name.ts';

/** At first; more where pages are larger. */
const WORDS = 64 * 1024;
const HEAD_BYTES = 4 * ENTRY.name;

/** Entries in memory, until the next checkpoint. */
export class Runs {
  #words = new Uint32Array(WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  #name = new ByteOutput(1024);
  #length = 0;

  get sizeBytes(): number {
    return 4 * this.#length;
  }

  /** All of them; they stand until one is added. */
  get words(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }

  /** Entries as the kernel has made them; gives the word where the first one starts. */
  append(entries: Uint8Array): number {
    assert(entries.length % 4 === 0, 'entries are whole words');
    const at = this.#advance(entries.length / 4);
    this.#bytes.set(entries, 4 * at);
    return at;
  }

  /** An entry that is put together here: identity and contribution are eight words. */
  add(head: Uint32Array, parts: NameParts): void {
    const name = this.#name;
    name.clear();
    putName(name, parts);
    const sizeWords = ENTRY.name + Math.ceil(name.length / 4);
    const at = this.#advance(sizeWords);
    const words = this.#words;
    words[at + sizeWords - 1] = 0;
    words[at + ENTRY.size] = 4 * sizeWords;
    for (let i = 0; i < 8; i += 1) words[at + ENTRY.identity + i] = head[i] ?? 0;
    this.#bytes.set(name.view(), 4 * (at + ENTRY.name));
  }

  /** One of them, while it stands. */
  read<T>(atWord: number, look: (words: Uint32Array, atWord: number) => T): T {
    return look(this.#words, atWord);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Room for the next words; gives where they start. */
  #advance(sizeWords: number): number {
    const at = this.#length;
    this.#length = at + sizeWords;
    if (this.#length > this.#words.length) {
      const wider = new Uint32Array(Math.max(this.#length, 2 * this.#words.length));
      wider.set(this.#words.subarray(0, at));
      this.#words = wider;
      this.#bytes = new Uint8Array(wider.buffer);
    }
    return at;
  }
}

export interface Entry {
  /** 16 bytes each; they stand in the run. */
  readonly identity: Buffer;
  readonly contribution: Buffer;
  readonly name: Buffer;
  readonly bucket: number;
  /** Where it starts in the words of the run. */
  readonly at: number;
}

/** A piece of a run: whole entries, as words and as bytes. */
export interface Run {
  readonly words: Uint32Array;
  readonly bytes: Buffer;
}

/** The entries of a run that are of these buckets. */
export function* entriesOf({ words, bytes }: Run, isWanted: (bucket: number) => boolean): Generator<Entry> {
  for (let at = 0; at < words.length;) {
    const sizeBytes = words[at] ?? 0;
    if (sizeBytes < HEAD_BYTES || sizeBytes % 4 !== 0 || 4 * at + sizeBytes > bytes.length) throw damaged();
    const bucket = bucketOf(words, at + ENTRY.identity);
    const start = 4 * at;
    if (isWanted(bucket)) {
      yield {
        identity: bytes.subarray(start + 4, start + 20),
        contribution: bytes.subarray(start + 20, start + HEAD_BYTES),
        name: bytes.subarray(start + HEAD_BYTES, start + sizeBytes),
        bucket,
        at,
      };
    }
    at += sizeBytes / 4;
  }
}

/** A power cut may leave a file without what was written last. */
export class DamagedRuns extends LedgerError {}

export function damaged(): DamagedRuns {
  return new DamagedRuns('what was read before cannot be trusted', {
    why: 'the file of a comparison does not hold what its sums were made of, as after a power cut',
    hint: 'run cosmig verify again: it begins anew',
  });
}
