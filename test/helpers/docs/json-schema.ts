/**
 * Validates a value against the part of JSON Schema that src/report/json/schema.ts writes. Stricter than the standard
 * in one point: a member that the schema does not name is a fault, so that no output is left undocumented.
 */

type Json = Readonly<Record<string, unknown>>;

/** Every place where the value does not fit; empty when it does. */
export function faultsOf(schema: unknown, value: unknown, at = '$'): string[] {
  const { const: fixed, enum: values, type, anyOf: variants, format } = schema as Json;
  if (variants !== undefined) {
    const all = (variants as readonly unknown[]).map((variant) => faultsOf(variant, value, at));
    return all.some((faults) => faults.length === 0)
      ? []
      : (all.toSorted((one, other) => one.length - other.length)[0] ?? []);
  }
  if ('const' in (schema as Json) && fixed !== value) return [`${at} is not ${JSON.stringify(fixed)}`];
  if (values !== undefined && !(values as readonly unknown[]).includes(value))
    return [`${at} is ${JSON.stringify(value)}, not one of ${(values as readonly unknown[]).join(', ')}`];
  const types = type === undefined ? undefined : ([type].flat() as unknown[]).map(String);
  if (types !== undefined && !types.includes(typeOf(value)) && !fitsNumber(types, value))
    return [`${at} is ${typeOf(value)}, not ${types.join(' or ')}`];
  if (format === 'date-time' && typeof value === 'string' && new Date(value).toISOString() !== value)
    return [`${at} is not a time in ISO 8601`];
  if (Array.isArray(value)) {
    const { items } = schema as Json;
    if (items === undefined) return [];
    return value.flatMap((item, index) => faultsOf(items, item, `${at}[${index}]`));
  }
  return typeof value === 'object' && value !== null && types?.includes('object') === true
    ? faultsOfObject(schema as Json, value as Json, at)
    : [];
}

function faultsOfObject(schema: Json, value: Json, at: string): string[] {
  const { properties = {}, required = [], additionalProperties } = schema;
  const known = properties as Json;
  const missing = (required as readonly string[]).filter((name) => value[name] === undefined);
  const members = Object.entries(value).flatMap(([name, member]) => {
    const own = known[name] ?? additionalProperties;
    return own === undefined ? [`${at}.${name} is not documented`] : faultsOf(own, member, `${at}.${name}`);
  });
  return [...missing.map((name) => `${at}.${name} is missing`), ...members];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function fitsNumber(types: readonly unknown[], value: unknown): boolean {
  return types.includes('number') && typeof value === 'number';
}
