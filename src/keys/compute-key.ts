/**
 * Computes keys in an application, with the code that migrates documents, so documents that the application writes
 * have the same keys as migrated documents.
 */
import { UsageError } from '../lib/errors.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { valueAt } from './path.ts';
import { makePlan, type Addition, type KeyPlan } from './plan.ts';

/** How a document gets its key: the library form of `--partition-key`, `--derive` and `--missing-key`. */
export interface KeyRecipe {
  /** The container's key paths, one to three; without them the one derived path is the key. */
  readonly partitionKey?: string | readonly string[];
  /** Properties to set on the document, each as '/path=template'. */
  readonly derive?: string | readonly string[];
  /** How to treat a document without a key value: `keep` gives it the undefined key (default), `fail` throws. */
  readonly missingKey?: 'keep' | 'fail';
  /** The longest key in bytes: 2,048 (default), or 101 for a container without large partition keys. */
  readonly keyBytesMax?: number;
}

/** The key of a document, and the properties that the document must have for this key. */
export interface DocumentKey {
  /** The key, one component for each level; undefined where the document has no value. */
  readonly values: readonly KeyComponent[];
  /**
   * Properties to set on the document: `{ ...document, ...properties }`. Objects on the path keep their other
   * members. A value of undefined removes an old derived value, since JSON omits it.
   */
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Computes the key of one document, and the derived properties that the document must have.
 *
 * ```ts
 * const { values, properties } = computeKey({ derive: '/pk={tenantId}-{createdAt|month}' }, order);
 * await container.items.create({ ...order, ...properties });
 * ```
 *
 * Pure: the same document has the same key everywhere. Only own properties are read; a Date is the text that JSON
 * makes of it.
 *
 * @throws UsageError if the recipe is invalid, or if the document cannot have such a key.
 */
export function computeKey(recipe: KeyRecipe, document: object): DocumentKey {
  return prepareKey(recipe)(document);
}

/** Returns a function that works as `computeKey` with this recipe. The recipe is read only once, for many documents. */
export function prepareKey(recipe: KeyRecipe): (document: object) => DocumentKey {
  const { partitionKey = [], derive = [], missingKey = 'keep', keyBytesMax } = recipe;
  const plan = makePlan({
    sourcePaths: [],
    partitionKey: typeof partitionKey === 'string' ? [partitionKey] : partitionKey,
    derive: typeof derive === 'string' ? [derive] : derive,
    missingKey,
    ...(keyBytesMax === undefined ? {} : { keyBytesMax }),
  });
  return (document) => {
    const computed = plan.compute(plan.inputs.map((path) => valueAt(document, path)));
    if (computed.kind === 'refused') {
      const { reason, why } = computed;
      throw new UsageError(`the document has no key: ${why}`, {
        why: reason,
        hint: 'fix the document, or choose another key',
        details: { reason },
      });
    }
    return { values: computed.values, properties: propertiesOf(document, plan, computed.additions) };
  };
}

function propertiesOf(
  document: object,
  { additionPaths }: KeyPlan,
  additions: readonly Addition[],
): Record<string, unknown> {
  let properties: Record<string, unknown> = {};
  for (const path of additionPaths) {
    const addition = additions.find((candidate) => candidate.path === path);
    // Without a new value, an old derived value is removed: otherwise the document would be written with its old key.
    if (addition === undefined && valueAt(document, path) === undefined) continue;
    properties = withValue(properties, document, path, addition?.value);
  }
  return properties;
}

/** Returns a copy of `object` with `value` at `path`. Objects on the path are copied from `document` if it has them. */
function withValue(
  object: Record<string, unknown>,
  document: unknown,
  [name, ...rest]: readonly string[],
  value: Addition['value'] | undefined,
): Record<string, unknown> {
  if (name === undefined) return object;
  if (rest.length === 0) return { ...object, [name]: value };
  const inner = ownObject(object, name) ?? ownObject(document, name) ?? {};
  return { ...object, [name]: withValue(inner, inner, rest, value) };
}

function ownObject(holder: unknown, name: string): Record<string, unknown> | undefined {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  const value = (holder as Record<string, unknown>)[name];
  if (value === undefined) return undefined;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new UsageError(`the document has a value at ${name}, where an object must be`, {
    why: 'a derived property lies inside it',
    hint: 'derive into another property',
  });
}
