/** What a range of the source looks like from outside, while a run lasts. */
import type { LeasePhase } from '../../state/leases.ts';

export interface RangePicture {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  phase: LeasePhase;
  documents: number;
  /** Service time of the newest change that is committed, in seconds. */
  lastTs: number | null;
  /** When it last had nothing more to tell, and all of it was committed. */
  caughtUpMs: number | null;
  /** Since when its feed is asked for the page that is awaited; null while none is. */
  askedMs: number | null;
}
