/**
 * A reader of one container's change feed as a mover has it: a lease per part of the hash space, moved on
 * only by a page that arrived whole. It follows splits and merges, and checks on the way what the emulator
 * promises of every feed: LSNs rise from page to page, no position goes back, no transaction is cut.
 */
import { documentTexts } from './texts.ts';
import { substatusOf, type Reply } from '../../../helpers/emulator/raw.ts';
import type { PkRange, Position, WireContainer } from '../../../helpers/emulator/wire-container.ts';

/** A part of the hash space and how far it has been read. */
export interface Lease {
  readonly min: string;
  readonly max: string;
  readonly etag: string | undefined;
  /** Of the newest entry that was read. */
  readonly lsn: number;
}

export interface FollowerOptions {
  readonly mode: 'lv' | 'avad';
  /** Gets every entry once, in order: its text and its LSN. */
  readonly onEntry: (entry: { readonly text: string; readonly lsn: number }) => void;
  readonly maxItems?: number;
}

/** The LSN of a feed entry: the last `_lsn` of a document, or the one in an entry's metadata. */
function lsnOf(mode: 'lv' | 'avad', text: string): number {
  const digits =
    mode === 'lv'
      ? /,"_lsn":(\d+)\}$/.exec(text)?.[1]
      : (JSON.parse(text) as { metadata: { lsn: number } }).metadata.lsn;
  if (digits === undefined) throw new Error(`a feed entry without an LSN: ${text}`);
  return Number(digits);
}

export class FeedFollower {
  readonly #wire: WireContainer;
  readonly #options: FollowerOptions;
  /** Replaced, never changed: a turn goes through the list it began with. */
  #leases: readonly Lease[] = [];
  #map: PkRange[] = [];
  /** What faults and splits made it do again. */
  readonly seen = { pages: 0, entries: 0, gone: 0, refused: 0, broken: 0 };

  constructor(wire: WireContainer, options: FollowerOptions) {
    this.#wire = wire;
    this.#options = options;
  }

  get leases(): readonly Lease[] {
    return this.#leases;
  }

