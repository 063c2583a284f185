/**
 * Parsed JSON about which nothing is known yet.
 *
 * Invariant: only own properties are read, because `__proto__` and `constructor` are ordinary names in a client's data.
 */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own property of that name; undefined without one, and for anything but an object. */
export function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The value at a path of own properties; arrays are not entered. */
export function valueAtPath(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const step of path) at = own(at, step);
  return at;
}

/** The parsed text; undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
