/** Owns what the apply rule is given: one change of one document, or the wish to look at it again. */
import type { FeedName } from '../feeds.ts';
import type { Identity, Version } from '../source.ts';

export interface Event {
  readonly id: Identity;
  /** `read` asks for the current version, whatever it is: retries of letters. */
  readonly kind: 'upsert' | 'delete' | 'read';
  readonly version: Version | null;
  readonly feed: FeedName;
  readonly lsn: number | null;
  /** Whether an older event of the document is in flight, which leaves a row. The oldest is never skipped. */
  readonly follows: boolean;
}
