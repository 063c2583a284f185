/**
 * Notices that the application has renamed a document. The service lets a replace give a document another id (fact
 * SVC-51). The document stays the same to the service, so no feed shows that the old id was given up, and a copy may be
 * left under it. The feed of all versions shows the new id as a replace, of a document that the ledger does not know.
 * Unless the feed has the previous version (change-reader.ts), the old id is shown nowhere, and only a comparison of
 * both sides finds the copy. A rename while a range is copied is not noticed here; the comparison that every migration
 * needs before its cutover finds the copy that such a rename has left.
 *
 * Invariant: changes are looked at in the order of the feed, together with what the pages in flight have shown. So a
 * document that a page in flight creates counts as known, although the ledger does not know it yet.
 */
import { mapKey } from '../../documents/hash.ts';
import { must } from '../../lib/assert.ts';
import type { Change } from '../apply/apply.ts';
import type { PendingOutcomes } from '../unit/pending-outcomes.ts';

/** The last change of a document in the pages in flight, and how many of their changes concern the document. */
interface Shown {
  readonly lsn: number | null;
  /**
   * Whether the last change was a delete. False if its transaction has changed the document several times, because the
   * feed may show these changes in any order.
   */
  readonly isDeleted: boolean;
  readonly changes: number;
}

export class Renames {
  readonly #pending: Pick<PendingOutcomes, 'rowOf'>;
  readonly #copiedLsn: number;
  readonly #inFlight = new Map<string, Shown>();

  /**
   * `copiedLsn`: if a document is replaced after this LSN, the copy or the tail has already seen it, unless its id is
   * new.
   */
  constructor(pending: Pick<PendingOutcomes, 'rowOf'>, copiedLsn: number) {
    this.#pending = pending;
    this.#copiedLsn = copiedLsn;
  }

  /** Takes the changes of the next page, and returns whether one of their documents had another id before. */
  see(changes: readonly Change[]): boolean {
    let found = false;
    for (const change of changes) {
      const { identity, lsn, shown } = change;
      if (shown === undefined) continue;
      const key = mapKey(identity.hash);
      const before = this.#inFlight.get(key);
      if (shown.as === 'replace' && this.#wasRenamed(change, shown.previousLsn, before)) found = true;
      const isDeleted = shown.as === 'delete' && before?.lsn !== lsn;
      this.#inFlight.set(key, { lsn, isDeleted, changes: (before?.changes ?? 0) + 1 });
    }
    return found;
  }

  /** Forgets the changes of a page that is committed: the ledger knows their documents. */
  forget(changes: readonly Change[]): void {
    for (const { identity, shown } of changes) {
      if (shown === undefined) continue;
      const key = mapKey(identity.hash);
      const last = must(this.#inFlight.get(key), 'a page in flight has shown the document');
      if (last.changes === 1) this.#inFlight.delete(key);
      else this.#inFlight.set(key, { ...last, changes: last.changes - 1 });
    }
  }

  #wasRenamed(
    { identity, lsn, indexId }: Change,
    previousLsn: number | null,
    before: Shown | undefined,
  ): boolean {
    // If this version and the previous one have the same LSN, one transaction has changed the document twice, and the
    // feed may show its changes in any order.
    if (lsn === null || lsn <= this.#copiedLsn || previousLsn === lsn) return false;
    if (before !== undefined) return before.isDeleted;
    const row = this.#pending.rowOf(identity.hash, indexId);
    // Without an LSN the row comes from settling or a repair, and no change of the document was applied since. So the
    // row does not show that the copy or the tail has seen this id.
    if (row === null || row.lsn === null) return true;
    // The previous version is older than the delete of the document with this id, so it had another id.
    const isNewer = row.feed === 'AVAD' && lsn > row.lsn;
    return row.state === 'tombstone' && isNewer && previousLsn !== null && previousLsn < row.lsn;
  }
}
