/**
 * What the operator wants, checked and complete: nothing in it is optional, nothing in it can change, and no
 * secret is in it.
 */

/** A container, and the account it is in. */
export interface Place {
  /** As `https://account.documents.azure.com/`: origin and one slash. */
  readonly endpoint: string;
  readonly database: string;
  readonly container: string;
}

/** How many RU/s may be taken; `automatic` leaves it to the governor. */
export type Budget =
  | { readonly kind: 'automatic' }
  | { readonly kind: 'ru'; readonly ru: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** How deletes of the source are found. */
export type Deletes =
  | { readonly kind: 'auto' }
  | { readonly kind: 'avad' }
  | { readonly kind: 'marker'; readonly path: string }
  | { readonly kind: 'reconcile' };

/** What is to be done when there is no target. */
export type Creation =
  | { readonly kind: 'none' }
  | { readonly kind: 'as-source' }
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number };

/** When admission of new work ends: at a time of day, or a duration that ends then unless the clock is set meanwhile. */
export type Deadline =
  | { readonly kind: 'none' }
  /** `asked` is how it was asked for, with the zone when it was a time of day. */
  | { readonly kind: 'at' | 'within'; readonly atMs: number; readonly asked: string };

/** See the module. */
export interface MigrationSpec {
  readonly source: Place;
  readonly target: Place;
  /** The target's key paths as text, one to three; also when they come from `derive`. */
  readonly partitionKey: readonly string[];
  readonly derive: readonly string[];
  readonly missingKey: 'keep' | 'dead-letter' | 'fail';
  /** Where the old key value is kept, or null. */
  readonly keepSourceKeyAs: string | null;
  readonly onCollision: 'dead-letter' | 'fail';
  readonly deletes: Deletes;
  readonly ttl: 'restart' | 'remaining';
  readonly sourceBudget: Budget;
  readonly targetBudget: Budget;
  readonly creation: Creation;
  /** The preflight sample may warn, and work goes on. */
  readonly acceptsWarnings: boolean;
  /** Absolute path. */
  readonly ledger: string;
  readonly deadline: Deadline;
  readonly deadLettersMax: number;
  readonly skipsIfRunning: boolean;
}
