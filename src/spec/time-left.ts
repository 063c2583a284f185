/** How long a run may still take. A duration stays one, also where the clock on the wall is set meanwhile. */
import { stopwatch, type Clock } from '../lib/clock.ts';
import type { Deadline } from './migration-spec.ts';

type Ending = Exclude<Deadline, { readonly kind: 'none' }>;

/** Begins to measure; what is given tells the milliseconds that are left. */
export function timeLeft({ kind, atMs }: Ending, clock: Clock): () => number {
  if (kind === 'at') return () => atMs - clock.now();
  const [leftMs, passedMs] = [atMs - clock.now(), stopwatch()];
  return () => leftMs - passedMs();
}
