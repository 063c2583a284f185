/**
 * Says which derived properties a document had of its own in the container that it goes back to. The map of the turn has
 * found them there before the turn wrote anything, so the answer for a document never changes within a turn, and a crash
 * at any moment changes nothing. Invariant: it is asked only when the map is complete.
 */
import { hashToBytes } from '../../documents/hash.ts';
import type { OwnProperties } from '../../keys/move-plan.ts';
import type { Ledger } from '../../state/ledger.ts';

export class MappedProperties implements OwnProperties {
  readonly #ledger: Pick<Ledger, 'lookup' | 'map'>;
  /** Whether any document has such a property; undefined: not looked up yet. Most migrations have none. */
  #exist: boolean | undefined;

  constructor(ledger: Pick<Ledger, 'lookup' | 'map'>) {
    this.#ledger = ledger;
  }

  of(hashes: Uint32Array): number {
    this.#exist ??= this.#ledger.map.hasOwning();
    return this.#exist ? this.#ledger.lookup.ownProperties(hashToBytes(hashes)) : 0;
  }
}
