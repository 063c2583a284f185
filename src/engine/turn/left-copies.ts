/**
 * Notices that another process has changed a copy in the container that a turn writes to. In the first turn only cosmig
 * writes to the target. After a cutover the other container was in use before, so a process that was not stopped may
 * still write there. Invariant: what such a process wrote is never replaced or deleted unless the operator asked for it
 * (`verify --repair`).
 *
 * A copy is as this migration left it if it has the etag that the ledger knows, or the content that is being written:
 * the reply to a write of ours may have been lost. If the ledger does not know the etag, as after a crash, the copy is
 * not checked here; the comparison of the cutover shows such a change.
 */
import { firstDifference, readCanonical } from '../../documents/canonical.ts';
import { etagToBytes } from '../../state/segments/etag-hash.ts';
import type { LedgerRow } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import type { Occupant } from '../apply/slot-owner.ts';

/** The etag with which the ledger knows the copy of a document in a slot; null: it is not known. */
export function etagLeft(row: LedgerRow | null, slot: Buffer): Buffer | null {
  return row?.slot?.equals(slot) === true ? row.copyEtag : null;
}

/** Whether another process has changed a copy. `body`: what is being written; null for a removal. */
export function isChanged(
  { checksCopies }: Pick<RunContext, 'checksCopies'>,
  seen: Occupant,
  { left, body, isKnown }: Expected,
): boolean {
  if (!checksCopies || (left === null && isKnown)) return false;
  if (left?.equals(etagToBytes(seen.etag)) === true) return false;
  if (body === null || seen.document === null) return true;
  return firstDifference(readCanonical(seen.document), readCanonical(body)) !== undefined;
}

interface Expected {
  readonly left: Buffer | null;
  readonly body: Buffer | null;
  /** Whether the ledger says that the copy is in this slot. */
  readonly isKnown: boolean;
}
