/**
 * Measures how long a run may still take. A duration is measured by a stopwatch, so that setting the wall clock does
 * not change it.
 */
import { stopwatch, type Clock } from '../lib/clock.ts';
import type { StopTime } from './migration-spec.ts';

type Ending = Exclude<StopTime, { readonly kind: 'none' }>;

/** Starts measuring; the returned function returns the remaining milliseconds. */
export function timeLeft({ kind, atMs }: Ending, clock: Clock): () => number {
  if (kind === 'at') return () => atMs - clock.now();
  const [leftMs, passedMs] = [atMs - clock.now(), stopwatch()];
  return () => leftMs - passedMs();
}
