/** The settings of a migration. Invariants: a spec is checked, complete and frozen, and contains no secret. */
import type { Connection } from './connection.ts';
import type { ContainerName } from './input/values.ts';

/** The name of a container, and the account that contains it. */
export interface ContainerAddress {
  /** The URL of the account as its origin and one slash: `https://account.documents.azure.com/`. */
  readonly endpoint: string;
  readonly database: string;
  readonly container: string;
}

/** How many RU/s a run may use. `automatic` leaves the choice to load control. */
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

/** How the target is created if it does not exist; `none` means that a missing target is an error. */
export type Creation =
  | { readonly kind: 'none' }
  | { readonly kind: 'as-source' }
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number };

/**
 * When a run stops beginning new work: at a time of day, or after a duration. Setting the clock of the machine does
 * not change the end of a duration.
 */
export type StopTime =
  | { readonly kind: 'none' }
  /** `asked` is the text that the operator gave; for a time of day it includes the time zone. */
  | { readonly kind: 'at' | 'within'; readonly atMs: number; readonly asked: string };

/** Which time the data is moved between the two containers, counted from the first copy. */
export interface TurnSpec {
  /** Odd: back, so that `source` and `target` have changed roles. Even: forth again. */
  readonly number: number;
  /** The absolute path of the ledger of the turn before. */
  readonly previous: string;
}

export interface MigrationSpec {
  readonly source: ContainerAddress;
  readonly target: ContainerAddress;
  /** One to three key paths of the target, as text. If the operator gave only `derive`, this is the derived path. */
  readonly partitionKey: readonly string[];
  readonly derive: readonly string[];
  readonly missingKey: 'keep' | 'dead-letter' | 'fail';
  /** The path of the property that keeps the old key value; null when it is not kept. */
  readonly keepSourceKeyAs: string | null;
  readonly onCollision: 'dead-letter' | 'fail';
  readonly deletes: Deletes;
  readonly ttl: 'restart' | 'remaining';
  readonly sourceBudget: Budget;
  readonly targetBudget: Budget;
  readonly creation: Creation;
  /** Whether the copy begins despite warnings of the preflight. */
  readonly acceptsWarnings: boolean;
  /** The absolute path of the ledger. */
  readonly ledger: string;
  readonly deadline: StopTime;
  readonly deadLettersMax: number;
  readonly skipsIfRunning: boolean;
  /** For how long the source is kept after a cutover, so that the application can return; null: there is no way back. */
  readonly keepSourceForMs: number | null;
  /** The absolute path of the file for metrics; null: none is wanted. */
  readonly metricsFile: string | null;
  /** The turn, if the containers were cut over before; absent in a migration's first turn. */
  readonly turn?: TurnSpec;
}

/** What `cosmig plan` needs of the settings: only the source. */
export interface PlanSpec {
  readonly source: ContainerName;
  readonly connection: Connection;
  readonly sourceBudget: Budget;
  readonly deadline: StopTime;
  /** The absolute path next to which the plan file is: that of the ledger, or one named after the source. */
  readonly file: string;
}
