/** The version of this cosmig, as its package.json has it. */
import { readFileSync } from 'node:fs';

export function readVersion(): string {
  // Two folders up from src/lib and from dist/lib.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}
