/**
 * The settings of a turn, made from those of the migration. Invariant: what the operator says about the source and the
 * target always means the containers of the first copy. Only this module swaps them.
 */
import type { Connections } from '../connection.ts';
import type { MigrationSpec } from '../migration-spec.ts';

export interface TurnSettings {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
}

/** Whether a turn moves data back to the container that was copied first. */
export function leadsBack(number: number): boolean {
  return number % 2 === 1;
}

/** Returns the path of the ledger of a turn, next to that of the first: `orders.db` becomes `orders.back-1.db`. */
export function turnPath(ledger: string, number = 0): string {
  if (number === 0) return ledger;
  const suffix = `.${leadsBack(number) ? 'back' : 'forth'}-${number}`;
  return ledger.endsWith('.db') ? `${ledger.slice(0, -'.db'.length)}${suffix}.db` : `${ledger}${suffix}`;
}

/** Returns the settings of a turn. A turn that leads back reads the target, and writes to the source. */
export function settingsOfTurn({ spec, connections }: TurnSettings, number = 0): TurnSettings {
  if (number === 0) return { spec, connections };
  const turned: MigrationSpec = {
    ...spec,
    // Both containers exist, so nothing is created.
    creation: { kind: 'none' },
    ledger: turnPath(spec.ledger, number),
    turn: { number, previous: turnPath(spec.ledger, number - 1) },
  };
  if (!leadsBack(number)) return { spec: Object.freeze(turned), connections };
  const { source, target, sourceBudget, targetBudget } = spec;
  return {
    spec: Object.freeze({
      ...turned,
      source: target,
      target: source,
      sourceBudget: targetBudget,
      targetBudget: sourceBudget,
    }),
    connections: { source: connections.target, target: connections.source },
  };
}
