/**
 * The named moments at which a test ends the process or reads the ledger: those where a crash would hurt most. No point
 * lies between "sent" and "answered": `intended` is before the first byte of what an intent claims, and
 * `outcomes-known` is after the last reply. Tests reach the time between the two in other ways: the fault runs kill the
 * mover at random moments, and test/integration/copy/load-control.test.ts ("twice") aborts a run whose writes are in
 * flight.
 */
export type CrashPoint =
  /** Every range has its anchor, and nothing has been copied. */
  | 'anchored'
  /** A page of the map has been read; its documents are stored with the next checkpoint. */
  | 'map-page'
  /** A page has been read, and its unit of work has not begun. */
  | 'page-read'
  /** An INTENT is durable, and no write that it claims has been sent. */
  | 'intended'
  /** Every document of a page has its outcome, and the ledger knows no outcome yet. */
  | 'outcomes-known'
  /** The COMMIT of a unit of work is done. */
  | 'committed'
  /** The claim of a takeover is durable, and the slot still holds the other document. */
  | 'takeover-intended'
  /** A document is in its new slot and still in its old one. */
  | 'moved'
  /** A copy was removed from a slot, and its row still names the slot. */
  | 'removed'
  /** Some of the documents that the last run left in doubt are settled, and their claims have ended. */
  | 'settled-piece'
  /** The intents of the last run are settled. */
  | 'settled'
  /** A lease is replaced by its children, which are not read yet. */
  | 'lease-replaced'
  /** A lease has reached its anchor. Its next feed is that of the tail. */
  | 'anchor-reached'
  /** One step of an index build is done. */
  | 'index-step'
  /** An attempt at a dead letter has its outcome, and is not committed. */
  | 'letter-retried'
  /** A cutover is committed, and nothing that follows the commit is done. */
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
