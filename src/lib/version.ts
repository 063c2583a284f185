/** Reads the version of this cosmig from its package.json. */
import { readFileSync } from 'node:fs';

export function readVersion(): string {
  // package.json is two folders above both src/lib and dist/lib.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}
