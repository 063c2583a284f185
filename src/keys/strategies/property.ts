/**
 * The strategies for a value that the document already has, at one top-level or nested path: used as a key (`asIs`), or
 * written at another path (`existing`). Invariant: the value keeps its type.
 */
import { printPath } from '../path.ts';
import { composite, type Derived, type Path, type Strategy, type Value } from './strategy.ts';
import { show } from '../show.ts';

/** Returns the strategy that gives the unchanged value at `path`. An object or an array there cannot be used. */
export function existing(path: Path): Strategy {
  return {
    paths: [path],
    template: [{ path, filters: [] }],
    derive: ([value]) => asKey(path, value),
    explain: ([value]) => [`${printPath(path)} is ${show(value)}`],
  };
}

/**
 * Returns the strategy of a key path that the document has already. An object or an array there counts as missing, as
 * for the service (fact SVC-3), which reads the same property.
 */
export function asIs(path: Path): Strategy {
  return {
    paths: [path],
    derive: ([value]) =>
      value === composite ? { kind: 'missing', path, composite: true } : asKey(path, value),
    explain: ([value]) => [
      `${printPath(path)} is ${show(value)}${value === composite ? ', which counts as missing' : ''}`,
    ],
  };
}

function asKey(path: Path, value: Value): Derived {
  if (value === undefined) return { kind: 'missing', path };
  const why = whyUnfit(value);
  return why === undefined
    ? { kind: 'value', value: value as Exclude<Value, typeof composite> }
    : { kind: 'invalid', path, why };
}

/** Returns why an existing value can be neither a key nor a part of a key; undefined if it can. */
export function whyUnfit(value: Value): string | undefined {
  if (value === composite) return 'a key is a text, a number, a boolean or null';
  // 1e400 is valid JSON, but exceeds a double, and a key is sent as a double.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'the number is beyond what a key can hold';
  return undefined;
}
