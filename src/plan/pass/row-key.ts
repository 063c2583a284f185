/**
 * Reads the key that a row would have under a candidate. The decoded values, their position in the hash space and the
 * slot of the document are only computed when they are asked for, since most documents need nothing but a hash.
 * Invariant: a row that is not plain is classified by the code that would move it, so a plan and a migration agree.
 */
import { IdentityHasher } from '../../documents/identity.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { isComposite, isText } from '../../documents/scalar.ts';
import { effectiveKey, type KeyComponent, type KeyKind } from '../../epk/effective-key.ts';
import { KeyCache } from '../../keys/key-cache.ts';
import { isSamePath } from '../../keys/path.ts';
import type { ComputedKey, KeyPlan } from '../../keys/plan.ts';
import { DOCUMENT_BYTES_MAX, Rekey, type DocumentRefusal } from '../../keys/rekey.ts';
import { valuesAt } from '../../keys/row-inputs.ts';
import type { RowHashes } from './row-hashes.ts';

/** The words of a hash. */
const WORDS = 4;
/** Texts that have at most this many bytes together are a valid key and a valid id. */
const PLAIN_BYTES_MAX = 1000;
/** A derived property makes a document longer by its path and by its text, in which a unit takes six bytes at most. */
const ADDED_BYTES_MAX = 6 * 2048 + 1024;
/** The cache of derived keys is useful if more than one in so many rows is found in it. */
const USEFUL_SHARE = 8;
/** After how many rows it is decided again whether the cache is useful. */
const ROWS_PER_DECISION = 8192;

/** A derived key and what was computed from it. */
interface Derived {
  readonly computed: ComputedKey;
  /** Two words for each level: the hash of the key up to this level. As signed numbers, which need no memory apart. */
  readonly words: readonly number[];
  /** The first 32 bits of the effective key; -1: not computed yet. */
  position: number;
}

export class RowKey {
  /** Two signed words for each level: the hash of the key up to this level. */
  readonly words: Int32Array;
  readonly levels: number;
  /** The reason if the last row has no key. */
  refusal: DocumentRefusal | undefined;
  readonly #scan: PageScan;
  readonly #hashes: RowHashes;
  readonly #plan: KeyPlan;
  readonly #kind: KeyKind;
  readonly #rekey: Rekey;
  readonly #hasher = new IdentityHasher();
  readonly #nodes: readonly number[];
  /** The lists of values up to each level, and with the id; undefined if a level is derived. */
  readonly #stored: { readonly levels: readonly number[]; readonly slot: number } | undefined;
  /** The nodes of the derived properties, if all of them are at the top of the document. */
  readonly #added: readonly number[] | undefined;
  readonly #inputs: readonly number[];
  readonly #cache: KeyCache<Derived>;
  readonly #hash = new Uint32Array(WORDS);
  #derived: Derived | undefined;
  #isCached = true;
  #rows = 0;
  #found = 0;
  #periods = 0;
  #row = 0;
  #isMoved = false;

