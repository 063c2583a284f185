/**
 * A unit of work: a page of a feed, an attempt at a dead letter, or a repair. It follows the crash rule: **INTENT before
 * the first byte, COMMIT after the last outcome. We may repeat, we never skip.** The README of the engine explains the
 * rule.
 *
 *   begin (INTENT) -> an outcome for every document -> whenDone -> commit (COMMIT)
 *
 * Invariant: every write, removal and takeover is claimed here, durably, before it is sent. Other units see an outcome
 * at once (pending-outcomes.ts). The ledger gets it with the commit, which writes the newest outcome of each document.
 */
import { mapKey } from '../../documents/hash.ts';
import { orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { deferred } from '../../lib/deferred.ts';
import type { LetterChange } from '../../state/dead-letters.ts';
import type { Move } from '../../state/leases.ts';
import type { FeedName, Override, LedgerRow } from '../../state/rows.ts';
import type { FinishedSegment } from '../../state/segments/segment.ts';
import type { Claim } from '../../state/unit-records.ts';
import { type Slot, type SourceIdentity } from '../apply/identity.ts';
import type { RunContext } from '../context.ts';
import { stopBeyondLimit } from '../letters/dead-letters.ts';
import type { Counter, Counts } from '../progress/counters.ts';

type UnitContext = Pick<
  RunContext,
  | 'spec'
  | 'ledger'
  | 'intents'
  | 'pending'
  | 'totals'
  | 'tally'
  | 'backlog'
  | 'tasks'
  | 'points'
  | 'stopping'
  | 'signal'
>;

interface UnitKind {
  /** The lease whose position moves with the commit; null if no position moves. */
  readonly lease: number | null;
  readonly feed: FeedName;
}

/** A claim: one write, removal or takeover that may happen. */
export interface Claiming {
  readonly kind: Claim['kind'];
  readonly identity: SourceIdentity;
  readonly slot: Slot;
}

/** Documents that the copy creates. Their segments are their claims. */
interface CopiedDocuments {
  readonly indexId: number;
  readonly parts: readonly FinishedSegment[];
  /** The outcome number of each document; 0 until our copy of the document is in its slot. */
  readonly outcomes: Float64Array;
}

export class UnitOfWork {
  readonly number: number;
  readonly feed: FeedName;
  readonly #context: UnitContext;
  readonly #lease: number | null;
  readonly #claimed = new Set<string>();
  readonly #touched = new Map<string, Buffer>();
  readonly #overrides: Override[] = [];
  readonly #counts = new Map<Counter, number>();
  readonly #done = deferred();
  #outcomes: Float64Array = NONE;
  #expected = 0;
  #open = 0;
  #committed = false;

  constructor(context: UnitContext, { lease, feed }: UnitKind) {
    this.#context = context;
    this.#lease = lease;
    this.feed = feed;
    this.number = context.ledger.units.nextUnit();
  }

  /**
   * Writes the INTENT, which is durable when the promise resolves. A later call adds claims for slots not known before.
   */
  async begin(claims: readonly Claiming[], copied?: CopiedDocuments): Promise<void> {
    for (const { kind, identity, slot } of claims) {
      // A takeover only notes that the former document may lose the slot. It allows no write or removal for that
      // document.
      if (kind !== 'takeover') this.#claimed.add(nameOf(identity.hash, slot.hash));
    }
    const intent = { unit: this.number, lease: this.#lease, feed: this.feed, claims: claims.map(asClaim) };
    if (copied !== undefined) this.#outcomes = copied.outcomes;
    await this.#context.intents.add(copied === undefined ? intent : { ...intent, copied });
    this.#context.points.reach('intended');
  }

  /** Whether this unit may write this document to the slot, or remove it from there. */
  claims(identity: SourceIdentity, slot: Slot): boolean {
    return this.#claimed.has(nameOf(identity.hash, slot.hash));
  }

  /** Records that the segment of a copied document has claimed its slot. */
  claimed(identity: Buffer, slot: Buffer): void {
    this.#claimed.add(nameOf(identity, slot));
  }

  /** Records that the copy of this document is in the slot that its segment names. */
  landed(entry: number): void {
    this.#outcomes[entry] = this.#context.ledger.units.nextSequence();
  }

  /** The same for the documents from `from` up to and excluding `to`. */
  landedAll(from: number, to: number): void {
    const first = this.#context.ledger.units.nextSequences(to - from);
    for (let entry = from; entry < to; entry += 1) this.#outcomes[entry] = first + entry - from;
  }

  row(row: LedgerRow): void {
    this.#touch(row.identity);
    this.#context.pending.setRow(row);
  }

  letter(identity: Buffer, change: LetterChange): void {
    this.#touch(identity);
    this.#context.pending.setLetter(identity, change);
  }

  /** Records that this document is no longer in this slot, although an older segment says that it is. */
  override(identity: Buffer, slot: Buffer): void {
    const override = { identity, slot, sequence: this.#context.ledger.units.nextSequence() };
    this.#overrides.push(override);
    this.#context.pending.setOverride(override);
  }

  count(counter: Counter, delta = 1): void {
    this.#counts.set(counter, (this.#counts.get(counter) ?? 0) + delta);
  }

  /** Returns what the unit has counted so far. */
  counted(counter: Counter): number {
    return this.#counts.get(counter) ?? 0;
  }

  // The methods below count the outcomes that are still missing. A unit for a single document does not use them.

  /** Sets how many documents the unit has. Called once, when the backlog has admitted them. */
  expect(documents: number): void {
    this.#expected = this.#open = documents;
    if (documents === 0) this.#done.resolve();
  }

  /** Counts documents that have their outcome. */
  complete(documents = 1): void {
    this.#open -= documents;
    this.#context.backlog.end(documents);
    if (this.#open === 0) this.#done.resolve();
  }

  /** Starts a task; when it ends, one document has its outcome. */
  start(task: () => Promise<void>): void {
    this.#context.tasks.start(async () => {
      await task();
      this.complete();
    });
  }

  /** Waits until every document has its outcome. */
  async whenDone(): Promise<void> {
    await orAborted(this.#done.promise, this.#context.signal);
  }

  /** Writes the COMMIT: the outcome of every document, and the position that moves with them. */
  commit(move: Move | null): void {
    assert(!this.#committed, 'a unit is committed once');
    assert(this.#open === 0, 'a unit is committed when every document has its outcome');
    const { ledger, pending, totals, tally, backlog, points } = this.#context;
    const newest = [...this.#touched.values()].map((identity) => pending.newest(identity));
    const counts: Counts = Object.fromEntries(this.#counts);
    const commit = {
      unit: this.number,
      move,
      outcomes: this.#outcomes,
      rows: newest.flatMap(({ row }) => row ?? []),
      letters: newest.flatMap(({ letter }) => letter ?? []),
      overrides: this.#overrides,
    };
    ledger.units.commit([commit], totals.alongside(counts));
    this.#committed = true;
    pending.letGo(this.#touched.values(), this.#overrides);
    tally.add(counts);
    backlog.commit(this.#expected);
    points.reach('committed');
    stopBeyondLimit(this.#context);
  }

  #touch(identity: Buffer): void {
    assert(!this.#committed, 'no outcome comes after the commit');
    const key = mapKey(identity);
    if (this.#touched.has(key)) return;
    this.#touched.set(key, identity);
    this.#context.pending.touch(identity);
  }
}

const NONE = new Float64Array(0);

function nameOf(identity: Buffer, slot: Buffer): string {
  return mapKey(identity) + mapKey(slot);
}

function asClaim({ kind, identity, slot }: Claiming): Claim {
  return {
    kind,
    identity: identity.hash,
    slot: slot.hash,
    targetKey: slot.key,
    name: identity.name,
  };
}
