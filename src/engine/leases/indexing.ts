/**
 * The index over what the copy has written, built when every range has caught up and before the tail begins, which
 * asks it for every document it meets. In small steps, with room for other work in between; a crash costs little.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Mover } from '../context.ts';

export async function buildIndexes({ ledger, point }: Mover, signal: AbortSignal): Promise<void> {
  const trees = new Set(ledger.leases.live().map(({ tree }) => tree));
  for (const tree of trees) {
    if (ledger.isIndexed(tree)) continue;
    const build = ledger.buildIndex(tree);
    while (build.step()) {
      point('index-step');
      await nextTurn();
      signal.throwIfAborted();
    }
  }
}
