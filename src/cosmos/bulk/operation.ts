/**
 * One operation on one document, on its way to a range: what is sent, what the service answered, how it ended.
 * Invariant: an operation ends exactly once, and it is called ambiguous whenever it may have happened.
 */
import type { TroubleKind, Trouble } from '../transport/trouble.ts';

/** Why an operation was not carried out. Nothing of it has happened, so it may be sent again. */
export type RefusalKind = Extract<TroubleKind, 'throttled' | 'transient' | 'denied' | 'split'>;

/** How the service answered one operation. */
export type OperationResult<V> =
  // The service decided: written, or a conflict, or too large. What that means is the caller's business.
  { readonly is: 'done'; readonly value: V } | Refused | Ambiguous;

/** It has not happened, and may be tried again. */
export interface Refused {
  readonly is: 'refused';
  readonly kind: RefusalKind;
  /** What the service said; it is thrown when the refusals last too long. */
  readonly trouble: Trouble;
}

/** It has happened, or has not, or still will: only a read after the request timeout can find out. */
export interface Ambiguous {
  readonly is: 'ambiguous';
  readonly cause?: unknown;
}

/** How the service answered a batch. */
export interface BatchReply<V> {
  /** The charge in the header; 0 when there was none. */
  readonly chargeRu: number;
  /** One for each operation, in their order, or one for the whole request. */
  readonly results: readonly OperationResult<V>[] | Refused | Ambiguous;
}

/** How an operation ended; delivered exactly once. */
export type OperationEnd<V> =
  | { readonly is: 'done'; readonly value: V }
  | Ambiguous
  // The dispatcher stopped, and nothing of the operation has happened.
  | { readonly is: 'not-done'; readonly cause: Error };

/** What is sent of an operation. */
export interface OperationText {
  /** The size of its JSON text (fact SDK-8). */
  readonly sizeBytes: number;
  /** Writes that text, each time the operation is sent; its size stays the same until the operation has ended. */
  writeTo(body: Buffer, at: number): void;
}

export interface RangeOperation<V> extends OperationText {
  /** The effective key of its document: it decides the range. */
  readonly effectiveKey: string;
  /** A read leaves nothing in doubt: when its reply is lost, it is sent again. */
  readonly isRead: boolean;
  /**
   * A write to the same slot that is bound to be refused. It goes first where the session of the range is not known
   * to cover all writes: its reply comes from the replica that takes the writes.
   */
  readonly probe?: OperationText | undefined;
  /** Called exactly once. */
  complete(outcome: OperationEnd<V>): void;
}

/** An operation whose text is made already. */
export function madeText(bytes: Uint8Array): OperationText {
  return { sizeBytes: bytes.length, writeTo: (body, at) => body.set(bytes, at) };
}

/** Why a range sends nothing now. */
export type WaitReason =
  | RefusalKind
  | 'splitting'
  | 'no budget'
  // As many batches are in flight as may be.
  | 'in flight'
  // A batch waits a moment for more operations.
  | 'filling'
  | 'nothing to do';

/** What a range waits for, for the stall warning. */
export interface RangeWait {
  readonly range: string;
  readonly reason: WaitReason;
  /** Since when, with nothing completed in between. */
  readonly sinceMs: number;
  /** Operations that wait, without those in flight. */
  readonly operations: number;
  readonly inFlight: number;
}
