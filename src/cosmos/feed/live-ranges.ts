/**
 * The ranges of one container as they are known now. Invariant: they tile the key space; if one of them turns out to
 * be split or merged, all ranges are listed again; callers that find this at the same time share one request.
 */
import { must } from '../../lib/assert.ts';
import { metadataTimeoutMs, type ContainerRequests } from '../transport/container-requests.ts';
import type { Trouble } from '../transport/trouble.ts';
import { readRanges, remap, type FeedRange, type Interval, type PhysicalRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';

interface Parts {
  readonly requests: ContainerRequests;
  readonly patience: Patience;
  readonly timeoutMs?: number;
  /** Called for each range that was split or merged, with the ids of the ranges that replace it. */
  readonly onChange?: (gone: string, children: readonly string[]) => void;
}

export class LiveRanges {
  readonly #parts: Parts;
  #ranges: readonly PhysicalRange[];
  #byId: ReadonlyMap<string, PhysicalRange>;
  #refreshing: Promise<void> | undefined;

  private constructor(parts: Parts, ranges: readonly PhysicalRange[]) {
    this.#parts = parts;
    this.#ranges = ranges;
    this.#byId = byId(ranges);
  }

  static async read(parts: Parts, signal: AbortSignal): Promise<LiveRanges> {
    return new LiveRanges(parts, await list(parts, signal));
  }

  /** All ranges, in the order of the key space. */
  get list(): readonly PhysicalRange[] {
    return this.#ranges;
  }

  find(id: string): PhysicalRange | undefined {
    return this.#byId.get(id);
  }

  /** Returns the part of the key space that a lease reads. The range of the lease may be split or merged by now. */
  partOf({ rangeId, min, max }: Interval & { readonly rangeId: string }): FeedRange {
    return { range: this.find(rangeId) ?? { id: rangeId, min, max, parents: [] }, min, max };
  }

  /** Returns the range that contains an effective key. */
  at(effectiveKey: string): PhysicalRange {
    return must(this.#ranges[this.indexOf(effectiveKey)], 'a container has a range');
  }

  /** Returns the index in `list` of the range that contains an effective key. */
  indexOf(effectiveKey: string): number {
    const ranges = this.#ranges;
    let [low, high] = [0, ranges.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const range = ranges[middle];
      if (range !== undefined && range.min <= effectiveKey) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  rangeOf(effectiveKey: string): string {
    return this.at(effectiveKey).id;
  }

  /** Lists the ranges again because `range` was split or merged; does nothing if the list shows that already. */
  async refresh(range: string, signal: AbortSignal): Promise<void> {
    if (!this.#byId.has(range)) return;
    await this.resolve(signal);
  }

  /**
   * Lists all ranges again. Called before anchors and ends are read: if a range has split already, one position for it
   * would stand for several ranges at different positions (fact SVC-24).
   */
  async resolve(signal: AbortSignal): Promise<void> {
    // The request has the signal of the first caller. That is enough, because all callers stop with the run.
    this.#refreshing ??= this.#refresh(signal).finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
  }

  /**
   * Returns the readers that continue after a 410: the same reader, or its children, each at the reader's position.
   * Waits first. As long as the service has not finished splitting the range, each call waits longer than the call
   * before, until `patience` is reset.
   */
  async readersAfter(
    reader: FeedRange,
    after: { readonly trouble: Trouble; readonly patience: Patience; readonly signal: AbortSignal },
  ): Promise<readonly FeedRange[]> {
    await after.patience.bear(after.trouble, after.signal);
    await this.refresh(reader.range.id, after.signal);
    return remap(this.#ranges, reader).readers;
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const before = this.#ranges;
    const ranges = await list(this.#parts, signal);
    this.#ranges = ranges;
    this.#byId = byId(ranges);
    for (const gone of before.filter(({ id }) => !this.#byId.has(id))) {
      const children = ranges.filter(({ min, max }) => min < gone.max && max > gone.min).map(({ id }) => id);
      this.#parts.onChange?.(gone.id, children);
    }
  }
}

function byId(ranges: readonly PhysicalRange[]): ReadonlyMap<string, PhysicalRange> {
  return new Map(ranges.map((range) => [range.id, range]));
}

async function list(
  { requests, patience, timeoutMs }: Parts,
  signal: AbortSignal,
): Promise<readonly PhysicalRange[]> {
  const waiting = { signal, patience: patience.fresh(), splits: 'waited-for' } as const;
  let attempts = 0;
  const read = async (): ReturnType<typeof readRanges> => {
    const limitMs = Math.min(timeoutMs ?? Infinity, metadataTimeoutMs(attempts));
    attempts += 1;
    return readRanges(requests, { signal, timeoutMs: limitMs });
  };
  return retrying(read, waiting);
}
