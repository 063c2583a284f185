/** Measures how many documents would break the unique keys of the container under one candidate. */
import type { KeyComponent } from '../../epk/effective-key.ts';
import { ROW_STATE, type KeyColumn, type KeyColumns } from '../pass/key-columns.ts';
import { RepeatSample } from '../sketch/repeat-sample.ts';
import { HASH_WORDS, type UniquePage } from './unique-values.ts';

/** A document that would be refused, because another one has the same values in the same value of the key. */
export interface ConflictExample {
  readonly id: string;
  readonly key: string;
  readonly values: string;
}

export interface SavedConflicts {
  readonly sample: Buffer;
  readonly examples: readonly ConflictExample[];
}

/** Takes the hash of the new key and the values of a unique key of a row. */
export type ConflictSink = (uniqueKey: number, i: number, hash: Int32Array) => void;

/** The last page, where its entries go if all are kept (`--exact`), and how its rows are shown, which is done for few. */
export interface UniqueRows {
  readonly page: UniquePage;
  readonly sink: ConflictSink | undefined;
  readonly id: (row: number) => string;
  readonly key: (row: number) => string;
  readonly values: (values: readonly KeyComponent[]) => string;
}

/** How much the samples of all unique keys of a candidate remember together. */
const ENTRIES_MAX = 32_768;
/** How many conflicts are shown for each unique key. */
const EXAMPLES_MAX = 5;

export class UniqueMeasure {
  readonly samples: readonly RepeatSample[];
  readonly examples: ReadonlyArray<ConflictExample[]>;
  readonly #pair = new Int32Array(HASH_WORDS);

  /** `keys`: how many unique keys the container has. */
  constructor(keys: number, saved?: readonly SavedConflicts[]) {
    const entriesMax = Math.floor(ENTRIES_MAX / Math.max(1, keys));
    this.samples = Array.from({ length: keys }, (_none, key) => {
      const known = saved?.[key];
      return known === undefined
        ? new RepeatSample(entriesMax)
        : RepeatSample.fromBytes(known.sample, entriesMax);
    });
    this.examples = this.samples.map((_sample, key) => [...(saved?.[key]?.examples ?? [])]);
  }

  /** Adds the rows of a page that have a key. */
  take({ count, rows }: KeyColumns, { states, words }: KeyColumn, shown: UniqueRows): void {
    const pair = this.#pair;
    const keyWords = words.length / states.length;
    for (let i = 0; i < count; i += 1) {
      if (states[i] === ROW_STATE.odd) continue;
      const low = words[keyWords * (i + 1) - 2] ?? 0;
      const high = words[keyWords * (i + 1) - 1] ?? 0;
      for (let key = 0; key < this.samples.length; key += 1) {
        shown.page.pair(key, i, high, low, pair);
        shown.sink?.(key, i, pair);
        const isRepeat = this.samples[key]?.add(pair[0] ?? 0, pair[1] ?? 0) ?? false;
        if (isRepeat) this.#keep(key, rows[i] ?? 0, shown);
      }
    }
  }

  save(): readonly SavedConflicts[] {
    return this.samples.map((sample, key) => ({
      sample: sample.toBytes(),
      examples: [...(this.examples[key] ?? [])],
    }));
  }

  #keep(key: number, row: number, shown: UniqueRows): void {
    const examples = this.examples[key];
    if (examples === undefined || examples.length >= EXAMPLES_MAX) return;
    const found = {
      id: shown.id(row),
      key: shown.key(row),
      values: shown.values(shown.page.valuesOf(key, row)),
    };
    const isKnown = examples.some((one) => one.key === found.key && one.values === found.values);
    if (!isKnown) examples.push(found);
  }
}
