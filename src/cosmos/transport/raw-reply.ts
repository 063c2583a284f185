/** A whole reply of the service, whichever way it came. Invariant: no reply is cut short without an error. */

/**
 * The longest reply. A page has at most 4 MB, or more if a single transaction is larger (fact SVC-8). A reply beyond
 * this limit is a mistake.
 */
export const REPLY_BYTES_MAX = 256 * 1024 * 1024;

/** The reply ended before its announced length, or exceeded REPLY_BYTES_MAX. */
export class CutShort extends Error {
  override readonly name = 'CutShort';

  constructor() {
    super('the reply is not as long as it should be');
  }
}

/** A whole reply of the service, unchanged. */
export interface RawReply {
  readonly status: number;
  /** Returns the header with this lower-case name. */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** Returns the memory of the body for other replies. Called at most once, when the body is no longer needed. */
  readonly free: () => void;
}
