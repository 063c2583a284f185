/**
 * Builders for the schemas of JSON output. Each schema is a JSON Schema (2020-12) and a TypeScript type at once, so
 * that code, reference and schema files cannot differ. Invariant: a schema never forbids additional members, since
 * later versions may add some.
 */

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Schema<T> {
  readonly json: JsonSchema;
  /** Never set. It only carries the TypeScript type. */
  readonly type?: T;
}

/** The schema of a member that may be absent. */
export interface OptionalSchema<T> extends Schema<T> {
  readonly isOptional: true;
}

/** The TypeScript type that a schema describes. */
export type TypeOf<S> = S extends Schema<infer T> ? T : never;

type Members = Readonly<Record<string, Schema<unknown>>>;
type OptionalNames<M> = { [K in keyof M]: M[K] extends OptionalSchema<unknown> ? K : never }[keyof M];
export type ObjectOf<M extends Members> = {
  readonly [K in Exclude<keyof M, OptionalNames<M>>]: TypeOf<M[K]>;
} & { readonly [K in OptionalNames<M>]?: TypeOf<M[K]> };

function described(json: JsonSchema, description: string | undefined): JsonSchema {
  return description === undefined ? json : { ...json, description };
}

/** Returns a function that makes the schema of a simple value, with a description of what the value means. */
function simple<T>(json: JsonSchema) {
  return (description?: string): Schema<T> => ({ json: described(json, description) });
}

export const text = simple<string>({ type: 'string' });
/** A time: ISO 8601, UTC. */
export const time = simple<string>({ type: 'string', format: 'date-time' });
export const number = simple<number>({ type: 'number' });
/** A count: a whole number from 0. */
export const whole = simple<number>({ type: 'integer', minimum: 0 });
export const flag = simple<boolean>({ type: 'boolean' });
/** Any JSON value, such as an id or a part of a key. */
export const anything = simple<unknown>({});

export function constant<const T extends string | boolean | null>(value: T, description?: string): Schema<T> {
  return { json: described({ const: value }, description) };
}

export function oneOf<const T extends readonly string[]>(values: T, description?: string): Schema<T[number]> {
  return { json: described({ enum: values }, description) };
}

export function nullable<T>({ json }: Schema<T>): Schema<T | null> {
  const { description, type, ...rest } = json as { description?: string; type?: unknown };
  const isSimple = typeof type === 'string' && Object.keys(rest).every((name) => name !== 'properties');
  const schema = isSimple ? { type: [type, 'null'], ...rest } : { anyOf: [json, { type: 'null' }] };
  return { json: described(schema, description) };
}

export function list<T>({ json }: Schema<T>, description?: string): Schema<readonly T[]> {
  return { json: described({ type: 'array', items: json }, description) };
}

/** Returns the schema of an object whose member names are data, such as reasons or words. */
export function record<T>({ json }: Schema<T>, description?: string): Schema<Readonly<Record<string, T>>> {
  return { json: described({ type: 'object', additionalProperties: json }, description) };
}

export function optional<T>({ json }: Schema<T>): OptionalSchema<T> {
  return { json, isOptional: true };
}

/** The schema of an object, with its members, so that the schema of another object can include them. */
export interface ObjectSchema<M extends Members> extends Schema<ObjectOf<M>> {
  readonly members: M;
}

export function object<const M extends Members>(members: M, description?: string): ObjectSchema<M> {
  const entries = Object.entries(members);
  const required = entries.filter(([, schema]) => !('isOptional' in schema)).map(([name]) => name);
  const properties = Object.fromEntries(entries.map(([name, { json }]) => [name, json]));
  return { json: described({ type: 'object', properties, required }, description), members };
}

export function anyOf<const S extends readonly Schema<unknown>[]>(schemas: S): Schema<TypeOf<S[number]>> {
  return { json: { anyOf: schemas.map(({ json }) => json) } };
}
