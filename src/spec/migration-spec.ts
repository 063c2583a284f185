/** The settings of a migration. Invariants: checked and complete, frozen, and without any secret. */

/** A container, and the account it is in. */
export interface ContainerAddress {
  /** As `https://account.documents.azure.com/`: origin and one slash. */
  readonly endpoint: string;
  readonly database: string;
  readonly container: string;
}

/** How many RU/s may be used; `automatic` leaves it to the governor. */
export type Budget =
  | { readonly kind: 'automatic' }
  | { readonly kind: 'ru'; readonly ru: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** How deletes in the source are detected. */
export type Deletes =
  | { readonly kind: 'auto' }
  | { readonly kind: 'avad' }
  | { readonly kind: 'marker'; readonly path: string }
  | { readonly kind: 'reconcile' };

/** What to do when there is no target. */
export type Creation =
  | { readonly kind: 'none' }
  | { readonly kind: 'as-source' }
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number };

/** When a run stops beginning new work: at a time of day, or after a duration, which does not follow a clock that is set. */
export type StopTime =
  | { readonly kind: 'none' }
  /** `asked` is the text that was given, with the time zone for a time of day. */
  | { readonly kind: 'at' | 'within'; readonly atMs: number; readonly asked: string };

export interface MigrationSpec {
  readonly source: ContainerAddress;
  readonly target: ContainerAddress;
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
  /** Proceed despite warnings of the preflight. */
  readonly acceptsWarnings: boolean;
  /** Absolute path. */
  readonly ledger: string;
  readonly deadline: StopTime;
  readonly deadLettersMax: number;
  readonly skipsIfRunning: boolean;
}
