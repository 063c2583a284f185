/**
 * Looks up what the ledger knows of a document. Invariant: a row has precedence over the index, and void entries are
 * skipped.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import { MAP_INDEX } from '../segments/map-store.ts';
import type { EntryStore, Landed } from '../segments/segment-reader.ts';
import { findIdentity, INDEX_BYTES } from './entry.ts';
import type { IndexRunStore } from './runs.ts';
import type { LedgerRow, RowStore } from '../rows.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';

interface Stores {
  readonly transactions: Transactions;
  readonly rows: RowStore;
  readonly runs: IndexRunStore;
  readonly entries: EntryStore;
}

export class Lookup {
  readonly #stores: Stores;
  readonly #probe = Buffer.alloc(INDEX_BYTES, 0xff);

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  /**
   * Returns the row of a document, stored or made from its index entry. Returns null if the document is unknown, or its
   * copy is not indexed yet. If `indexId` is null all finished indexes are searched. `isCanceled` says whether an
   * override that is not committed yet makes an entry void.
   */
  find(
    identity: Buffer,
    indexId: number | null,
    isCanceled: (landed: Landed) => boolean = () => false,
  ): LedgerRow | null {
    const { transactions, rows } = this.#stores;
    return transactions.read(() => rows.find(identity) ?? this.#indexed(identity, indexId, isCanceled));
  }

  /**
   * Returns which derived properties the copy of a document had of its own when the map of the turn found it, whatever
   * was written since; 0 if the map does not have the document.
   */
  ownProperties(identity: Buffer): number {
    return this.#stores.transactions.read(() => {
      for (const { own } of this.#landed(identity, MAP_INDEX)) if (own !== 0) return own;
      return 0;
    });
  }

  #indexed(
    identity: Buffer,
    indexId: number | null,
    isCanceled: (landed: Landed) => boolean,
  ): LedgerRow | null {
    const { rows } = this.#stores;
    for (const landed of this.#landed(identity, indexId)) {
      if (rows.isOverridden(landed) || isCanceled(landed)) continue;
      const { slot, targetKey, etag, copyEtag, lsn, feed } = landed;
      return { identity, state: 'live', slot, targetKey, etag, copyEtag, lsn, feed };
    }
    return null;
  }

  /** Yields the entries of a document, one of each index. */
  *#landed(identity: Buffer, indexId: number | null): Generator<Landed> {
    const { runs, entries } = this.#stores;
    identity.copy(this.#probe, 0, 0, HASH_BYTES);
    for (const run of runs.finished(indexId)) {
      const block = runs.blockWith(run, this.#probe);
      const at = block === null ? -1 : findIdentity(block.data, identity);
      if (block !== null && at >= 0) yield entries.read(block.data, at);
    }
  }
}
