/** Units of work as they are recorded in the ledger, and as the next run finds them: pages of a feed, and retries. */
import type { KeyComponent } from '../epk/effective-key.ts';
import type { Move } from './leases.ts';
import type { LetterChange } from './dead-letters.ts';
import type { FeedName, Override, LedgerRow } from './rows.ts';
import type { FinishedSegment } from './segments/segment.ts';
import type { SessionToken } from './session-tokens.ts';

export const CLAIM_KINDS = ['write', 'remove', 'takeover'] as const;

/** One write, removal or takeover that may have happened; of a takeover, `identity` is the document that may have lost the slot. */
export interface Claim {
  readonly kind: (typeof CLAIM_KINDS)[number];
  readonly identity: Buffer;
  readonly slot: Buffer;
  readonly targetKey: readonly KeyComponent[];
  /** The id and the levels of the source key, as JSON texts; null for a missing value. */
  readonly name: readonly (string | null)[];
}

/** A unit of work before its first write. May be given again with what became known later. */
export interface Intent {
  /** From `nextPage`, in the order in which a lease's pages were read. */
  readonly page: number;
  /** Null for a retry or a promotion, which moves no position. */
  readonly lease: number | null;
  readonly feed: FeedName;
  /** Documents of the copy. */
  readonly copied?: { readonly indexId: number; readonly parts: readonly FinishedSegment[] };
  readonly claims?: readonly Claim[];
}

/** A unit of work after its last outcome. */
export interface Commit {
  readonly page: number;
  readonly move: Move | null;
  /** For each document of the segments, in their order: the number of its outcome, or 0 if it has no copy of ours. */
  readonly outcomes?: readonly number[] | Float64Array;
  /** The newest that is known of each document, not the page's own. */
  readonly rows?: readonly LedgerRow[];
  readonly overrides?: readonly Override[];
  readonly letters?: readonly LetterChange[];
}

/** A segment of an intent. */
export interface IntendedSegment {
  readonly indexId: number;
  readonly part: FinishedSegment;
  readonly names: ReadonlyArray<readonly (string | null)[]>;
}

/** An intent as a resume finds it. */
export interface Unsettled {
  readonly page: number;
  readonly lease: number | null;
  readonly feed: FeedName;
  readonly segments: readonly IntendedSegment[];
  readonly claims: readonly Claim[];
}

/** What settling has found. */
export interface Settlement {
  readonly pages: readonly number[];
  readonly rows?: readonly LedgerRow[];
  readonly overrides?: readonly Override[];
}

/** What a transaction records for the whole migration. */
export interface Alongside {
  /** The newest of each source range. */
  readonly tokens?: readonly SessionToken[];
  /** The newest of each target range: what is committed can be seen with these. */
  readonly targetTokens?: readonly SessionToken[];
  /** Added to what the counters hold. */
  readonly counters?: Readonly<Record<string, number>>;
}
