/**
 * One operation on one document, on its way to a range: what is sent, what the service answered, how the operation
 * ended. Invariant: an operation ends exactly once, and a write ends as ambiguous if its outcome is not known.
 */
import type { TroubleKind, Trouble } from '../transport/trouble.ts';

/** Why an operation was refused. A refused operation has changed nothing, so it may be sent again. */
export type RefusalKind = Extract<TroubleKind, 'throttled' | 'transient' | 'denied' | 'split'>;

/** How the service answered one operation. */
export type OperationResult<V> =
  // The service decided: written, a conflict, too large and so on. The caller decides what that means.
  { readonly is: 'done'; readonly value: V } | Refused | Ambiguous;

/** The operation has not happened, and may be sent again. */
export interface Refused {
  readonly is: 'refused';
  readonly kind: RefusalKind;
  /** The service's answer. It is thrown if the refusals last too long. */
  readonly trouble: Trouble;
}

/**
 * It is not known whether the operation has happened, or whether it will still happen. Only a read after the request
 * timeout shows this.
 */
export interface Ambiguous {
  readonly is: 'ambiguous';
  readonly cause?: unknown;
}

/** The batch has only runs, and every operation has created its document. */
export interface AllCreated {
  readonly is: 'created';
}

/** How the service answered a batch. */
export interface BatchReply<V> {
  /** Charge in the header of the reply; 0 if it has none. */
  readonly chargeRu: number;
  /** A result for each operation, in their order, or one result for the whole request. */
  readonly results: readonly OperationResult<V>[] | Refused | Ambiguous | AllCreated;
}

/** How an operation ended. Each operation gets exactly one end. */
export type OperationEnd<V> =
  | { readonly is: 'done'; readonly value: V }
  | Ambiguous
  // The dispatcher stopped before the operation could happen.
  | { readonly is: 'not-done'; readonly cause: Error };

/** The JSON text of an operation, as a batch contains it. */
export interface OperationText {
  /** Size of the text in bytes (fact SDK-8). It stays the same until the operation has ended. */
  readonly sizeBytes: number;
  /** Writes the text into `body` from offset `at` on. Called each time the operation is sent. */
  writeTo(body: Buffer, at: number): void;
}

export interface RangeOperation<V> extends OperationText {
  /** Effective key of the document, which decides the range. */
  readonly effectiveKey: string;
  /** Whether the operation is a read. A read whose reply was lost is sent again, because it changes nothing. */
  readonly isRead: boolean;
  /**
   * Whether an earlier operation for the same document was sent already. Such operations are sent before the first
   * operations of other documents, so that some documents are finished early, instead of all of them at the end.
   */
  readonly hasBegun?: boolean;
  /**
   * A write to this read's slot that the service is certain to refuse. The probe is sent before the read if the session
   * of the range perhaps does not cover all our writes: the replica that accepts writes answers the probe, and the
   * reply updates the session.
   */
  readonly probe?: OperationText | undefined;
  /** Called exactly once, when the operation has ended. */
  complete(outcome: OperationEnd<V>): void;
}

/**
 * Creates that lie one after the other in memory and go to one range. They are sent together, as far as they fit into a
 * batch, and finished together if all have created their documents. In any other case each of them becomes an operation of
 * its own.
 */
export interface OperationRun<T> extends OperationText {
  readonly isRun: true;
  /** Number of operations. `sizeBytes` is their size with the commas between them. */
  readonly count: number;
  /** Returns the size of the operations from `from` up to and excluding `to`, with the commas between them. */
  sizeOf(from: number, to: number): number;
  /** Returns how many operations from `from` on, at most `countMax`, have at most `bytesMax` bytes. */
  fitting(from: number, countMax: number, bytesMax: number): number;
  /** Removes the first `count` operations, and returns them as a run. */
  take(count: number): OperationRun<T>;
  /** Returns each operation by itself. */
  operations(): readonly T[];
  /** Called at most once, when every operation has created its document. Completes all of them. */
  created(): void;
}

/** Returns the text of an operation whose bytes exist already. */
export function madeText(bytes: Uint8Array): OperationText {
  return { sizeBytes: bytes.length, writeTo: (body, at) => body.set(bytes, at) };
}

/** Why a range sends nothing now. */
export type WaitReason =
  | RefusalKind
  | 'splitting'
  | 'no budget'
  // The range has as many batches in flight as it may have.
  | 'in flight'
  // A batch waits a moment for more operations.
  | 'filling'
  | 'nothing to do';

/** What a range waits for, for the stall warning. */
export interface RangeWait {
  readonly range: string;
  readonly reason: WaitReason;
  /** When the wait began: when the reason became true, or when the last operation of the range was completed. */
  readonly sinceMs: number;
  /** Number of operations that wait, without those in flight. */
  readonly operations: number;
  readonly inFlight: number;
}
