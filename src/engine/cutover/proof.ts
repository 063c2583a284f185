/**
 * Compares both sides until they are equal, and repairs differences in between. Invariant: a document that was repaired
 * and differs again is never passed over.
 */
import { ChildSignal } from '../../lib/abort.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { group } from '../../lib/group.ts';
import type { RunContext } from '../context.ts';
import type { Attempt } from './attempt.ts';
import { keepCatchingUp } from './catch-up.ts';
import type { CompareScope, ComparisonResult } from './contract.ts';
import { repairEach } from '../letters/repair.ts';

/**
 * Whether both sides are equal; false: it could not be proven. Once everything was compared, only documents that differed
 * are compared again: there are no writers, and where documents expire a comparison of everything would find newly expired
 * ones each time.
 */
export async function prove(attempt: Attempt, reading: AbortSignal): Promise<boolean> {
  const { context, options } = attempt;
  const repaired = new Set<string>();
  let scope: CompareScope = reasonToCompareAll(context) === null ? 'changes' : 'all';
  for (;;) {
    attempt.begin('comparing');
    const { equal, suspects, areExtra, isWhole, why } = await compareWhileTailing(attempt, scope, reading);
    attempt.unproven = equal === true ? null : why;
    if (equal !== false) return equal === true;
    const names = suspects.map(({ name }) => JSON.stringify(name));
    if (names.length === 0 || names.some((name) => repaired.has(name))) throw notEqual(why);
    options.say(
      names.length === 1
        ? 'repairing 1 document that differs'
        : `repairing ${names.length} documents that differ`,
    );
    attempt.begin('repairing');
    await repairEach(context, suspects, reading);
    reading.throwIfAborted();
    const hasOnlyExpired = context.expires && areExtra === true;
    if (scope !== 'changes' || isWhole === true) scope = 'what differed';
    else if (hasOnlyExpired && repaired.size > 0) scope = 'all';
    for (const name of names) repaired.add(name);
  }
}

/**
 * Why all documents have to be compared with writers stopped, and not only those that changed; null: changes suffice.
 * Deletes that no feed reports show in the counts of both sides, unless another document is missing in the target.
 */
export function reasonToCompareAll({ ledger, deletes, expires }: RunContext): string | null {
  if (ledger.leases.live().some(({ sweepPending }) => sweepPending)) {
    return (
      'some deletes in the source were not reported: all documents will be compared with writers stopped; ' +
      'to avoid this, run cosmig verify --repair first'
    );
  }
  // An application that marks its deletes may also delete without a mark.
  return deletes !== 'avad' && expires
    ? 'documents expire, and deletes are not reported: all documents will be compared with writers stopped'
    : null;
}

/** Without writers documents still expire; the tail replicates those deletes that a feed reports. */
async function compareWhileTailing(
  { leases, options }: Attempt,
  scope: CompareScope,
  reading: AbortSignal,
): Promise<ComparisonResult> {
  return group(reading, async (members) => {
    using over = new ChildSignal(members.signal);
    members.start(async () => keepCatchingUp({ ...leases, reading: over.signal }));
    try {
      return await options.prove(members.signal, scope);
    } finally {
      over.abort(new Error('both sides were compared'));
    }
  });
}

function notEqual(why: string): NotReadyError {
  return new NotReadyError('source and target are not equal', {
    why: `${why}; the source stays in use`,
    hint: 'run cosmig verify, which lists the documents, and cosmig verify --repair',
  });
}