  constructor(
    scan: PageScan,
    hashes: RowHashes,
    { plan, kind }: { readonly plan: KeyPlan; readonly kind: KeyKind },
  ) {
    this.#scan = scan;
    this.#hashes = hashes;
    this.#plan = plan;
    this.#kind = kind;
    this.#rekey = new Rekey(scan, { plan, kind, ttl: { mode: 'restart' } });
    this.levels = plan.targetPaths.length;
    this.words = new Int32Array(2 * this.levels);
    this.#nodes = plan.targetPaths.map((path) => scan.nodeAt(path));
    this.#inputs = plan.inputs.map((path) => scan.nodeAt(path));
    this.#cache = new KeyCache(scan, this.#inputs);
    const isStored = plan.targetPaths.every(
      (path) => !plan.additionPaths.some((added) => isSamePath(added, path)),
    );
    if (isStored)
      this.#stored = {
        levels: this.#nodes.map((_node, level) => hashes.listOf(this.#nodes.slice(0, level + 1))),
        slot: hashes.listOf([scan.nodes.id, ...this.#nodes]),
      };
    else if (plan.additionPaths.every(({ length }) => length === 1))
      this.#added = plan.additionPaths.map((path) => scan.nodeAt(path));
  }

  /** Reads a row; returns false if the document could not be moved. */
  read(row: number): boolean {
    this.#row = row;
    this.#isMoved = false;
    this.#derived = undefined;
    this.refusal = undefined;
    if (this.#stored !== undefined && this.#isPlain(this.#nodes)) {
      const { levels } = this.#stored;
      for (let level = 0; level < levels.length; level += 1) {
        const at = this.#hashes.read(row, levels[level] ?? 0);
        this.words[2 * level] = this.#hashes.words[at] ?? 0;
        this.words[2 * level + 1] = this.#hashes.words[at + 1] ?? 0;
      }
      return true;
    }
    if (this.#added !== undefined && this.#isPlain(this.#inputs) && this.#fitsWith(this.#added))
      return this.#readDerived();
    if (!this.#move()) return false;
    this.words.set(this.#wordsOf(this.#rekey.key));
    return true;
  }

  /** Whether a level of the last row has no value. */
  get isMissing(): boolean {
    if (this.#derived !== undefined || this.#isMoved) return this.values().includes(undefined);
    for (const node of this.#nodes) if (this.#scan.start(this.#row, node) === 0) return true;
    return false;
  }

  /** The values of the last row's key. */
  values(): readonly KeyComponent[] {
    const computed = this.#derived?.computed;
    if (computed?.kind === 'key') return computed.values;
    this.#move();
    return this.#rekey.key;
  }

  /** The first 32 bits of the effective key of the last row. */
  position(): number {
    const derived = this.#derived;
    if (derived !== undefined && derived.position >= 0) return derived.position;
    const position = Number.parseInt(effectiveKey(this.#kind, this.values()).slice(0, 8), 16);
    if (derived !== undefined) derived.position = position;
    return position;
  }

  /** Writes two words of the hash of the last row's new key and id. */
  slot(out: Int32Array): void {
    if (this.#stored !== undefined && !this.#isMoved) {
      const at = this.#hashes.read(this.#row, this.#stored.slot);
      out[0] = this.#hashes.words[at] ?? 0;
      out[1] = this.#hashes.words[at + 1] ?? 0;
      return;
    }
    const scan = this.#scan;
    const { id } = scan.nodes;
    this.#hasher.clear();
    this.#hasher.addRaw(scan.page, scan.start(this.#row, id), scan.end(this.#row, id));
    for (const value of this.values()) this.#hasher.add(value);
    this.#hasher.finish(this.#hash, 0);
    out[0] = this.#hash[0] ?? 0;
    out[1] = this.#hash[1] ?? 0;
  }

  #readDerived(): boolean {
    let derived = this.#isCached ? this.#cache.find(this.#row) : undefined;
    this.#decide(derived !== undefined);
    if (derived === undefined) {
      derived = this.#derive();
      if (this.#isCached) this.#cache.remember(derived);
    }
    if (derived.computed.kind === 'refused') {
      this.refusal = derived.computed;
      return false;
    }
    this.#derived = derived;
    const { words } = derived;
    for (let at = 0; at < words.length; at += 1) this.words[at] = words[at] ?? 0;
    return true;
  }

  /** Switches the cache off while hardly any key is found in it, as with keys that are different in each document. */
  #decide(isFound: boolean): void {
    if (isFound) this.#found += 1;
    this.#rows += 1;
    if (this.#rows < ROWS_PER_DECISION) return;
    this.#periods += 1;
    // Without the cache, it is tried again in every eighth period.
    this.#isCached = this.#isCached ? this.#found * USEFUL_SHARE > this.#rows : this.#periods % 8 === 0;
    this.#rows = 0;
    this.#found = 0;
  }

  #derive(): Derived {
    const computed = this.#plan.compute(valuesAt(this.#scan, this.#row, this.#inputs));
    const words = computed.kind === 'refused' ? [] : this.#wordsOf(computed.values);
    return { computed, words, position: -1 };
  }

  #wordsOf(values: readonly KeyComponent[]): number[] {
    const words: number[] = [];
    for (let level = 0; level < this.levels; level += 1) {
      this.#hasher.clear();
      for (let at = 0; at <= level; at += 1) this.#hasher.add(values[at]);
      this.#hasher.finish(this.#hash, 0);
      words.push((this.#hash[0] ?? 0) | 0, (this.#hash[1] ?? 0) | 0);
    }
    return words;
  }

  /** Lets the code that moves documents read the row. */
  #move(): boolean {
    if (!this.#isMoved) this.#rekey.read(this.#row, 0);
    this.#isMoved = true;
    this.refusal = this.#rekey.refusal;
    return this.refusal === undefined;
  }

  /**
   * Whether the document can be moved for certain, with values at these nodes: a text of ordinary length as id, a short
   * key, and a size below the limit.
   */
  #isPlain(nodes: readonly number[]): boolean {
    const scan = this.#scan;
    const { id, document } = scan.nodes;
    const start = scan.start(this.#row, id);
    let bytes = scan.end(this.#row, id) - start;
    if (start === 0 || bytes <= 2 || !isText(scan.page, start)) return false;
    for (let i = 0; i < nodes.length; i += 1) {
      const node = nodes[i] ?? 0;
      const at = scan.start(this.#row, node);
      // An object or an array counts as missing, which the code that moves documents decides.
      if (at !== 0 && isComposite(scan.page, at)) return false;
      bytes += scan.end(this.#row, node) - at;
    }
    return (
      bytes <= PLAIN_BYTES_MAX &&
      scan.end(this.#row, document) - scan.start(this.#row, document) <= DOCUMENT_BYTES_MAX - ADDED_BYTES_MAX
    );
  }

  /** Whether no document property is where a derived one would be added. */
  #fitsWith(added: readonly number[]): boolean {
    for (let i = 0; i < added.length; i += 1)
      if (this.#scan.start(this.#row, added[i] ?? 0) !== 0) return false;
    return true;
  }
}
