/**
 * One unit of work between its two transactions: a page of a feed, or another try of a letter, which has no position
 * to move. INTENT before the first byte, COMMIT after the last outcome; see lease-run.ts for the rule.
 *
 * What always holds: whatever is written, removed or taken over was claimed here before, on the disk; outcomes are
 * known to everybody at once (pending-outcomes.ts) and to the ledger with the commit, which writes the newest of them.
 */
import { assert } from '../../lib/assert.ts';
import type { LetterChange } from '../../state/dead-letters.ts';
import type { Move } from '../../state/leases.ts';
import type { Feed, Override, Row } from '../../state/rows.ts';
import type { Claim, Commit, Intent } from '../../state/unit-records.ts';
import type { RunContext } from '../context.ts';
import type { Counter, Counts } from '../progress/counters.ts';
import { mapKey, type Slot, type SourceIdentity } from '../apply/identity.ts';

type UnitContext = Pick<
  RunContext,
  'ledger' | 'intents' | 'pending' | 'tally' | 'point' | 'alongside' | 'committed'
>;

interface UnitKind {
  /** Null: no position moves. */
  readonly lease: number | null;
  readonly feed: Feed;
}

/** What the ledger is told besides the outcomes. */
interface Ending {
  readonly move: Move | null;
  readonly outcomes?: Commit['outcomes'];
}

/** May have been written, or removed. */
export interface Claiming {
  readonly kind: 'write' | 'remove' | 'takeover';
  readonly identity: SourceIdentity;
  readonly slot: Slot;
}

export class UnitOfWork {
  readonly page: number;
  readonly feed: Feed;
  readonly #context: UnitContext;
  readonly #lease: number | null;
  readonly #claimed = new Set<string>();
  readonly #touched = new Map<string, Buffer>();
  readonly #overrides: Override[] = [];
  readonly #counts = new Map<Counter, number>();
  #committed = false;

  constructor(context: UnitContext, { lease, feed }: UnitKind) {
    this.#context = context;
    this.#lease = lease;
    this.feed = feed;
    this.page = context.ledger.pages.nextPage();
  }

  /** INTENT, durable when it resolves; again when a point read showed what was not known before. */
  async begin(claims: readonly Claiming[], copied?: Intent['copied']): Promise<void> {
    for (const { kind, identity, slot } of claims) {
      // Who is thrown out of a slot may not go back to it on the strength of that.
      if (kind !== 'takeover') this.#claimed.add(nameOf(identity.hash, slot.hash));
    }
    const intent = { page: this.page, lease: this.#lease, feed: this.feed, claims: claims.map(asClaim) };
    await this.#context.intents.add(copied === undefined ? intent : { ...intent, copied });
    this.#context.point('intended');
  }

  /** Whether this unit may write to the slot, or remove from it. */
  claims(identity: SourceIdentity, slot: Slot): boolean {
    return this.#claimed.has(nameOf(identity.hash, slot.hash));
  }

  /** A document of a copied segment is claimed by it. */
  claimed(identity: Buffer, slot: Buffer): void {
    this.#claimed.add(nameOf(identity, slot));
  }

  row(row: Row): void {
    this.#touch(row.identity);
    this.#context.pending.setRow(row);
  }

  letter(identity: Buffer, change: LetterChange): void {
    this.#touch(identity);
    this.#context.pending.setLetter(identity, change);
  }

  /** What segments say of this identity at this slot holds no more. */
  override(identity: Buffer, slot: Buffer): void {
    const override = { identity, slot, sequence: this.#context.ledger.pages.nextSequence() };
    this.#overrides.push(override);
    this.#context.pending.setOverride(override);
  }

  count(counter: Counter, delta = 1): void {
    this.#counts.set(counter, (this.#counts.get(counter) ?? 0) + delta);
  }

  get counts(): Counts {
    return Object.fromEntries(this.#counts);
  }

  /** What COMMIT writes; of every document the newest that is known. */
  ending({ move, outcomes = [] }: Ending): Commit {
    const { pending } = this.#context;
    const newest = [...this.#touched.values()].map((identity) => pending.newest(identity));
    return {
      page: this.page,
      move,
      outcomes,
      rows: newest.flatMap(({ row }) => row ?? []),
      letters: newest.flatMap(({ letter }) => letter ?? []),
      overrides: this.#overrides,
    };
  }

  /** The ledger has it. */
  committed(): void {
    assert(!this.#committed, 'a unit is committed once');
    this.#committed = true;
    this.#context.pending.letGo(this.#touched.values(), this.#overrides);
    this.#context.tally.add(this.counts);
  }

  /** COMMIT of a unit that moves no position. */
  commit(): void {
    const { ledger, alongside, committed } = this.#context;
    ledger.pages.commit([this.ending({ move: null })], alongside(this.counts));
    this.committed();
    committed();
  }

  #touch(identity: Buffer): void {
    assert(!this.#committed, 'nothing becomes known of a unit that is over');
    const key = mapKey(identity);
    if (this.#touched.has(key)) return;
    this.#touched.set(key, identity);
    this.#context.pending.touch(identity);
  }
}

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
