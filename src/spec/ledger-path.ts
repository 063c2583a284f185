/** The default path of a ledger: a file name made of both container names, valid on every file system. */
import { createHash } from 'node:crypto';
import type { ContainerName } from './input/values.ts';

/**
 * The maximum length of one container name in the file name. With this limit, two names, their hashes and the
 * separators stay below 255 bytes, the limit of file systems.
 */
const NAME_MAX = 80;

/**
 * Returns the default path: `.cosmig/shop.orders--shop.orders-by-tenant.db`, or `.cosmig/shop.orders.db` before there
 * is a target.
 */
export function defaultLedger(source: ContainerName, target?: ContainerName): string {
  return `.cosmig/${safeName(source)}${target === undefined ? '' : `--${safeName(target)}`}.db`;
}

/**
 * Returns a container name that is valid in a file name. A name that had to be changed gets a hash of the original
 * name, so that two containers never share a file.
 */
function safeName({ database, container }: ContainerName): string {
  const name = `${database}.${container}`;
  const isPlain = [database, container].every((part) => /^[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*$/.test(part));
  if (isPlain && name.length <= NAME_MAX) return name;
  const hash = createHash('sha256').update(`${database}/${container}`).digest('hex').slice(0, 12);
  return `${name.replaceAll(/[^A-Za-z0-9_.]+/g, '-').slice(0, NAME_MAX)}.${hash}`;
}
