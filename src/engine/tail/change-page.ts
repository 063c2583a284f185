/** A page of the tail in flight: every change goes through the apply rule, all of them at once but for their locks. */
import { apply, type Change } from '../apply/apply.ts';
import type { RunContext } from '../context.ts';
import type { Claiming, UnitOfWork } from '../unit/unit-of-work.ts';

interface ChangePageParts {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly changes: readonly Change[];
}

/** INTENT for what can be known now, in one transaction; then every change is applied. */
export async function beginChanges({ context, unit, changes }: ChangePageParts): Promise<void> {
  unit.count('documentsRead', changes.length);
  unit.expect(changes.length);
  const claims = changes.flatMap((change) => claimsOf(context, change));
  if (claims.length > 0) await unit.begin(claims);
  for (const change of changes) unit.start(async () => apply({ context, unit, change }));
}

/** The slot where the document belongs, and the one where it is. The apply rule claims what it finds out later. */
function claimsOf({ pending }: RunContext, { identity, version, indexId }: Change): Claiming[] {
  const row = pending.rowOf(identity.hash, indexId);
  const isWritten = version !== null && version !== 'gone' && version.refusal === null;
  const slot = isWritten ? version.slot : null;
  const claims: Claiming[] = slot === null ? [] : [{ kind: 'write', identity, slot }];
  if (row === null || row.slot === null || row.targetKey === null || slot?.hash.equals(row.slot) === true)
    return claims;
  return [...claims, { kind: 'remove', identity, slot: { hash: row.slot, key: row.targetKey } }];
}
