/** A page of the tail under way: every change goes through the apply rule, all at once but for their locks. */
import { apply, type Change } from '../apply/apply.ts';
import type { Changes } from './change-reader.ts';
import type { RunContext } from '../context.ts';
import { PageWork } from '../unit/page-work.ts';
import type { Claiming, UnitOfWork } from '../unit/unit-of-work.ts';

interface ChangePageParts {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly changes: Changes;
}

export class ChangePage extends PageWork {
  readonly #parts: ChangePageParts;

  constructor(parts: ChangePageParts) {
    super(parts.context, parts.unit);
    this.#parts = parts;
  }

  /** INTENT for what can be known now, with one sync, and then every change on its way. */
  override async begin(): Promise<void> {
    const { context, unit, changes } = this.#parts;
    unit.count('documentsRead', changes.changes.length);
    this.expect(changes.changes.length);
    const claims = changes.changes.flatMap((change) => this.#claimsOf(change));
    if (claims.length > 0) await unit.begin(claims);
    for (const change of changes.changes) this.start(async () => apply({ context, unit, change }));
  }

  /** Where it goes, and where it may be now; what turns out later is claimed then. */
  #claimsOf({ identity, version, indexId }: Change): Claiming[] {
    const row = this.#parts.context.pending.rowOf(identity.hash, indexId);
    const slot = version === null || version.refusal !== null ? null : version.slot;
    const claims: Claiming[] = slot === null ? [] : [{ kind: 'write', identity, slot }];
    if (row === null || row.slot === null || row.targetKey === null || slot?.hash.equals(row.slot) === true)
      return claims;
    return [...claims, { kind: 'remove', identity, slot: { hash: row.slot, key: row.targetKey } }];
  }
}
