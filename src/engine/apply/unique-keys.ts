/**
 * The unique keys of the target: the values that documents hold, and the values that refused documents want. A refused
 * document is retried when another document gives up a value that it wants. Invariant: a value that cannot be determined
 * counts as any value, so a document is retried too often rather than too seldom. Wanted values are kept in memory, for
 * WANTED_MAX documents.
 */
import { mapKey } from '../../documents/hash.ts';
import { parsePath, valueAt } from '../../keys/path.ts';
import { composite, type Path } from '../../keys/strategies/strategy.ts';
import { UsageError } from '../../lib/errors.ts';

/** The values of a document, one text for each unique key of the target. */
export type UniqueValues = readonly string[];

/** For how many refused documents the wanted values are kept. Any other refused document counts as wanting any value. */
const WANTED_MAX = 10_000;
/** The last character of the text for a value that cannot be determined. Such a value counts as any value. */
const ANY = '*';

export class UniqueKeys {
  /** The paths of each unique key; an empty list for a key whose paths cannot be parsed. */
  readonly #keys: ReadonlyArray<readonly Path[]>;
  readonly #wanted = new Map<string, UniqueValues>();

  /** `policy`: the unique key policy in the settings of the target. */
  constructor(policy: unknown) {
    this.#keys = keysIn(policy);
  }

  /**
   * Whether the target has unique keys: it then refuses a second document with the same values in one logical
   * partition, whatever its id.
   */
  get exist(): boolean {
    return this.#keys.length > 0;
  }

  /** Returns the unique values of a document; an empty list if the target has no unique keys. */
  valuesOf(document: Buffer): UniqueValues {
    if (!this.exist) return [];
    const parsed: unknown = JSON.parse(document.toString());
    return this.#keys.map((paths, key) => {
      const values = paths.map((path) => valueAt(parsed, path));
      const isKnown = paths.length > 0 && !values.includes(composite);
      return `${key}:${isKnown ? values.map((value) => JSON.stringify(value ?? null)).join() : ANY}`;
    });
  }

  /** Remembers the unique values of a document that was refused because another document has one of them. */
  want(identity: Buffer, values: UniqueValues): void {
    const key = mapKey(identity);
    this.#wanted.delete(key);
    this.#wanted.set(key, values);
    for (const oldest of this.#wanted.keys()) {
      if (this.#wanted.size <= WANTED_MAX) break;
      this.#wanted.delete(oldest);
    }
  }

  /** Returns whether the document is recorded as waiting for exactly these values. */
  wants(identity: Buffer, values: UniqueValues): boolean {
    return this.#wanted.get(mapKey(identity))?.join() === values.join();
  }

  /** Returns whether the document may wait for one of the values that another document has given up. */
  mayWant(identity: Buffer, given: UniqueValues): boolean {
    const wanted = this.#wanted.get(mapKey(identity));
    return wanted === undefined || wanted.some((one) => given.some((other) => meet(one, other)));
  }
}

/** Returns the values in `before` that are no longer held, because they are not in `after`. */
export function givenUp(before: readonly UniqueValues[], after: UniqueValues = []): UniqueValues {
  return before.flatMap((values) => values.filter((value) => value.endsWith(ANY) || !after.includes(value)));
}

function meet(one: string, other: string): boolean {
  if (one === other) return true;
  const isAny = one.endsWith(ANY) || other.endsWith(ANY);
  return isAny && one.slice(0, one.indexOf(':')) === other.slice(0, other.indexOf(':'));
}

function keysIn(policy: unknown): (readonly Path[])[] {
  const keys: unknown = Reflect.get(Object(policy), 'uniqueKeys');
  if (!Array.isArray(keys)) return [];
  return keys.map((key: unknown) => {
    const paths: unknown = Reflect.get(Object(key), 'paths');
    try {
      return Array.isArray(paths) ? paths.map((path: unknown) => parsePath(String(path))) : [];
    } catch (error) {
      if (error instanceof UsageError) return [];
      throw error;
    }
  });
}
