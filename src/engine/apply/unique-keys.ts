/**
 * The unique keys of the target: what documents hold there, and what those want that were refused for it, so that only
 * a value that has been given up brings another try. What always holds: what cannot be told counts as any value, so
 * one is tried too often and never too seldom; what is wanted is remembered while a run lasts, for so many.
 */
import { mapKey } from '../../documents/hash.ts';
import { parsePath, valueAt } from '../../keys/path.ts';
import { composite, type Path } from '../../keys/strategies/strategy.ts';
import { UsageError } from '../../lib/errors.ts';

/** What a document holds, one text for each unique key of the target. */
export type Held = readonly string[];

/** Who is not remembered is tried with the others. */
const WANTED_MAX = 10_000;
/** Ends the text of a value that nobody can tell: it may be any. */
const ANY = '*';

export class UniqueKeys {
  /** The paths of each; nothing where they cannot be read. */
  readonly #keys: ReadonlyArray<readonly Path[]>;
  readonly #wanted = new Map<string, Held>();

  /** From the settings of the target. */
  constructor(policy: unknown) {
    this.#keys = keysIn(policy);
  }

  /** The target refuses two documents with equal values, whatever their ids. */
  get exist(): boolean {
    return this.#keys.length > 0;
  }

  /** What a document holds; nothing where there are no unique keys. */
  heldBy(document: Buffer): Held {
    if (!this.exist) return [];
    const parsed: unknown = JSON.parse(document.toString());
    return this.#keys.map((paths, key) => {
      const values = paths.map((path) => valueAt(parsed, path));
      const isTold = paths.length > 0 && !values.includes(composite);
      return `${key}:${isTold ? values.map((value) => JSON.stringify(value ?? null)).join() : ANY}`;
    });
  }

  /** Somebody was refused for what he holds. */
  want(identity: Buffer, held: Held): void {
    const key = mapKey(identity);
    this.#wanted.delete(key);
    this.#wanted.set(key, held);
    for (const oldest of this.#wanted.keys()) {
      if (this.#wanted.size <= WANTED_MAX) break;
      this.#wanted.delete(oldest);
    }
  }

  /** Whether he is known to want just this. */
  wants(identity: Buffer, held: Held): boolean {
    return this.#wanted.get(mapKey(identity))?.join() === held.join();
  }

  /** Whether he may want something of what was given up. */
  mayWant(identity: Buffer, given: Held): boolean {
    const wanted = this.#wanted.get(mapKey(identity));
    return wanted === undefined || wanted.some((one) => given.some((other) => meet(one, other)));
  }
}

/** What is not held any more: all of `before`, but for what is held `after`. */
export function givenUp(before: readonly Held[], after: Held = []): Held {
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
