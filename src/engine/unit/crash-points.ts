/** The moments at which a crash would hurt most. A test kills the process at one of them, or reads the ledger there. */
export type CrashPoint =
  /** Every range has its anchor, and nothing has been copied. */
  | 'anchored'
  | 'page-read'
  /** An INTENT is durable, and nothing of it has been sent. */
  | 'intended'
  /** Every document of a page has its outcome, and the ledger knows none of them. */
  | 'outcomes-known'
  | 'committed'
  | 'takeover-intended'
  /** Written to its new slot, and still in the old one. */
  | 'moved'
  | 'removed'
  | 'settled'
  | 'lease-replaced'
  /** A lease has reached its anchor: its next feed is the tail's. */
  | 'anchor-reached'
  | 'index-step'
  | 'letter-retried'
  | 'cut-over';

export class CrashPoints {
  readonly #onPoint: (point: CrashPoint) => void;

  constructor(onPoint: (point: CrashPoint) => void) {
    this.#onPoint = onPoint;
  }

  reach(point: CrashPoint): void {
    this.#onPoint(point);
  }
}
