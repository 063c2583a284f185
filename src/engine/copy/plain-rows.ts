/**
 * Finds the plain rows of a page and has them packed. What depends on the values of a key alone is computed once, by
 * src/keys, for all documents with these values; the kernel does the rest. Invariant: a row is packed only if its target
 * document is made of its own bytes and of what it shares with others that have the same key values.
 */
import { putCreate } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { IdentityHasher } from '../../documents/identity.ts';
import { PagePacker } from '../../documents/packing/page-packer.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { Rekey } from '../../keys/rekey.ts';
import { packKey } from '../../state/segments/key-bytes.ts';
import type { CopiedPage } from './copied-page.ts';

/** Stands for a key whose documents are not plain: they are refused, or there is no space for what they share. */
const NOT_PLAIN = null;

interface Nodes {
  /** The nodes of the id and of the levels of the source key. */
  readonly names: readonly number[];
  readonly inputs: readonly number[];
  /** The node of the property that marks a deleted document. */
  readonly marker: number | undefined;
}

export class PlainRows {
  readonly #packer: PagePacker;
  readonly #rekey: Rekey;
  /** The effective keys by the numbers of the keys. */
  #effectiveKeys: Array<string | typeof NOT_PLAIN | undefined> = [];
  readonly #opening = new ByteOutput(1024);
  readonly #hasher = new IdentityHasher();

  private constructor(packer: PagePacker, rekey: Rekey) {
    this.#packer = packer;
    this.#rekey = rekey;
  }

  /** Returns undefined if no row of the migration can be plain. */
  static of(scan: PageScan, rekey: Rekey, { names, inputs, marker }: Nodes): PlainRows | undefined {
    const { emptyNodes } = rekey;
    if (emptyNodes === undefined) return undefined;
    const empty = marker === undefined ? emptyNodes : [...emptyNodes, marker];
    return new PlainRows(new PagePacker(scan, { names, empty, inputs }), rekey);
  }

  /** Looks at all rows of the last scan. */
  look(): void {
    if (!this.#packer.look()) this.#effectiveKeys = [];
  }

  /** Returns the LSN of a row; undefined if it has to be read. */
  lsn(row: number): number | undefined {
    return this.#packer.lsn(row);
  }

  /** Takes a row that is plain. Returns false if it is not. */
  take(row: number): boolean {
    const key = this.#packer.key(row);
    if (key === undefined) return false;
    const known = this.#effectiveKeys[key] ?? this.#learn(key, row);
    if (known === NOT_PLAIN) return false;
    this.#packer.add(row);
    return true;
  }

  /** Packs all rows that were taken. */
  pack({ packed, effectiveKeys }: CopiedPage): void {
    this.#packer.pack(packed);
    for (let entry = 0; entry < packed.count; entry += 1)
      effectiveKeys[entry] = this.#effectiveKeys[packed.key(entry)] ?? '';
  }

  #learn(number: number, row: number): string | typeof NOT_PLAIN {
    const known = this.#effectiveKeys[number];
    if (known === NOT_PLAIN) return NOT_PLAIN;
    const shared = this.#rekey.shared(row);
    const isStored = shared !== undefined && this.#packer.addRecord(number, this.#recordOf(shared));
    return (this.#effectiveKeys[number] = isStored ? shared.effectiveKey : NOT_PLAIN);
  }

  #recordOf({
    key,
    added,
  }: Pick<NonNullable<ReturnType<Rekey['shared']>>, 'key' | 'added'>): Parameters<
    PagePacker['addRecord']
  >[1] {
    this.#opening.clear();
    putCreate(this.#opening, key);
    this.#hasher.clear();
    for (const value of key) this.#hasher.add(value);
    const hashed = this.#hasher.bytes();
    return { opening: this.#opening.view(), added: Buffer.from(added), packed: packKey(key), hashed };
  }
}
