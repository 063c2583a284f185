/** The name of a migration in every output: `shop/orders -> shop/orders-by-tenant`. */
import type { ContainerName } from './input/values.ts';

/**
 * Source and target of a migration: container names from a spec, or texts (DB/CONTAINER) from the pinned fields of a
 * ledger.
 */
export interface Ends {
  readonly source: ContainerName | string;
  readonly target: ContainerName | string;
}

export function migrationName({ source, target }: Ends): string {
  return `${containerText(source)} -> ${containerText(target)}`;
}

/** Returns a container name as text: `DB/CONTAINER`. */
export function containerText(end: ContainerName | string): string {
  return typeof end === 'string' ? end : `${end.database}/${end.container}`;
}
