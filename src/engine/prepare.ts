/** Prepares a run: opens the ledger, after the checks of the preflight if the migration has not begun. */
import { must } from '../lib/assert.ts';
import { nothingCopied } from '../spec/refusals.ts';
import { Ledger, refuseMissingLedger } from '../state/ledger.ts';
import { orMissing } from '../preflight/begun.ts';
import { openLedger, type ContainerPair } from './assemble.ts';
import {
  reservationIn,
  reserveTarget,
  inspect,
  makeTarget,
  readBoth,
  refuseWarnings,
  type InspectParts,
} from '../preflight/inspect.ts';
import type { TurnSpec } from '../spec/migration-spec.ts';
import { refuseLiveLedger } from './map/other-ledger.ts';
import { openTurn } from './turn/begin-turn.ts';
import type { Goal } from './progress/snapshot.ts';
import { reservationOf } from './reservation-text.ts';

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
    const adopts = parts.adoptsTarget === true && inspection.target !== null;
    // What is found in the target has to be accepted as well. So both are accepted together, when it was counted.
    if (!adopts) refuseWarnings(inspection, spec);
    if (adopts && inspection.target !== null)
      refuseLiveLedger(await reservationIn(parts, inspection.target), {
        name: ledgerName,
        path: spec.ledger,
      });
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
      if (adopts) ledger.journal.beginAdoption(nowMs);
      else if (ledger.leases.live().length === 0)
        await reserveTarget(parts, { source, target }, reservationOf(ledger, spec));
    } catch (error) {
      ledger.close();
      throw error;
    }
    return { ledger, containers: { source, target, deletes } };
  }
  if (spec.turn !== undefined) return prepareTurn(spec.turn, parts, nowMs);
  // A missing ledger is reported first, because reading the containers may wait for an account that does not answer.
  if (goal !== 'copy') refuseMissingLedger(spec.ledger);
  const { source, target } = await readBoth({ ...parts, hasBegun });
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

/** Opens the ledger of a turn, which is made from that of the turn before. */
async function prepareTurn(turn: TurnSpec, parts: InspectParts, nowMs: number): Promise<Prepared> {
  const { source, target } = await readBoth({ ...parts, hasBegun: true });
  const there = orMissing(target, parts);
  const ledger = openTurn(parts.spec, turn, { source, target: there, nowMs });
  const deletes = must(ledger.migration.read().deletes, 'a turn begins with its mode');
  return { ledger, containers: { source, target: there, deletes } };
}
