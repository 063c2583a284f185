/**
 * Compares both sides until they are equal, and repairs differences in between. Invariant: if a repaired document
 * differs again, the cutover does not continue.
 */
import { ChildSignal } from '../../lib/abort.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { group } from '../../lib/group.ts';
import type { RunContext } from '../context.ts';
import type { Attempt } from './attempt.ts';
import { keepCatchingUp } from './catch-up.ts';
import type { CompareScope, ComparisonResult } from './contract.ts';
import { repairEach } from '../letters/repair.ts';
import { hasTargetMoved } from './target-ends.ts';

/**
 * Returns whether both sides were shown to be equal. After a comparison of all documents, only those that differed
 * are compared again. That is enough, because the writers are stopped. And where documents expire, it is necessary:
 * each new comparison of all documents would find some that have just expired, and would not end equal.
 */
export async function prove(attempt: Attempt, reading: AbortSignal): Promise<boolean> {
  attempt.repaired.clear();
  attempt.basis = null;
  attempt.isTargetWritten = false;
  const scope = reasonToCompareAll(attempt.context) === null ? 'changes' : 'all';
  return untilEqual(attempt, scope, reading);
}

/**
 * Compares again what was written in the target since both sides were found equal. Such a write comes from another
 * process or from a repair. Returns whether both sides are still equal.
 */
export async function proveTargetUnchanged(attempt: Attempt, reading: AbortSignal): Promise<boolean> {
  const { context, options } = attempt;
  const expires = context.expires || context.targetSide.facts.defaultTtl !== null;
  let repairs = 0;
  while (attempt.targetUpTo !== null && (await hasTargetMoved(context, attempt.targetUpTo, reading))) {
    const hasRepaired = attempt.repaired.size > repairs;
    repairs = attempt.repaired.size;
    options.say(
      hasRepaired
        ? 'comparing what was written in the target since it was compared, with the repairs'
        : 'the target has changed since it was compared; comparing what was written',
    );
    attempt.isTargetWritten = true;
    if (!(await untilEqual(attempt, expires ? 'writes' : 'changes', reading))) return false;
    // Where documents expire, the target changes by itself, so its LSNs may never stand still.
    if (expires) break;
  }
  attempt.isTargetWritten = false;
  return true;
}

async function untilEqual(attempt: Attempt, first: CompareScope, reading: AbortSignal): Promise<boolean> {
  const { context, repaired } = attempt;
  let scope = first;
  for (;;) {
    attempt.begin('comparing');
    const found = await compareWhileTailing(attempt, scope, reading);
    const { equal, suspects, areExtra, isWhole, why } = found;
    attempt.unproven = equal === true ? null : why;
    attempt.targetUpTo = found.targetUpTo ?? null;
    // The commit is based on the first comparison that found both sides equal, unless a later one compares all
    // documents. The others look only at what was written since.
    if (attempt.basis === null || isWhole === true) attempt.basis = found.basis ?? null;
    if (equal !== false) return equal === true;
    const names = suspects.map(({ name }) => JSON.stringify(name));
    if (names.length === 0 || names.some((name) => repaired.has(name))) throw notEqual(why);
    attempt.noteRepairs(suspects);
    attempt.begin('repairing');
    await repairEach(context, suspects, reading);
    reading.throwIfAborted();
    const hasOnlyExpired = context.expires && areExtra === true;
    if (scope === 'all' || isWhole === true) scope = 'what differed';
    else if (scope === 'changes' && hasOnlyExpired && repaired.size > 0) scope = 'all';
    for (const name of names) repaired.add(name);
  }
}

/**
 * Returns why all documents have to be compared while the writers are stopped; null if the changed ones suffice.
 * Deletes that no feed reports change the number of documents, and the ledger knows how many each side must have. But
 * it does not know this number if documents expire and no feed reports their deletes.
 */
export function reasonToCompareAll({ ledger, deletes, expires }: RunContext): ReasonToCompareAll | null {
  if (ledger.leases.live().some(({ sweepPending }) => sweepPending)) {
    return {
      why: 'some deletes or renames in the source were not reported',
      advice: 'to avoid this, run cosmig verify --repair first',
    };
  }
  // This includes `marker`: a document that expires disappears without a mark, so no feed reports it.
  return deletes !== 'avad' && expires
    ? { why: 'documents expire, and deletes are not reported', advice: null }
    : null;
}

export interface ReasonToCompareAll {
  readonly why: string;
  /** How the operator can avoid that all documents are compared; null: there is no way. */
  readonly advice: string | null;
}

/**
 * Compares while the tail runs: documents expire even without writers, and the tail replicates those deletes if the
 * feed shows them.
 */
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
