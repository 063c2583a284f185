/** Owns what one turn hands to the next, in the transaction that commits the cutover. */
import type { Ledger } from '../mover/ledger.ts';
import type { Source } from '../source.ts';

export interface Commit {
  /** Says which documents of the closed side had a copy, and which were left out. */
  readonly ledger: Ledger;
  /** The side that was the source, and that nothing but the mover may write from now on. */
  readonly closed: Source;
  /** The ends of the new source: what was written later is for the next turn to replicate. */
  readonly anchors: readonly Anchor[];
  /** The ends of the closed side by place: what was written later, and not by the mover, is a stranger's. */
  readonly ends: readonly number[];
  /** How many documents the closed side had. */
  readonly count: number;
  /** Time to live was paused on the new source while it was closed, and is on again. */
  isTtlRestored: boolean;
  /** The next turn has a ledger of its own, and may have written. */
  begun: boolean;
}

export interface Anchor {
  readonly min: number;
  readonly max: number;
  readonly lsn: number;
}
