/** A key that is already in the document: the value at one path, top-level or nested. Its type survives. */
import { printPath } from '../path.ts';
import { composite, type Derived, type Path, type Strategy, type Value } from './strategy.ts';
import { show } from '../show.ts';

/** The value at `path` as it is. */
export function existing(path: Path): Strategy {
  return {
    paths: [path],
    derive: ([value]) => asKey(path, value),
    explain: ([value]) => [`${printPath(path)} is ${show(value)}`],
  };
}

function asKey(path: Path, value: Value): Derived {
  if (value === undefined) return { kind: 'missing', path };
  const why = whyUnfit(value);
  return why === undefined
    ? { kind: 'value', value: value as Exclude<Value, typeof composite> }
    : { kind: 'invalid', path, why };
}

/** Why a value that is there can be neither a key nor a part of one. */
export function whyUnfit(value: Value): string | undefined {
  if (value === composite) return 'a key is a text, a number, a boolean or null';
  // 1e400 is JSON, but no double, and a key travels as one.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'the number is beyond what a key can hold';
  return undefined;
}
