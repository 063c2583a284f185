/** What calls of the control plane take, with waits that are real but short. */
import { Patience } from '../../../src/cosmos/load/retry.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';

const limit = { firstMs: 1, longestMs: 5, totalMs: 500 };

export function controlCall(): { signal: AbortSignal; patience: Patience } {
  const patience = new Patience({
    clock: systemClock,
    random: seededRandom(1),
    limits: { throttled: limit, transient: limit, split: limit },
  });
  return { signal: new AbortController().signal, patience };
}
