/** How the values of keys are shown. */
import { createHash } from 'node:crypto';
import type { KeyComponent } from '../epk/effective-key.ts';

/** How values are shown: as they are, or as stable hashes, since they may be personal data. */
export function showOf(hashes: boolean): {
  readonly name: string;
  readonly text: (values: readonly KeyComponent[]) => string;
} {
  const plain = (values: readonly KeyComponent[]): string =>
    values.length === 1 ? textOf(values[0]) : values.map(textOf).join(' / ');
  if (!hashes) return { name: 'plain', text: plain };
  return {
    name: 'hashed',
    text: (values) => `#${createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 12)}`,
  };
}

function textOf(value: KeyComponent): string {
  return typeof value === 'string' && value !== ''
    ? value
    : value === undefined
      ? '(no value)'
      : JSON.stringify(value);
}
