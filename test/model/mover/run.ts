/**
 * Owns the order of a run: anchors before the copy, settling before anything else, then every lease, the
 * letters that wait for another document.
 */
import { beginTurn, markTurn, restoreTtlAfter } from '../back/begin.ts';
import { restoreTtl } from '../back/cutover.ts';
import { watchClosedSide } from '../back/strangers.ts';
import { anchor } from './anchor.ts';
import { nameOf, runLease } from './lease.ts';
import { promote, retryWaiting } from './letters.ts';
import type { Process } from './process.ts';
import { settleAll } from './settle.ts';
import { STEP, type Steps } from './task.ts';

export function* run(process: Process): Steps {
  yield* settleAll(process);
  const { ledger, world } = process;
  yield* restoreTtl(process);
  if (world.before !== null) {
    yield* restoreTtlAfter(process, world.before);
    if (ledger.leases.length === 0) yield* beginTurn(process, world.before);
    markTurn(world.before);
    process.spawn('watch', watchClosedSide(process, world.before.closed));
  } else if (ledger.leases.length === 0) {
    const leases = yield* anchor(process);
    yield STEP;
    ledger.leases = leases;
    ledger.keepTokens(process.tokens);
  }
  for (const lease of ledger.leases) process.spawn(nameOf(lease), runLease(process, lease));
  process.spawn('promote', promote(process));
  retryWaiting(process);
}
