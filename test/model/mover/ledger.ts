/**
 * Owns what survives a crash. Every method is one transaction. Rows beat the index, the index is built
 * from segments, and an intent stays until its page is committed or a resume has settled it.
 */
import type { FeedName } from '../feeds.ts';
import { PLACES, placeOf, type Identity, type Slot } from '../source.ts';

export interface Row {
  readonly state: 'live' | 'tombstone' | 'quarantined';
  /** Where our copy is; a quarantined row may still have a stale one. */
  readonly slot: Slot | null;
  /** The source version it was made from; null when it is not known which. */
  readonly etag: number | null;
  /** The etag of our copy, where it is known. */
  readonly copy: number | null;
  readonly lsn: number | null;
  /** LSNs of the two feeds are not compared with each other. */
  readonly feed: FeedName;
}

export type Reason = 'collision' | 'unique-key' | 'foreign-document' | 'too-large' | 'invalid-key';

export interface Letter {
  readonly id: Identity;
  /** The slot it waits for. */
  readonly slot: Slot | null;
  readonly reason: Reason;
  /** The oldest is promoted first. */
  readonly order: number;
}

/** "A copy of `id`, made from `etag`, may be at `slot`." */
export interface Claim {
  readonly id: Identity;
  readonly slot: Slot;
  readonly etag: number | null;
  /** What the copy would hold; null when it may only have been removed. */
  readonly body: number | null;
  readonly lsn: number | null;
}

/** "`by` may have taken `slot` from `from`." */
export interface Takeover {
  readonly from: Identity;
  readonly slot: Slot;
}

export interface Intent {
  readonly seq: number;
  /** A page of the copy: its claims become a segment; of the tail: rows. */
  readonly copy: boolean;
  claims: Claim[];
  takeovers: Takeover[];
}

export interface Segment {
  readonly seq: number;
  readonly claims: readonly Claim[];
}

export interface Override {
  readonly id: Identity;
  readonly slot: Slot;
  readonly seq: number;
}

export interface Lease {
  readonly min: number;
  readonly max: number;
  /** `again`: AVAD forgot what we had not read; LV shows it up to a new anchor, and deletes are swept. */
  phase: 'copy' | 'again' | 'tail';
  /** The LV position; the copy ends where it reaches `anchor`. */
  lv: number;
  anchor: number;
  /** An LV position from before AVAD was primed. */
  back: number;
  /** The AVAD position; null until it is primed. */
  avad: number | null;
  /** No page of the copy was answered by a newer replica. A later change is of a document that the copy has seen. */
  copied: number;
  /** A document was renamed, so a copy under its old id may be left: all documents are to be compared. */
  renamed: boolean;
}

interface Contents {
  leases: Lease[];
  rows: Map<Identity, Row>;
  index: Map<Identity, Row>;
  segments: Segment[];
  overrides: Override[];
  intents: Intent[];
  letters: Map<Identity, Letter>;
  tokens: number[];
  notOurs: Map<Slot, number>;
  spare: Map<Slot, number>;
  own: Set<Identity>;
  watched: number[];
  unsafe: Slot | null;
  pausesTtl: boolean;
}

export class Ledger {
  leases: Lease[] = [];
  rows = new Map<Identity, Row>();
  index = new Map<Identity, Row>();
  segments: Segment[] = [];
  overrides: Override[] = [];
  intents: Intent[] = [];
  letters = new Map<Identity, Letter>();
  /** Session tokens of the source by place: nothing older is ever read again. */
  tokens: number[] = Array.from({ length: PLACES }, () => 0);
  /** On the way back: documents of the closed side that are copies of none, by their etags. */
  notOurs = new Map<Slot, number>();
  /** The same for documents that were gone for the turn before: their slots may be taken. */
  spare = new Map<Slot, number>();
  /** On the way back: documents that had the derived property of their own when the map was made. */
  own = new Set<Identity>();
  /** Up to where the closed side was searched for writes of others, by place. */
  watched: number[] = [];
  /** Another process has written this slot of the closed side. */
  unsafe: Slot | null = null;
  /** A cutover may have paused time to live of the source. */
  pausesTtl = false;
  #seq = 0;
  #synced: Contents;
  readonly #losesPower: boolean;

  constructor({ losesPower }: { losesPower: boolean }) {
    this.#losesPower = losesPower;
    this.#synced = structuredClone(this.#contents());
  }

  /** All transactions so far survive a power cut (synchronous FULL); the others may be lost, latest first. */
  sync(): void {
    if (this.#losesPower) this.#synced = structuredClone(this.#contents());
  }

  /** The file is gone. */
  lose(): void {
    Object.assign(this, new Ledger({ losesPower: this.#losesPower }).#contents());
    this.sync();
  }

  losePower(): void {
    if (this.#losesPower) Object.assign(this, structuredClone(this.#synced));
  }

  #contents(): Contents {
    const { leases, rows, index, segments, overrides, intents, letters, tokens } = this;
    const { notOurs, spare, own, watched, unsafe, pausesTtl } = this;
    const state = { leases, rows, index, segments, overrides, intents, letters, tokens };
    return { ...state, notOurs, spare, own, watched, unsafe, pausesTtl };
  }

  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  rowOf(id: Identity): Row | undefined {
    return this.rows.get(id) ?? this.index.get(id);
  }

  leaseAt(place: number): Lease | undefined {
    return this.leases.find(({ min, max }) => min <= place && place < max);
  }

  indexed(id: Identity): boolean {
    const phase = this.leaseAt(placeOf(id))?.phase;
    return phase !== undefined && phase !== 'copy';
  }

  keepTokens(tokens: readonly number[]): void {
    for (const [place, lsn] of tokens.entries()) this.tokens[place] = Math.max(this.tokens[place] ?? 0, lsn);
  }

  dropIntent(intent: Intent): void {
    this.intents = this.intents.filter((one) => one !== intent);
  }
}
