/**
 * Collects statistics of the keys of many documents: how many keys there are, which are the largest, and how evenly
 * they spread. Invariant: memory is bounded. Beyond KEYS_MAX keys, new keys are no longer distinguished and `isExact`
 * is false.
 */
import { assert } from '../lib/assert.ts';
import { initialBounds } from '../epk/bounds.ts';
import { effectiveKey, type KeyComponent, type KeyKind } from '../epk/effective-key.ts';
import type { ComputedKey } from './plan.ts';

/** The most keys to distinguish: about 30 MB of memory, and far more keys than a decision about a key needs. */
const KEYS_MAX = 100_000;

/** A key, and how many documents have it. */
export interface KeyCount {
  readonly values: readonly KeyComponent[];
  readonly documents: number;
}

/** Where a key is in the hash space. */
export interface KeyPosition {
  readonly effectiveKey: string;
  /** Number of the range that contains the key, from 1. All ranges have the same size. */
  readonly range: number;
}

/** Counts the keys of documents. Ranges are those of a container whose hash space is divided evenly. */
export class KeyTally {
  documents = 0;
  /** Number of documents whose key has an undefined level. */
  missing = 0;
  readonly refused: Record<Extract<ComputedKey, { kind: 'refused' }>['reason'], number> = {
    'missing-key': 0,
    'invalid-key': 0,
    'key-too-long': 0,
  };
  /** Number of documents in each range. */
  readonly inRanges: number[];
  /** False if there were more than KEYS_MAX keys. */
  isExact = true;
  readonly #kind: KeyKind;
  readonly #bounds: readonly string[];
  readonly #keys = new Map<string, { values: readonly KeyComponent[]; documents: number }>();

  constructor(kind: KeyKind, ranges: number) {
    this.#kind = kind;
    this.#bounds = initialBounds(kind, ranges);
    this.inRanges = Array.from({ length: ranges }, () => 0);
  }

  get distinct(): number {
    return this.#keys.size;
  }

  add(computed: ComputedKey): void {
    this.documents += 1;
    if (computed.kind === 'refused') {
      this.refused[computed.reason] += 1;
      return;
    }
    if (computed.missing) this.missing += 1;
    const { effectiveKey, range } = this.positionOf(computed.values);
    this.inRanges[range - 1] = (this.inRanges[range - 1] ?? 0) + 1;
    const known = this.#keys.get(effectiveKey);
    if (known !== undefined) known.documents += 1;
    else if (this.#keys.size < KEYS_MAX)
      this.#keys.set(effectiveKey, { values: computed.values, documents: 1 });
    else this.isExact = false;
  }

  positionOf(values: readonly KeyComponent[]): KeyPosition {
    const key = effectiveKey(this.#kind, values);
    const next = this.#bounds.findIndex((bound) => bound > key);
    assert(next > 0, 'the bounds enclose every key');
    return { effectiveKey: key, range: next };
  }

  /** Returns the keys with the most documents, in descending order. */
  biggest(count: number): KeyCount[] {
    const top: KeyCount[] = [];
    for (const key of this.#keys.values()) {
      const at = top.findIndex((other) => other.documents < key.documents);
      if (at >= 0) top.splice(at, 0, key);
      else if (top.length < count) top.push(key);
      if (top.length > count) top.pop();
    }
    return top;
  }
}
