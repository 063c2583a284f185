/** Prepares a run: opens the ledger, after the checks of the preflight if the migration has not begun. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { must } from '../lib/assert.ts';
import { containerMissing, nothingCopied } from '../spec/refusals.ts';
import { Ledger, refuseMissingLedger } from '../state/ledger.ts';
import { openLedger, type ContainerPair } from './assemble.ts';
import type { ReservationText } from '../preflight/reservation.ts';
import {
  reserveTarget,
  inspect,
  makeTarget,
  readBoth,
  refuseWarnings,
  type InspectParts,
} from '../preflight/inspect.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { Goal } from './progress/snapshot.ts';

export interface Prepared {
  readonly ledger: Ledger;
  readonly containers: ContainerPair;
}

/**
 * Inspects both containers and opens the ledger. Only a copy begins a migration, and creates the target if requested.
 * Nothing is written before the preflight has passed.
 */
export async function prepare(
  goal: Goal,
  parts: InspectParts & { readonly say: (text: string) => void },
): Promise<Prepared> {
  const { spec, clock, say } = parts;
  const nowMs = clock.now();
  const { hasBegun, ledgerName } = Ledger.peek(spec.ledger);
  if (goal === 'copy' && !hasBegun) {
    const inspection = await inspect({ ...parts, ledgerName });
    refuseWarnings(inspection, spec);
    for (const { message, why } of inspection.warnings) say(`warning: ${message}; ${why}`);
    for (const note of inspection.notes) say(note);
    const { source, deletes } = inspection;
    const target =
      inspection.target === null || spec.creation.kind !== 'none'
        ? await makeTarget(parts, inspection)
        : inspection.target;
    const ledger = openLedger(spec, { source, target, deletes }, { nowMs, create: 'if-missing' });
    try {
      // Another process may have begun the migration during the inspection, and ended.
      if (ledger.leases.live().length === 0)
        await reserveTarget(parts, { source, target }, reservationOf(ledger, spec));
    } catch (error) {
      ledger.close();
      throw error;
    }
    return { ledger, containers: { source, target, deletes } };
  }
  // A missing ledger is reported first, because reading the containers may wait for an account that does not answer.
  if (goal !== 'copy') refuseMissingLedger(spec.ledger);
  const { source, target } = await readBoth(parts);
  const there = orMissing(target, parts);
  const ledger = openLedger(spec, { source, target: there, deletes: null }, { nowMs, create: 'never' });
  const { deletes } = ledger.migration.read();
  if (ledger.leases.live().length === 0) {
    ledger.close();
    throw nothingCopied(`the ledger ${spec.ledger} was created, and the copy has not begun`);
  }
  return {
    ledger,
    containers: { source, target: there, deletes: must(deletes, 'a migration that has begun has its mode') },
  };
}

/** Returns the content of the reservation, the document that marks the target as taken by this ledger. */
function reservationOf({ migration }: Ledger, { ledger: path, source }: MigrationSpec): ReservationText {
  const { ledgerName, createdAtMs } = migration.read();
  return {
    ledger: ledgerName,
    path: `${resolve(path)} on ${hostname()}`,
    source: `${source.endpoint} ${source.database}/${source.container}`,
    began: new Date(createdAtMs).toISOString(),
  };
}

function orMissing(target: ContainerFacts | null, { spec }: InspectParts): ContainerFacts {
  if (target !== null) return target;
  const { database, container } = spec.target;
  throw containerMissing(`target container ${database}/${container}`, {
    why: 'it was there when the migration began; if it was deleted, what the ledger knows of it is void',
    hint: 'begin a new migration with --ledger and an empty target',
  });
}
