/** Owns what one turn hands to the next, in the transaction that commits the cutover. */
import type { Source } from '../source.ts';

export interface Commit {
  /** The side that was the source, and that nothing but the mover may write from now on. */
  readonly closed: Source;
  /** The ends of the new source: what was written later is for the next turn to replicate. */
  readonly anchors: readonly Anchor[];
  /** The ends of the closed side by place: what was written later, and not by the mover, is a stranger's. */
  readonly ends: readonly number[];
  /** How many documents the closed side had. */
  readonly count: number;
  /** The next turn has a ledger of its own, and may have written. */
  begun: boolean;
}

export interface Anchor {
  readonly min: number;
  readonly max: number;
  readonly lsn: number;
}
