/**
 * The pass over one side of a comparison: its sums, its entries, and the verify file to which they are saved. How the
 * feed is read is the fenced pass of `cosmos`.
 */
import { FencedPass, type PassParts, type ReadPart, type StartedAt } from '../../cosmos/feed/fenced-pass.ts';
import type { FeedRange } from '../../cosmos/feed/ranges.ts';
import type { VerifyStore } from '../store.ts';
import type { RowOptions } from './rows.ts';
import { SideSums } from './side-sums.ts';

/** How many bytes of entries are kept in memory before a checkpoint writes them, together with the sums. */
const ENTRIES_BYTES_MAX = 2 * 1024 * 1024;

export interface SidePassParts extends Omit<PassParts, 'takes' | 'saved' | 'startsOf'> {
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  /** The positions after which changes are read; undefined: everything is read. */
  readonly from?: readonly StartedAt[];
}

export class SidePass {
  readonly sums: SideSums;
  readonly #pass: FencedPass;

  constructor({ store, rows, from, ...parts }: SidePassParts) {
    const { is } = parts.side;
    const sums = new SideSums(is, rows, store.sums(is));
    this.sums = sums;
    this.#pass = new FencedPass({
      ...parts,
      saved: store.parts(is),
      ...(from === undefined ? {} : { startsOf: (range) => startsIn(range, from) }),
      takes: {
        take: (page, { fenceLsn }) => sums.take(page, fenceLsn),
        isFull: () => sums.entries.sizeBytes >= ENTRIES_BYTES_MAX,
        save: (readers) => save(store, { is, sums, readers }),
      },
    });
  }

  get documents(): number {
    return this.#pass.documents;
  }

  /** Reads every range to its fence. Saves the progress at the end, also after an abort. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#pass.run(signal);
  }
}

/** Returns the parts of a range, each with its own start position. */
function startsIn({ min, max }: FeedRange, from: readonly StartedAt[]): readonly StartedAt[] {
  return from
    .filter((one) => one.min < max && one.max > min)
    .map((one) => ({
      min: one.min > min ? one.min : min,
      max: one.max < max ? one.max : max,
      position: one.position,
    }));
}

function save(
  store: VerifyStore,
  {
    is,
    sums,
    readers,
  }: {
    readonly is: SidePassParts['side']['is'];
    readonly sums: SideSums;
    readonly readers: readonly ReadPart[];
  },
): void {
  const { buckets, refused, longIntegers, entries } = sums;
  store.checkpoint(is, {
    parts: readers,
    buckets: buckets.view(),
    refused,
    longIntegers,
    entries: entries.words,
  });
  entries.clear();
}
