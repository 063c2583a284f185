/**
 * Detects a ledger that was restored from an older copy, or that has lost its write-ahead log. Older positions only
 * cause repetition. But such a ledger does not know the documents that were copied after it was saved. If one of them
 * is deleted or moves, the run does not know which slot to empty, and the copy stays there. So a comparison of both
 * sides is due, as after lost deletes. If the migration has been committed since the ledger was saved, the ledger is
 * refused.
 */
import { NotReadyError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Ledger } from '../state/ledger.ts';

/** Checks the ledger before a run begins. If it was restored, notes durably that a comparison is due. */
export function checkRestored(
  ledger: Ledger,
  { nowMs, log }: { readonly nowMs: number; readonly log: Log },
): void {
  const missed = ledger.missed();
  if (missed === null) return;
  const { phase } = ledger.migration.read();
  if (missed.phase === 'committed' && phase !== 'committed') {
    throw new NotReadyError('this ledger is from before the migration was committed', {
      why: 'an older copy of it was restored; the target is in use, and nothing may be replicated to it',
      hint: 'restore the newest copy of the ledger; only if the application uses the source again, begin a new ledger: another --ledger, and --adopt-target',
    });
  }
  for (const { number, sweepPending } of ledger.leases.live())
    if (!sweepPending) ledger.leases.change(number, { sweepPending: true });
  // Runs that this ledger does not know may have sent requests a moment ago.
  ledger.runs.noteRequest('unknown');
  ledger.journal.append({ event: 'ledger restored', missedRun: missed.run }, nowMs);
  log.warn(
    'this ledger is an older copy, or its -wal file was lost: documents copied since then may stay in slots where they do not belong',
    {
      now: 'run cosmig verify --repair when this run has ended',
    },
  );
}
