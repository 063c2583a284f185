/** The containers of a migration that has begun: they must be those with which it began. Invariant: nothing is changed. */
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { containerMissing } from '../spec/refusals.ts';
import { Ledger } from '../state/ledger.ts';

/** Throws if the containers are not those with which the migration of this ledger has begun. Changes nothing. */
export function checkBegun(
  spec: MigrationSpec,
  { source, target }: { readonly source: ContainerFacts; readonly target: ContainerFacts | null },
): void {
  const there = orMissing(target, { spec });
  using ledger = Ledger.openReadonly(spec.ledger);
  // They were pinned when it began, so this only compares.
  ledger.migration.pinContainers({
    sourceRid: source.rid,
    targetRid: there.rid,
    sourceTtl: source.defaultTtl,
  });
}

/** Returns the target of a migration that has begun; throws if it is gone. */
export function orMissing(
  target: ContainerFacts | null,
  { spec }: { readonly spec: MigrationSpec },
): ContainerFacts {
  if (target !== null) return target;
  const { database, container } = spec.target;
  throw containerMissing(`target container ${database}/${container}`, {
    why: 'it was there when the migration began; if it was deleted, what the ledger knows of it is void',
    hint: 'begin a new migration with --ledger FILE (a new file) and an empty target',
  });
}
