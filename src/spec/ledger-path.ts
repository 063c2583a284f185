/** Where a migration keeps its memory unless told otherwise: a file name made of both containers, safe anywhere. */
import { createHash } from 'node:crypto';
import type { ContainerName } from './values.ts';

/** Both names and what is around them stay below the 255 bytes of a file name. */
const NAME_MAX = 80;

/** `.cosmig/shop.orders--shop.orders-by-tenant.db` */
export function defaultLedger(source: ContainerName, target: ContainerName): string {
  return `.cosmig/${safeName(source)}--${safeName(target)}.db`;
}

/** Names that had to be changed carry a hash of what they were, so that no two containers share a file. */
function safeName({ database, container }: ContainerName): string {
  const name = `${database}.${container}`;
  const isPlain = [database, container].every((part) => /^[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*$/.test(part));
  if (isPlain && name.length <= NAME_MAX) return name;
  const hash = createHash('sha256').update(`${database}/${container}`).digest('hex').slice(0, 12);
  return `${name.replaceAll(/[^A-Za-z0-9_.]+/g, '-').slice(0, NAME_MAX)}.${hash}`;
}
