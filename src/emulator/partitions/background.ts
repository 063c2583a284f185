/**
 * Does what the account does without a request: finishes splits and scaling, purges expired documents, drops old
 * changes.
 *
 * Invariant: a step purges at most PURGE_MAX documents, because requests wait until the step ends.
 */
import { sleep } from '../../lib/abort.ts';
import type { LocalAccount } from '../account/account.ts';
import { dropOldChanges } from './change-feed.ts';
import type { DocumentRow } from '../storage/document-store.ts';
import type { ContainerModel } from '../account/model.ts';
import { rangeOf } from './ranges.ts';
import { finishScaling, finishSplits, splitOutgrown } from './resizing.ts';
import { WriteTransaction } from '../documents/write-transaction.ts';

const TICK_MS = 100;
/** The most documents that one step purges. */
const PURGE_MAX = 1_000;
/**
 * How much longer than the replica lag a replaced version is kept. The time of its replacement is recorded shortly
 * before the transaction commits, but lagging readers count from the commit.
 */
const SUPERSEDED_MARGIN_MS = 1_000;

/** Repeats the background steps until the signal is aborted. */
export async function runBackground(account: LocalAccount, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    finishSplits(account);
    finishScaling(account);
    splitOutgrown(account);
    purgeExpired(account, account.nowTs() - account.settings.ttlPurgeDelayMs / 1000);
    dropOldChanges(account);
    account.documents.forgetSuperseded(
      account.machineMs() - account.settings.replicaLagMs - SUPERSEDED_MARGIN_MS,
    );
    try {
      await sleep(TICK_MS, signal);
    } catch {
      return; // a sleep ends early only when the account closes
    }
  }
}

/** Deletes documents that had expired at `upToTs`, as the service's own purge does. */
function purgeExpired(account: LocalAccount, upToTs: number): void {
  const rows = account.documents.expired(upToTs, PURGE_MAX);
  if (rows.length === 0) return;
  for (const container of account.containers()) {
    const expired = rows.filter((row) => row.container === container.number);
    if (expired.length > 0) purge(account, container, expired);
  }
}

/** Deletes all expired documents of one container and returns their number. */
export function purgeContainer(account: LocalAccount, container: ContainerModel): number {
  let purged = 0;
  for (;;) {
    const rows = account.documents.expiredOf(container.number, account.nowTs(), PURGE_MAX);
    if (rows.length === 0) return purged;
    purge(account, container, rows);
    purged += rows.length;
  }
}

function purge(account: LocalAccount, container: ContainerModel, rows: readonly DocumentRow[]): void {
  // The service deletes each expired document in its own transaction. One transaction for all of them is faster.
  WriteTransaction.run(account, container, (transaction) => {
    for (const row of rows) transaction.remove(rangeOf(container.ranges, row.epk), row, true);
  });
}
