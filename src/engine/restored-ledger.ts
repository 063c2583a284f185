/**
 * Detects a ledger that was restored from an older copy, or that has lost its write-ahead log. Its older positions only cause repetition. But it does not know
 * the documents that were copied later. If such a document is deleted or moves, the run finds no slot to empty. So a
 * comparison of both sides is due, as after lost deletes. A ledger from before the commit of the migration is refused.
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
      hint: 'restore the newest copy of the ledger',
    });
  }
  for (const { number, sweepPending } of ledger.leases.live())
    if (!sweepPending) ledger.leases.change(number, { sweepPending: true });
  // Runs that are missing here may have sent requests a moment ago.
  ledger.runs.noteRequest('unknown');
  ledger.journal.append({ event: 'ledger restored', missedRun: missed.run }, nowMs);
  log.warn(
    'this ledger is an older copy, or its -wal file was lost: documents copied since then may stay in slots where they do not belong',
    {
      now: 'run cosmig verify --repair when this run has ended',
    },
  );
}
