/** What the dispatcher keeps of one range: the operations that wait, the batches in flight, and why it sends nothing. */
import type { Patience } from '../load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { Batcher } from './batcher.ts';
import type { RangeOperation, WaitReason } from './operation.ts';

export class RangeQueue<V> {
  readonly range: string;
  readonly batches: Batcher<RangeOperation<V>>;
  /** How long the range has refused, and how long that is accepted. */
  readonly patience: Patience;
  inFlight = 0;
  restsUntilMs = 0;
  /** The kind of the last refusal. */
  refusedFor: WaitReason = 'nothing to do';
  /** Since when the range refuses; undefined once an operation was completed. */
  refusedSinceMs: number | undefined;
  isSplitting = false;
  isGone = false;
  /** The dispatcher will look at it in this turn of the event loop. */
  isScheduled = false;
  alarmMs = Infinity;
  reason: WaitReason = 'nothing to do';
  sinceMs: number;

  constructor(range: string, { clock, patience }: { readonly clock: Clock; readonly patience: Patience }) {
    this.range = range;
    this.batches = new Batcher(clock);
    this.patience = patience.fresh();
    this.sinceMs = clock.now();
  }
}
