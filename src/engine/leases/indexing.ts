/**
 * The index over what the copy has written, built when every range has caught up and before the tail begins, which
 * asks it for every document it meets. In small steps, with room for other work in between; a crash costs little.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunContext } from '../context.ts';

export async function buildIndexes({ ledger, point }: RunContext, signal: AbortSignal): Promise<void> {
  const indexIds = new Set(ledger.leases.live().map(({ indexId }) => indexId));
  for (const indexId of indexIds) {
    if (ledger.isIndexed(indexId)) continue;
    const build = ledger.buildIndex(indexId);
    while (build.step()) {
      point('index-step');
      await nextTurn();
      signal.throwIfAborted();
    }
  }
}
