/** One range of the target, as the writer keeps it: what waits, what is on its way, and what for. */
import type { Patience } from '../load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { Batcher } from './batcher.ts';
import type { Operation, WaitReason } from './operation.ts';

export interface Lane<V> {
  readonly range: string;
  readonly batches: Batcher<Operation<V>>;
  inFlight: number;
  /** How long it has been refused, and how long that is borne. */
  readonly patience: Patience;
  restsUntilMs: number;
  restsFor: WaitReason;
  /** Since when it is refused; undefined once something was done. */
  refusedSinceMs: number | undefined;
  splitting: boolean;
  gone: boolean;
  /** It will be looked at in this turn of the loop. */
  touched: boolean;
  alarmMs: number;
  reason: WaitReason;
  sinceMs: number;
  /** Who waits for room. */
  outside: (() => void)[];
}

export function newLane<V>(
  range: string,
  { clock, patience }: { readonly clock: Clock; readonly patience: Patience },
): Lane<V> {
  return {
    range,
    batches: new Batcher(clock),
    inFlight: 0,
    patience: patience.fresh(),
    restsUntilMs: 0,
    restsFor: 'nothing to do',
    refusedSinceMs: undefined,
    splitting: false,
    gone: false,
    touched: false,
    alarmMs: Infinity,
    reason: 'nothing to do',
    sinceMs: clock.now(),
    outside: [],
  };
}
