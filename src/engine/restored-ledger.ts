/**
 * A ledger that was put back from an older copy. Its positions go back, which only repeats; but copies that were made
 * since are unknown to it, and deletes and moves of their documents would find nothing to take away. So a comparison
 * is due as after lost deletes; and what is older than the commit goes on with nothing.
 */
import { NotReadyError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Ledger } from '../state/ledger.ts';

/** Before a run begins. What is due is durable when it returns. */
export function meetOlder(
  ledger: Ledger,
  { nowMs, log }: { readonly nowMs: number; readonly log: Log },
): void {
  const missed = ledger.missed();
  if (missed === null) return;
  const { phase } = ledger.migration.read();
  if (missed.phase === 'committed' && phase !== 'committed') {
    throw new NotReadyError('this ledger is from before the migration was committed', {
      why: 'an older copy of it was put back; the target is in use, and nothing may be brought over any more',
      hint: 'put the newest copy of the ledger in its place',
    });
  }
  for (const { number, sweepPending } of ledger.leases.live())
    if (!sweepPending) ledger.leases.change(number, { sweepPending: true });
  ledger.journal.append({ event: 'ledger restored', missedRun: missed.run }, nowMs);
  log.warn(
    'this ledger is an older copy: documents that were copied since may stay where they do not belong',
    {
      now: 'run cosmig verify --repair when this run is over',
    },
  );
}
