/**
 * Finds out how far the mover has replicated each range, by reading the feed of the source from the ledger's position:
 * the changes that the feed returns are not replicated yet. Invariant: the ledger is only read. If it is not certain how
 * far a range has been replicated, the range counts as not replicated at all.
 */
import { ChangeFeed, type FeedMode, type FeedStart } from '../../cosmos/feed/feed.ts';
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import type { FeedRange } from '../../cosmos/feed/ranges.ts';
import { lsnMissing } from '../../documents/page-error.ts';
import { allVersionsScan, latestVersionScan } from '../../documents/page-scan.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import type { Lease } from '../../state/leases.ts';
import { integerAt } from '../../documents/scalar.ts';
import type { Moment } from '../ledger-view.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';

/** How many empty pages are read before the range counts as not replicated. */
const PAGES_MAX = 8;
/** An LSN below that of every document: nothing is known to be replicated. */
const NOWHERE = -1;
const READERS_MAX = 16;

interface Reached {
  readonly lease: Lease;
  /** The LSN up to which everything in the range is replicated. */
  readonly lsn: number;
  /** Whether every change in the range is replicated. */
  readonly isAll: boolean;
  /** The time of the service when it answered, in milliseconds since the epoch; 0: not known. */
  readonly atMs: number;
}

/** How far the mover had replicated each range at one moment. */
export class Reach {
  readonly #reached: readonly Reached[];

  constructor(reached: readonly Reached[]) {
    this.#reached = reached.toSorted((a, b) => (a.lease.min < b.lease.min ? -1 : 1));
  }

  /** Returns whether the mover has replicated every change up to `lsn` at this effective key. */
  isPast(effectiveKey: string, lsn: number): boolean {
    const reached = this.#reached.findLast(({ lease }) => lease.min <= effectiveKey);
    return reached !== undefined && reached.lsn >= lsn;
  }

  /** The time in seconds since the epoch, by the clock of the service, because that of this machine may be wrong. */
  get nowTs(): number {
    return Math.floor(Math.max(0, ...this.#reached.map(({ atMs }) => atMs)) / 1000);
  }

  /** Whether every change in every range is replicated. */
  get isAll(): boolean {
    return this.#reached.every(({ isAll }) => isAll);
  }

  /** The ids of the ranges with changes that are not replicated yet. */
  get behind(): readonly string[] {
    return this.#reached.filter(({ isAll }) => !isAll).map(({ lease }) => lease.rangeId);
  }
}

export class TailProbe {
  readonly #side: Side;
  readonly #keyPaths: readonly Path[];

  /** `keyPaths` are the partition key paths of the source. */
  constructor(source: Side, keyPaths: readonly Path[]) {
    this.#side = source;
    this.#keyPaths = keyPaths;
  }

  /** Reads the feed of every range, from the position in the ledger to the first change that is not replicated. */
  async look({ migration, leases }: Moment, signal: AbortSignal): Promise<Reach> {
    const { deletes } = migration;
    const reached: Reached[] = [];
    await forEachConcurrently(leases, {
      limit: READERS_MAX,
      signal,
      work: async (lease, inner) => {
        reached.push({ lease, ...(await this.#reachedBy(lease, deletes === 'avad', inner)) });
        return [];
      },
    });
    return new Reach(reached);
  }

  async #reachedBy(lease: Lease, hasDeletes: boolean, signal: AbortSignal): Promise<Omit<Reached, 'lease'>> {
    const nowhere = { lsn: NOWHERE, isAll: false, atMs: 0 };
    // Before the phase `tail` the range is still copied, or read again, by the latest-version feed. The AVAD feed with
    // the deletes follows later.
    if (lease.phase !== 'tail') return nowhere;
    const etag = hasDeletes ? lease.avadPosition : lease.lvPosition;
    if (etag === null) return nowhere;
    const mode: FeedMode = hasDeletes ? 'all-versions' : 'latest-version';
    try {
      return await this.#read({ mode, etag }, { mode, range: this.#side.ranges.partOf(lease), signal });
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.kind === 'split') {
        await this.#side.ranges.refresh(lease.rangeId, signal);
        return nowhere;
      }
      // The service no longer serves this position. The mover detects this as well, and reads the range again.
      if (trouble?.status === 400) return nowhere;
      throw error;
    }
  }

  async #read(
    start: FeedStart,
    {
      mode,
      range,
      signal,
    }: { readonly mode: FeedMode; readonly range: FeedRange; readonly signal: AbortSignal },
  ): Promise<Omit<Reached, 'lease'>> {
    const { requests, patience, governor, sessions, timeoutMs } = this.#side;
    const pages = new ChangeFeed(requests, { mode, range, pageSize: 1 }).pages(start, {
      signal,
      timeoutMs,
      governor,
      patience: patience.fresh(),
      sessionToken: () => tokenOf(this.#side, range.range.id),
    });
    for (let read = 0; read < PAGES_MAX; read += 1) {
      const { value: page } = await pages.next();
      sessions.add(page.sessionToken);
      const atMs = requests.serviceTime.nowMs();
      if (page.status === 304) return { lsn: page.lsn ?? NOWHERE, isAll: true, atMs };
      const first = this.#firstLsn(page.bytes, mode);
      page.free();
      if (first !== undefined) return { lsn: first - 1, isAll: false, atMs };
    }
    return { lsn: NOWHERE, isAll: false, atMs: 0 };
  }

  /** Returns the LSN of the first change on a page; undefined: the page is empty. */
  #firstLsn(bytes: Buffer, mode: FeedMode): number | undefined {
    let lsn: number | null;
    if (mode === 'all-versions') {
      const scan = allVersionsScan([], this.#keyPaths).scan(bytes);
      if (scan.count === 0) return undefined;
      lsn = integerAt(scan, 0, scan.around.lsn);
    } else {
      const scan = latestVersionScan([]).scan(bytes);
      if (scan.count === 0) return undefined;
      lsn = integerAt(scan, 0, scan.nodes.lsn);
    }
    if (lsn === null) throw lsnMissing();
    return lsn;
  }
}

/** Returns a text such as `2 ranges of the source have changes that are not replicated yet`. */
export function describeBehind({ behind }: Reach): string {
  const ranges =
    behind.length === 1 ? '1 range of the source has' : `${behind.length} ranges of the source have`;
  return `${ranges} changes that are not replicated yet`;
}
