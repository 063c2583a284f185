/**
 * A unit of work: a page of a feed, or another try of a letter. The crash rule is here: **INTENT before the first byte,
 * COMMIT after the last outcome. We may repeat, we never skip.** The README of the engine explains it.
 *
 *   begin (INTENT) -> an outcome for every document -> whenDone -> commit (COMMIT)
 *
 * Invariant: whatever is written, removed or taken over was claimed here before, durably. Other units see an outcome at
 * once (pending-outcomes.ts); the ledger gets it with the commit, which writes the newest outcome of each document.
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
  /** Null: no position moves. */
  readonly lease: number | null;
  readonly feed: FeedName;
}

/** One write, removal or takeover that may happen. */
export interface Claiming {
  readonly kind: Claim['kind'];
  readonly identity: SourceIdentity;
  readonly slot: Slot;
}

/** Documents that the copy creates: their segments claim them. */
interface CopiedDocuments {
  readonly indexId: number;
  readonly parts: readonly FinishedSegment[];
  /** The number of the outcome of each; 0 until our copy of it is in its slot. */
  readonly outcomes: Float64Array;
}

export class UnitOfWork {
  readonly page: number;
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
    this.page = context.ledger.pages.nextPage();
  }

  /** INTENT, durable when it resolves. It is extended when a point read shows what was not known before. */
  async begin(claims: readonly Claiming[], copied?: CopiedDocuments): Promise<void> {
    for (const { kind, identity, slot } of claims) {
      // A takeover claims the removal of the slot's former document, not a write by that document.
      if (kind !== 'takeover') this.#claimed.add(nameOf(identity.hash, slot.hash));
    }
    const intent = { page: this.page, lease: this.#lease, feed: this.feed, claims: claims.map(asClaim) };
    if (copied !== undefined) this.#outcomes = copied.outcomes;
    await this.#context.intents.add(copied === undefined ? intent : { ...intent, copied });
    this.#context.points.reach('intended');
  }

  /** Whether this unit may write to the slot, or remove from it. */
  claims(identity: SourceIdentity, slot: Slot): boolean {
    return this.#claimed.has(nameOf(identity.hash, slot.hash));
  }

  /** The segment of a copied document has claimed its slot. */
  claimed(identity: Buffer, slot: Buffer): void {
    this.#claimed.add(nameOf(identity, slot));
  }

  // Outcomes.

  /** The copy of this document is where its segment says. */
  landed(entry: number): void {
    this.#outcomes[entry] = this.#context.ledger.pages.nextSequence();
  }

  row(row: LedgerRow): void {
    this.#touch(row.identity);
    this.#context.pending.setRow(row);
  }

  letter(identity: Buffer, change: LetterChange): void {
    this.#touch(identity);
    this.#context.pending.setLetter(identity, change);
  }

  /** Older segments say that this document is in this slot: it no longer is. */
  override(identity: Buffer, slot: Buffer): void {
    const override = { identity, slot, sequence: this.#context.ledger.pages.nextSequence() };
    this.#overrides.push(override);
    this.#context.pending.setOverride(override);
  }

  count(counter: Counter, delta = 1): void {
    this.#counts.set(counter, (this.#counts.get(counter) ?? 0) + delta);
  }

  // How many outcomes are missing. A unit that is one task needs none of these.

  /** So many documents will have an outcome. Called once. */
  expect(documents: number): void {
    this.#expected = this.#open = documents;
    this.#context.backlog.expect(documents);
    if (documents === 0) this.#done.resolve();
  }

  /** One document has its outcome. */
  complete(): void {
    this.#open -= 1;
    this.#context.backlog.end();
    if (this.#open === 0) this.#done.resolve();
  }

  /** Starts a task whose end is the outcome of one document. */
  start(task: () => Promise<void>): void {
    this.#context.tasks.start(async () => {
      await task();
      this.complete();
    });
  }

  /** Resolves when every document has its outcome. */
  async whenDone(): Promise<void> {
    await orAborted(this.#done.promise, this.#context.signal);
  }

  /** COMMIT: what became of every document, and the position that moves with it. */
  commit(move: Move | null): void {
    assert(!this.#committed, 'a unit is committed once');
    assert(this.#open === 0, 'a unit is committed when every document has its outcome');
    const { ledger, pending, totals, tally, backlog, points } = this.#context;
    const newest = [...this.#touched.values()].map((identity) => pending.newest(identity));
    const counts: Counts = Object.fromEntries(this.#counts);
    const commit = {
      page: this.page,
      move,
      outcomes: this.#outcomes,
      rows: newest.flatMap(({ row }) => row ?? []),
      letters: newest.flatMap(({ letter }) => letter ?? []),
      overrides: this.#overrides,
    };
    ledger.pages.commit([commit], totals.alongside(counts));
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
