/** The dispatcher's state of one range: operations that wait, batches in flight, and the reason why nothing is sent. */
import type { Patience } from '../load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { Batcher } from './batcher.ts';
import type { RangeOperation, WaitReason } from './operation.ts';

export class RangeQueue<V> {
  readonly range: string;
  readonly batches: Batcher<RangeOperation<V>>;
  /** Measures how long the range has refused operations, and throws when that is too long. */
  readonly patience: Patience;
  inFlight = 0;
  restsUntilMs = 0;
  /** Kind of the last refusal. */
  refusedFor: WaitReason = 'nothing to do';
  /** When the range began to refuse; undefined after an operation has been completed. */
  refusedSinceMs: number | undefined;
  isSplitting = false;
  isGone = false;
  /** Whether the dispatcher will look at this queue at the end of the current turn of the event loop. */
  isScheduled = false;
  alarmMs = Infinity;
  reason: WaitReason = 'nothing to do';
  sinceMs: number;

  constructor(range: string, { clock, patience }: { readonly clock: Clock; readonly patience: Patience }) {
    this.range = range;
    this.batches = new Batcher(clock);
    this.patience = patience.fresh();
    this.sinceMs = clock.monotonicMs();
  }
}
