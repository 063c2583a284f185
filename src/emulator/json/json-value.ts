/**
 * Reads parsed JSON whose form is not known yet.
 *
 * Invariant: only own properties are read, because `__proto__` and `constructor` are ordinary names in a client's
 * data.
 */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an object's own property of that name; undefined if it has none or is not an object. */
export function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Returns the value at a path of own properties. A path does not lead into arrays. */
export function valueAtPath(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const step of path) at = own(at, step);
  return at;
}

/** Returns the value of a JSON text; undefined when the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
