/** What a workload file says, as plain data: which calls the application makes, how often, and what they cost. */
import type { KeyComponent } from '../../epk/effective-key.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import type { WorkloadResult } from '../result.ts';
import type { Conditions } from './query/conditions.ts';

export interface Workload {
  readonly file: string;
  readonly calls: readonly WorkloadCall[];
  /** The time in which the calls were made. */
  readonly seconds: number;
  readonly hottestKeys: WorkloadResult['hottestKeys'];
  readonly skipped: number;
  readonly notes: readonly string[];
  /** Set when the file hides the names of properties; says what to switch on. */
  readonly obfuscated: string | null;
}

/** A kind of call that was made `executions` times. */
export interface WorkloadCall {
  /** The query without its values, or the name of the operation. */
  readonly text: string;
  readonly does: Doing;
  /** More than 0. */
  readonly executions: number;
  /** RU of all executions together; null: not known. */
  readonly ru: number | null;
  /** Physical partitions that an execution asked on average; null: not known. */
  readonly partitions: number | null;
  /** Documents that an execution returns on average; null: not known. */
  readonly results: number | null;
  /** Properties whose values the application knows when it makes the call, although the text does not say so. */
  readonly knows: readonly Path[];
  /** Whether the request names the present key value apart from the text. */
  readonly namesKey: boolean;
}

export type Doing =
  /** `conditions` is null for a text that is not understood. */
  | { readonly kind: 'query'; readonly conditions: Conditions | null }
  /** Reads, patches or deletes one document by its id and key. */
  | { readonly kind: 'by-id' }
  /** Writes a whole document, which has every key in it. */
  | { readonly kind: 'write' }
  /** A transactional batch or a stored procedure, which are limited to one key value. */
  | { readonly kind: 'batch' };

/** Returns what an operation does by its name in a log or in a file; null: it is not about documents. */
export function doingOf(operation: string): Doing | null {
  const name = operation.toLowerCase();
  if (/query|feed/.test(name)) return null;
  if (/batch|execute|javascript|sproc|procedure/.test(name)) return { kind: 'batch' };
  if (/create|upsert|replace|insert/.test(name)) return { kind: 'write' };
  return /read|get|head|delete|patch/.test(name) ? { kind: 'by-id' } : null;
}

const HIDDEN_STEP = /^p\d+(?:__\d+)?$/;

/** Returns whether a query has no name of a property left, as when full-text query logging is off. */
function isObfuscated(conditions: Conditions | null): boolean {
  const named = conditions?.named ?? [];
  return named.length > 0 && named.every((path) => path.every((step) => HIDDEN_STEP.test(step)));
}

/** Says what to do about an export without names, if more than half of the queries that name a property have none. */
export function obfuscationOf(calls: readonly WorkloadCall[]): string | null {
  let [hidden, all] = [0, 0];
  for (const { does, executions } of calls) {
    if (does.kind !== 'query' || does.conditions === null || does.conditions.named.length === 0) continue;
    all += executions;
    if (isObfuscated(does.conditions)) hidden += executions;
  }
  if (hidden * 2 <= all) return null;
  return (
    'the names of properties are hidden in this export (p1, str1): switch on "Diagnostics full-text query" under ' +
    'Features of the account, wait for new logs, and export again'
  );
}

/**
 * Returns what the report says of a file, whatever the candidate. `show` returns the text of a key for people: its
 * values, or their hash.
 */
export function workloadResult(
  workload: Workload,
  show: (values: readonly KeyComponent[]) => string,
): WorkloadResult {
  const { file, calls, seconds, hottestKeys, skipped, notes, obfuscated } = workload;
  return {
    file,
    queries: calls.filter(({ does }) => does.kind === 'query').length,
    executions: calls.reduce((sum, { executions }) => sum + executions, 0),
    obfuscated,
    skipped,
    seconds,
    hottestKeys: hottestKeys.map(({ value, ruPerSecond }) => ({ value: show(valuesIn(value)), ruPerSecond })),
    notes,
  };
}

/** Reads the key of a log, which is a list of values in JSON. Another text is taken as one value. */
function valuesIn(text: string): readonly KeyComponent[] {
  try {
    const parsed: unknown = JSON.parse(text);
    const values: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    // A missing value is an empty object there.
    return values.map((value) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null
        ? value
        : undefined,
    );
  } catch {
    return [text];
  }
}
