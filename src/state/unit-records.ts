/** The records of units of work in the ledger: what a run writes, and what the next run finds after a crash. */
import type { KeyComponent } from '../epk/effective-key.ts';
import type { Move } from './leases.ts';
import type { LetterChange } from './dead-letters.ts';
import type { FeedName, Override, LedgerRow } from './rows.ts';
import type { FinishedSegment } from './segments/segment.ts';
import type { SessionToken } from './session-tokens.ts';

export const CLAIM_KINDS = ['write', 'remove', 'takeover'] as const;

/** One write, removal or takeover that may have happened. */
export interface Claim {
  readonly kind: (typeof CLAIM_KINDS)[number];
  /** The document that is written or removed. In a takeover: the document that may have lost its slot. */
  readonly identity: Buffer;
  readonly slot: Buffer;
  readonly targetKey: readonly KeyComponent[];
  /** The id and the levels of the source key, as JSON texts; null for a missing value. */
  readonly name: readonly (string | null)[];
}

/** A claim as the next run finds it: with its unit, and its number in the unit. */
export interface StoredClaim extends Claim {
  readonly unit: number;
  readonly number: number;
}

/** A unit of work before its first write. A unit may store several intents, to add claims that become known later. */
export interface Intent {
  /** The number of the unit, from `nextUnit`: it grows in the order in which a lease's pages are read. */
  readonly unit: number;
  /** The lease of the page; null for a dead letter or a repair, which moves no position. */
  readonly lease: number | null;
  readonly feed: FeedName;
  /** The segments of documents that the copy creates. */
  readonly copied?: { readonly indexId: number; readonly parts: readonly FinishedSegment[] };
  readonly claims?: readonly Claim[];
}

/** A unit of work after its last outcome. */
export interface Commit {
  readonly unit: number;
  readonly move: Move | null;
  /** The outcome number of each document in the unit's segments, in order; 0 if the target has no copy of ours. */
  readonly outcomes?: readonly number[] | Float64Array;
  /** The newest row of each document that the unit has touched, even if a later unit has set it. */
  readonly rows?: readonly LedgerRow[];
  readonly overrides?: readonly Override[];
  readonly letters?: readonly LetterChange[];
}

/** An intent without a commit, as the next run finds it. */
export interface Unsettled {
  readonly unit: number;
  readonly lease: number | null;
  readonly feed: FeedName;
  readonly claims: readonly StoredClaim[];
}

/** What settling writes to the ledger. */
export interface Settlement {
  /** The units of which nothing is left to settle. */
  readonly units?: readonly number[];
  /** The claims that are settled. */
  readonly claims?: ReadonlyArray<Pick<StoredClaim, 'unit' | 'number'>>;
  readonly rows?: readonly LedgerRow[];
  readonly overrides?: readonly Override[];
  /** Numbers to add to the counters. */
  readonly counters?: Readonly<Record<string, number>>;
}

/** What a transaction of units records for the whole migration. */
export interface Alongside {
  /** The newest session token of each source range. */
  readonly tokens?: readonly SessionToken[];
  /** The newest session token of each target range. Reads with these tokens see all committed writes. */
  readonly targetTokens?: readonly SessionToken[];
  /** Numbers to add to the counters. */
  readonly counters?: Readonly<Record<string, number>>;
}
