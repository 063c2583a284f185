/** Advises on a key under which documents that share an id no longer collide: one that contains the key of the source. */
import { isSamePath, parsePath } from '../keys/path.ts';
import { parseDerivation } from '../keys/strategies/parse.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';

/** A property of the document itself, which a template names without a slash. */
const PLAIN_PATH = /^\/[A-Za-z_]\w*$/;

/** What the operator has to remove so that the derived property is the key. */
const WITHOUT_KEY = 'remove --partition-key (partitionKey in a config file)';

/** Returns what to do about collisions. Followed literally, it never leads to the same advice again. */
export function finerKeyHint(
  { derive, partitionKey }: Pick<MigrationSpec, 'derive' | 'partitionKey'>,
  sourcePaths: readonly string[],
): string {
  const old = sourcePaths.map(placeholder).join('-');
  const within = derive.find((text) => hasAll(text, sourcePaths));
  if (within !== undefined) {
    const path = within.slice(0, within.indexOf('='));
    return isKey(within, partitionKey)
      ? `choose a finer key: ${path} has the old one in it already, so put another separator between its values, or add a property to --derive in which these documents differ`
      : `choose a finer key: ${path} has the old one in it, but it is not the key; ${WITHOUT_KEY}, or give --partition-key ${path} in its place`;
  }
  const finer = 'choose a finer key, for instance with the old one in front';
  const derived = derive.find((text) => isKey(text, partitionKey));
  if (derived !== undefined) {
    const at = derived.indexOf('=') + 1;
    const text = `${derived.slice(0, at)}${old}-${derived.slice(at)}`;
    return `${finer}: --derive '${text}' in place of --derive '${derived}'`;
  }
  const taken = [...sourcePaths, ...derive.map((text) => text.slice(0, text.indexOf('=')))];
  const path = taken.includes('/pk') ? '/newPk' : '/pk';
  const text = `${path}=${old}-${partitionKey.map(placeholder).join('-')}`;
  return derive.length === 0
    ? `${finer}: add --derive '${text}', and ${WITHOUT_KEY}`
    : `${finer}: add --derive '${text}', and give --partition-key ${path} in place of the present one`;
}

function placeholder(path: string): string {
  return PLAIN_PATH.test(path) ? `{${path.slice(1)}}` : `{${path}}`;
}

/** Whether a derivation contains each of these properties with its whole value. */
function hasAll(derivation: string, paths: readonly string[]): boolean {
  return paths.every((path) => derivation.includes(placeholder(path)) || derivation.includes(`{${path}}`));
}

function isKey(derivation: string, partitionKey: readonly string[]): boolean {
  const { path } = parseDerivation(derivation);
  return partitionKey.some((text) => isSamePath(parsePath(text), path));
}
