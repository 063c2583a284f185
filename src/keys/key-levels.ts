/** Makes a key of one to three levels. Decides what a level without a value means, and checks the length of the key. */
import type { KeyComponent } from '../epk/effective-key.ts';
import { printPath } from './path.ts';
import type { Derived, Path } from './strategies/strategy.ts';

/** The most levels that a key of Cosmos DB has. */
export const LEVELS_MAX = 3;

/** One level: its path in the target, and the value that was found or derived for it. */
export interface KeyLevel {
  readonly path: Path;
  readonly derived: Derived;
}

/** The values of all levels, or the reason why the document has no key. */
export type Levels =
  | { readonly kind: 'key'; readonly values: readonly KeyComponent[]; readonly missing: boolean }
  | KeyRefusal;

export interface KeyRefusal {
  readonly kind: 'refused';
  readonly reason: 'missing-key' | 'invalid-key' | 'key-too-long';
  readonly why: string;
}

/** Returns the key of these levels. If `mayMiss`, a level without a value gets the key value undefined. */
export function keyOfLevels(levels: readonly KeyLevel[], mayMiss: boolean, keyBytesMax: number): Levels {
  const values: KeyComponent[] = [];
  let missing = false;
  let sizeBytes = 0;
  for (const { path, derived } of levels) {
    if (derived.kind === 'value') {
      values.push(derived.value);
      if (typeof derived.value === 'string') sizeBytes += Buffer.byteLength(derived.value);
      continue;
    }
    const refusal = refusalOf(path, derived, mayMiss);
    if (refusal !== undefined) return refusal;
    values.push(undefined);
    missing = true;
  }
  if (sizeBytes <= keyBytesMax) return { kind: 'key', values, missing };
  const why = `the key has ${sizeBytes} bytes, and the target takes ${keyBytesMax}`;
  return { kind: 'refused', reason: 'key-too-long', why };
}

/** Returns the reason why a document without this value has no key; undefined if the value may be missing. */
export function refusalOf(
  path: Path,
  derived: Exclude<Derived, { readonly kind: 'value' }>,
  mayMiss: boolean,
): KeyRefusal | undefined {
  const from = printPath(derived.path);
  const to = printPath(path);
  if (derived.kind === 'invalid') {
    const what = from === to ? `${from} cannot be a key` : `${from} cannot serve for ${to}`;
    return { kind: 'refused', reason: 'invalid-key', why: `${what}: ${derived.why}` };
  }
  if (mayMiss) return undefined;
  const what = `${from} ${derived.composite === true ? 'holds an object or an array, which counts as missing' : 'is missing'}`;
  const why = from === to ? what : `${what}, which ${to} is made of`;
  return { kind: 'refused', reason: 'missing-key', why };
}