  /** The same follower after its account has restarted somewhere else. */
  movedTo(wire: WireContainer): FeedFollower {
    const moved = new FeedFollower(wire, this.#options);
    moved.#leases = [...this.#leases];
    return moved;
  }

  /** Takes a position on every range: the feed's beginning, or now. */
  async start(from: 'beginning' | 'now'): Promise<void> {
    this.#map = await this.#wire.ranges();
    this.#leases = this.#map.map(({ minInclusive: min, maxExclusive: max }) => ({
      min,
      max,
      etag: undefined,
      lsn: 0,
    }));
    if (from === 'beginning') return;
    for (const lease of this.#leases) {
      const reply = await this.#read(lease, 'now');
      if (reply?.status !== 304) throw new Error(`no position for now: ${reply?.status} ${reply?.text}`);
      this.#advance(lease, { etag: etagOf(reply), lsn: lease.lsn });
    }
  }

  /** Reads one page of every lease; true when none of them had anything new. */
  async turn(): Promise<boolean> {
    let quiet = true;
    for (const lease of this.#leases) quiet = (await this.#step(lease)) && quiet;
    this.#join();
    return quiet;
  }

  /** Makes one lease of neighbours that stand at the same position of the same range, as after a merge. */
  #join(): void {
    const joined: Lease[] = [];
    for (const lease of this.#leases) {
      const last = joined.at(-1);
      const meets = last?.max === lease.min && last.etag === lease.etag;
      const isOneRange = this.#overlapping({ min: last?.min ?? '', max: lease.max }).length === 1;
      if (last === undefined || !meets || !isOneRange) joined.push(lease);
      else joined.splice(-1, 1, { ...last, max: lease.max, lsn: Math.max(last.lsn, lease.lsn) });
    }
    this.#leases = joined;
  }

  /** Reads until every lease says 304 in one turn. */
  async drain(turnsMax = 2_000): Promise<void> {
    for (let turn = 0; turn < turnsMax; turn += 1) if (await this.turn()) return;
    throw new Error(`the feed did not end within ${turnsMax} turns`);
  }

  /** True when there was nothing. A refused, cut or misdirected read leaves the lease as it is. */
  async #step(lease: Lease): Promise<boolean> {
    const reply = await this.#read(lease, lease.etag === undefined ? 'beginning' : { etag: lease.etag });
    if (reply === undefined) {
      this.seen.broken += 1;
      return false;
    }
    if (reply.status === 410) {
      this.seen.gone += 1;
      // 1002: gone; 1007: still splitting; anything else must not cost the position either.
      if (substatusOf(reply) === 1002) await this.#remap(lease);
      return false;
    }
    if (reply.status === 304) {
      this.#advance(lease, { etag: etagOf(reply), lsn: lease.lsn });
      return true;
    }
    if (reply.status !== 200) {
      if (![429, 449, 500, 503].includes(reply.status))
        throw new Error(`feed of ${lease.min}..${lease.max}: ${reply.status} ${reply.text}`);
      this.seen.refused += 1;
      return false;
    }
    this.#take(lease, reply);
    return false;
  }

  #take(lease: Lease, reply: Reply): void {
    const texts = documentTexts(reply.text);
    const announced = Number(/"_count":(\d+)\}$/.exec(reply.text)?.[1]);
    if (texts.length !== announced) throw new Error(`a page of ${texts.length} entries says ${announced}`);
    let { lsn } = lease;
    for (const [index, text] of texts.entries()) {
      const next = lsnOf(this.#options.mode, text);
      if (next < lsn || (index === 0 && next === lsn)) {
        throw new Error(`LSN ${next} after ${lsn} in ${lease.min}..${lease.max}, entry ${index}: ${text}`);
      }
      lsn = next;
      this.#options.onEntry({ text, lsn });
    }
    this.seen.pages += 1;
    this.seen.entries += texts.length;
    this.#advance(lease, { etag: etagOf(reply), lsn });
  }

  #advance(lease: Lease, to: { etag: string; lsn: number }): void {
    const before = positionIn(lease.etag);
    const after = positionIn(to.etag);
    if (after < before) throw new Error(`a position went back from ${lease.etag} to ${to.etag}`);
    if (after < to.lsn) throw new Error(`position ${to.etag} lies before LSN ${to.lsn}, which was just read`);
    this.#leases = this.#leases.map((each) => (each === lease ? { ...lease, ...to } : each));
  }

  /** Puts what holds a lease's part of the hash space now in its place, each with its position. */
  async #remap(lease: Lease): Promise<void> {
    this.#map = await this.#untilListed();
    const parts = this.#overlapping(lease).map((range) => ({
      ...lease,
      min: range.minInclusive > lease.min ? range.minInclusive : lease.min,
      max: range.maxExclusive < lease.max ? range.maxExclusive : lease.max,
    }));
    this.#leases = this.#leases.flatMap((each) => (each === lease ? parts : [each]));
  }

  /** The list of ranges; trouble on the way is met by asking again. */
  async #untilListed(): Promise<PkRange[]> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      try {
        return await this.#wire.ranges();
      } catch {
        this.seen.refused += 1;
      }
    }
    throw new Error('the list of ranges could not be read in 100 attempts');
  }

  #overlapping(lease: Pick<Lease, 'min' | 'max'>): PkRange[] {
    return this.#map.filter((range) => range.minInclusive < lease.max && range.maxExclusive > lease.min);
  }

  /** One request for one lease; undefined when no whole answer came. */
  async #read(lease: Lease, from: Position): Promise<Reply | undefined> {
    if (this.#map.length === 0) this.#map = await this.#untilListed();
    let held = this.#overlapping(lease);
    if (held.length !== 1) {
      await this.#remap(lease);
      held = this.#overlapping(lease).slice(0, 1);
      // The pieces are read in the next turn, each for itself.
      return undefined;
    }
    const [range] = held;
    if (range === undefined) throw new Error(`no range holds ${lease.min}..${lease.max}`);
    const isPart = range.minInclusive !== lease.min || range.maxExclusive !== lease.max;
    const { mode, maxItems } = this.#options;
    try {
      return await this.#wire.readFeed(
        { rangeId: range.id, ...(isPart ? { startEpk: lease.min, endEpk: lease.max } : {}) },
        from,
        { mode, ...(maxItems === undefined ? {} : { max: maxItems }) },
      );
    } catch {
      return undefined;
    }
  }
}

function positionIn(etag: string | undefined): number {
  return etag === undefined ? 0 : Number(/\d+/.exec(etag)?.[0] ?? Number.NaN);
}

function etagOf(reply: Reply): string {
  if (reply.headers.etag === undefined) throw new Error('a feed page without an etag');
  return reply.headers.etag;
}
