/**
 * Reads the key that a row would have under a candidate, value by value, with the code that would move the document.
 * Invariant: a plan and a migration agree on every row; the words are those that the kernel computes (key-columns.ts).
 */
import type { PageScan } from '../../documents/page-scan.ts';
import type { KeyComponent, KeyKind } from '../../epk/effective-key.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { Rekey, type DocumentRefusal } from '../../keys/rekey.ts';
import { valuesAt } from '../../keys/row-inputs.ts';
import { writeKeyWords } from './key-words.ts';

export class RowKey {
  /** Two signed words for each level, the low word first: the hash of the key up to this level. */
  readonly words: Int32Array;
  readonly levels: number;
  readonly #scan: PageScan;
  readonly #plan: KeyPlan;
  readonly #rekey: Rekey;
  readonly #inputs: readonly number[];

  constructor(scan: PageScan, { plan, kind }: { readonly plan: KeyPlan; readonly kind: KeyKind }) {
    this.#scan = scan;
    this.#plan = plan;
    this.#rekey = new Rekey(scan, { plan, kind, ttl: { mode: 'restart' } });
    this.#inputs = plan.inputs.map((path) => scan.nodeAt(path));
    this.levels = plan.targetPaths.length;
    this.words = new Int32Array(2 * this.levels);
  }

  /** Reads a row; returns false if the document could not be moved. */
  read(row: number): boolean {
    if (this.#rekey.read(row, 0) !== 'moves') return false;
    writeKeyWords(this.#rekey.key, this.words);
    return true;
  }

  /** The reason if the row that was read last has no key. */
  get refusal(): DocumentRefusal | undefined {
    return this.#rekey.refusal;
  }

  /** The key of the row that was read last. */
  get values(): readonly KeyComponent[] {
    return this.#rekey.key;
  }

  /** Returns the key of a row that has one, whether it was read or not. */
  valuesOf(row: number): readonly KeyComponent[] {
    const computed = this.#plan.compute(valuesAt(this.#scan, row, this.#inputs));
    return computed.kind === 'key' ? computed.values : [];
  }
}
