/**
 * The unique keys of the target: the values that documents hold, and the values that refused documents want. Only a value
 * that was given up brings a retry. Invariant: a value that cannot be determined counts as any value, so a document is
 * retried too often rather than too seldom. Wanted values are kept in memory, for WANTED_MAX documents.
 */
import { mapKey } from '../../documents/hash.ts';
import { parsePath, valueAt } from '../../keys/path.ts';
import { composite, type Path } from '../../keys/strategies/strategy.ts';
import { UsageError } from '../../lib/errors.ts';

/** The values of a document, one text for each unique key of the target. */
export type UniqueValues = readonly string[];

/** A document beyond these counts as wanting any value. */
const WANTED_MAX = 10_000;
/** Ends the text of a value that cannot be determined: it may be any. */
const ANY = '*';

export class UniqueKeys {
  /** The paths of each; nothing where they cannot be read. */
  readonly #keys: ReadonlyArray<readonly Path[]>;
  readonly #wanted = new Map<string, UniqueValues>();

  /** From the settings of the target. */
  constructor(policy: unknown) {
    this.#keys = keysIn(policy);
  }

  /** The target refuses two documents with equal values, whatever their ids. */
  get exist(): boolean {
    return this.#keys.length > 0;
  }

  /** Nothing where there are no unique keys. */
  valuesOf(document: Buffer): UniqueValues {
    if (!this.exist) return [];
    const parsed: unknown = JSON.parse(document.toString());
    return this.#keys.map((paths, key) => {
      const values = paths.map((path) => valueAt(parsed, path));
      const isKnown = paths.length > 0 && !values.includes(composite);
      return `${key}:${isKnown ? values.map((value) => JSON.stringify(value ?? null)).join() : ANY}`;
    });
  }

  /** A document was refused because of these values. */
  want(identity: Buffer, held: UniqueValues): void {
    const key = mapKey(identity);
    this.#wanted.delete(key);
    this.#wanted.set(key, held);
    for (const oldest of this.#wanted.keys()) {
      if (this.#wanted.size <= WANTED_MAX) break;
      this.#wanted.delete(oldest);
    }
  }

  /** Whether the document is known to want just these values. */
  wants(identity: Buffer, held: UniqueValues): boolean {
    return this.#wanted.get(mapKey(identity))?.join() === held.join();
  }

  /** Whether the document may want one of the values that were given up. */
  mayWant(identity: Buffer, given: UniqueValues): boolean {
    const wanted = this.#wanted.get(mapKey(identity));
    return wanted === undefined || wanted.some((one) => given.some((other) => meet(one, other)));
  }
}

/** The values of `before` that are no longer held: those that are not among `after`. */
export function givenUp(before: readonly UniqueValues[], after: UniqueValues = []): UniqueValues {
  return before.flatMap((held) => held.filter((value) => value.endsWith(ANY) || !after.includes(value)));
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
