/**
 * A page of the tail in flight. All its changes go through the apply rule at the same time, and each waits only for its
 * locks.
 */
import { apply, type Change } from '../apply/apply.ts';
import type { RunContext } from '../context.ts';
import type { Claiming, UnitOfWork } from '../unit/unit-of-work.ts';

interface ChangePageParts {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly changes: readonly Change[];
  /** How many of the changed documents have an integer beyond 2^53. */
  readonly longIntegers: number;
}

/** Makes the INTENT durable for all slots that are known now, then starts to apply every change. */
export async function beginChanges({ context, unit, changes, longIntegers }: ChangePageParts): Promise<void> {
  unit.count('documentsRead', changes.length);
  unit.count('longIntegers', longIntegers);
  unit.expect(changes.length);
  const claims = changes.flatMap((change) => claimsOf(context, change));
  if (claims.length > 0) await unit.begin(claims);
  for (const change of changes) unit.start(async () => apply({ context, unit, change }));
}

/**
 * Returns the claims of a change: the slot where its document belongs, and the slot where the document is now,
 * according to the ledger. If the apply rule finds another slot later, it claims that slot itself.
 */
function claimsOf({ pending }: RunContext, { identity, version, indexId }: Change): Claiming[] {
  const row = pending.rowOf(identity.hash, indexId);
  const isWritten = version !== null && version !== 'gone' && version.refusal === null;
  const slot = isWritten ? version.slot : null;
  const claims: Claiming[] = slot === null ? [] : [{ kind: 'write', identity, slot }];
  if (row === null || row.slot === null || row.targetKey === null || slot?.hash.equals(row.slot) === true)
    return claims;
  return [...claims, { kind: 'remove', identity, slot: { hash: row.slot, key: row.targetKey } }];
}
