/**
 * Ways in which the account differs, on request, from what the service is believed to do. Each contradicts one belief.
 * Clients are tested against each: a client must notice the deviation, adapt to it, or not depend on the belief. The
 * setting `deviations` names those in force.
 */
export const DEVIATIONS = [
  /** A page of the latest-version feed begins with the newest change. */
  'feed-newest-first',
  /** A feed that has nothing new answers 200 with an empty page, not 304. */
  'feed-ends-with-200',
  /** Documents in the latest-version feed have no `_lsn`. */
  'feed-without-lsn',
  /** A position of one feed is accepted by the other. */
  'feeds-share-positions',
  /** The LSNs in the feed of all versions are not those of session tokens. */
  'other-lsns',
  /** The feed of all versions shows no replace, except one that changes the id. */
  'no-replaces',
  /** A replace with another id is shown as a create by the feed of all versions. */
  'renames-as-creates',
  /** A delete from a container with one key path does not name the key. */
  'deletes-without-key',
  /** A delete from a container with several key paths names the first level only. */
  'deletes-with-one-level',
  /** A delete shows a missing key value as null. */
  'missing-keys-as-null',
  /** A read is answered even if its session token names an LSN that the range has not reached. */
  'future-tokens-served',
  /** The next three: a refused create, an empty page of a feed, or a count costs many times as much. */
  'dear-conflicts',
  'dear-empty-pages',
  'dear-counts',
  /** A create costs five times as much. */
  'dear-creates',
  /** Integers beyond 2^53 are rounded to what a double can hold. */
  'rounded-integers',
  /** Fractions are rounded to six digits. */
  'rounded-fractions',
  /** A document with an object at a key path is refused. */
  'object-keys-refused',
  /** A whole number as a key is the same as its text. */
  'integer-keys-as-text',
  /** A replace with another id makes a document with another `_rid`. */
  'renames-with-new-rid',
  /** Documents that lack a value of a unique key do not conflict. */
  'missing-is-unique',
  /** A bulk request or a batch has at most 50 operations. */
  'batches-of-50',
  /** A signature is accepted for only three seconds. */
  'signatures-expire',
  /** A write is done even if the document does not have the etag that the write requires. */
  'conditions-ignored',
  /**
   * The `ttl` of a document has no effect where time to live is on without a default (`defaultTtl` -1). In the service
   * it has an effect there.
   */
  'ttl-ignored',
  /**
   * The `ttl` of a document has an effect where time to live is off (no `defaultTtl`). In the service it has no effect
   * there.
   */
  'ttl-without-switch',
  /** A `ttl` of -1 does not keep a document from expiring by the default lifetime of its container. */
  'no-endless-ttl',
] as const;

export type Deviation = (typeof DEVIATIONS)[number];
