/** What the writer and the world say to each other: operations, replies, admissions, waits. */
import type { Trouble } from '../transport/trouble.ts';
import type { Batch, Batched } from './batcher.ts';

/** Not done, and why: nothing of it has happened. */
export type RefusalKind = 'throttled' | 'transient' | 'denied' | 'split';

/** What the service said to one operation. */
export type Result<V> =
  // It was decided: written, or a conflict, or too large; what that means is for the apply rule.
  { readonly is: 'done'; readonly value: V } | Refused | Ambiguous;

/** It has not happened, and may be tried again. */
export interface Refused {
  readonly is: 'refused';
  readonly kind: RefusalKind;
  /** What the service said; it is thrown when it stays so. */
  readonly trouble: Trouble;
}

/** It has happened or has not, or will: only a read after the request timeout can tell. */
export interface Ambiguous {
  readonly is: 'ambiguous';
  readonly cause?: unknown;
}

export interface Reply<V> {
  /** The charge in the header; 0 when there was none. */
  readonly chargeRu: number;
  /** One for each operation, in their order, or one for the whole request. */
  readonly results: readonly Result<V>[] | Refused | Ambiguous;
}

/** Whether the request was answered as a whole; `in` would be asked for each operation, and is slow on a list. */
export function isWhole<V>(results: Reply<V>['results']): results is Refused | Ambiguous {
  return !Array.isArray(results);
}

/** How an operation ended, once. */
export type Outcome<V> =
  | { readonly is: 'done'; readonly value: V }
  | Ambiguous
  // The writer stopped, and nothing of it has happened.
  | { readonly is: 'not-done'; readonly cause: Error };

export interface Operation<V> extends Batched {
  /** The effective key of its slot, which says in which range it is. */
  readonly place: string;
  /** Called exactly once. */
  complete(outcome: Outcome<V>): void;
}

/** The target's ranges as we know them. */
export interface RangeMap {
  rangeOf(place: string): string;
  /** Asks the service again, because this range is gone; several may ask at once. */
  refresh(range: string, signal: AbortSignal): Promise<void>;
}

export type WaitReason =
  | RefusalKind
  | 'splitting'
  | 'no budget'
  // As many batches are on their way as may be.
  | 'in flight'
  // A batch waits for company.
  | 'filling'
  | 'nothing to do';

/** Go, or why not; without a delay the next reply is waited for, of which there must be one. */
export type Admission = 'go' | { readonly reason: WaitReason; readonly delayMs?: number };

/** One reply, as load control sees it. */
export interface Observation {
  readonly chargeRu: number;
  readonly operations: number;
  /** How many of them were throttled. */
  readonly throttled: number;
  readonly retryAfterMs: number | undefined;
  readonly elapsedMs: number;
  /** Batches of this range still on their way. */
  readonly inFlight: number;
}

/** Load control (docs/internals/load-control.md). Every `go` is followed by one `observe`, unless the run is called off. */
export interface Governor {
  admit(range: string, load: { readonly inFlight: number }): Admission;
  /** How many operations the request that is admitted may have. */
  operationsMax(range: string): number;
  observe(range: string, seen: Observation): void;
}

/** What a range waits for, for the watchdog. */
export interface RangeWait {
  readonly range: string;
  readonly reason: WaitReason;
  /** Since when, with nothing completed in between. */
  readonly sinceMs: number;
  /** Waiting, without those on their way. */
  readonly operations: number;
  readonly inFlight: number;
}

export type Send<V> = (range: string, batch: Batch<Operation<V>>, signal: AbortSignal) => Promise<Reply<V>>;
