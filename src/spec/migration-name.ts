/** What a migration is called wherever people and scripts read of it: `shop/orders -> shop/orders-by-tenant`. */
import type { ContainerName } from './values.ts';

/** Both ends, taken from a spec or, as DB/CONTAINER, from what a ledger has pinned. */
export interface Ends {
  readonly source: ContainerName | string;
  readonly target: ContainerName | string;
}

export function migrationName({ source, target }: Ends): string {
  return `${nameOf(source)} -> ${nameOf(target)}`;
}

function nameOf(end: ContainerName | string): string {
  return typeof end === 'string' ? end : `${end.database}/${end.container}`;
}
