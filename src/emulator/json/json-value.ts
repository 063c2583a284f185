/**
 * Parsed JSON of which nothing is known yet. Only own properties are read: to a client `__proto__` and `constructor` are
 * names like any other.
 */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property only: `__proto__` and `constructor` are data here. */
export function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The value at a path of own properties; arrays are not walked into. */
export function valueAtPath(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, step))
      return undefined;
    at = (at as JsonObject)[step];
  }
  return at;
}
