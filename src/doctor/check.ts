/**
 * The checks of `cosmig doctor`. Invariant: a check that fails does not end the examination; checks that need the
 * result of a failed check are reported as skipped.
 */
import { CanceledError, CosmigError, InternalError } from '../lib/errors.ts';

/** What a check is about. */
export type CheckSubject = 'machine' | 'source' | 'target';

/** The names of the checks. Scripts may rely on them. */
export type CheckName =
  | 'node'
  | 'tls'
  | 'ledger'
  | 'disk'
  | 'account'
  | 'clock'
  | 'container'
  | 'migration'
  | 'throughput'
  | 'permissions'
  | 'deletes'
  | 'key'
  | 'documents'
  | 'settings';

export interface Check {
  readonly about: CheckSubject;
  readonly name: CheckName;
  /**
   * `warning`: a migration works, but the operator should know. `skipped`: an earlier check failed, or did not find
   * what this check needs.
   */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  /** Why it matters and what to do; null if there is nothing to do. */
  readonly why: string | null;
  readonly hint: string | null;
}

/** What a check found when it did not fail. */
export interface Found {
  readonly message: string;
  readonly warning?: { readonly why: string; readonly hint: string };
}

/** What a check found, and what later checks need of it. */
export interface FoundValue<T> extends Found {
  readonly value: T;
}

export class Checklist {
  readonly checks: Check[] = [];
  readonly #onChecks: (checks: readonly Check[]) => void;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal, onChecks: (checks: readonly Check[]) => void) {
    this.#signal = signal;
    this.#onChecks = onChecks;
  }

  /** Makes a check. Returns the value that it found, or undefined if it failed. */
  async make<T>(
    about: CheckSubject,
    name: CheckName,
    check: () => Promise<Found & Partial<FoundValue<T>>>,
  ): Promise<T | undefined> {
    this.#signal.throwIfAborted();
    try {
      const { message, warning, value } = await check();
      this.#add({
        about,
        name,
        state: warning === undefined ? 'ok' : 'warning',
        message,
        ...reasonOf(warning),
      });
      return value;
    } catch (error) {
      if (!(error instanceof CosmigError) || error instanceof InternalError || error instanceof CanceledError)
        throw error;
      this.#add({ about, name, state: 'failed', message: error.message, ...reasonOf(error) });
      return undefined;
    }
  }

  /** Reports checks that cannot be made, because an earlier one failed or did not find what they need. */
  skip(about: CheckSubject, names: readonly CheckName[], message: string): void {
    const skipped = { about, state: 'skipped', message, why: null, hint: null } as const;
    this.#add(...names.map((name) => ({ ...skipped, name })));
  }

  #add(...checks: readonly Check[]): void {
    this.checks.push(...checks);
    this.#onChecks(checks);
  }
}

function reasonOf(
  from: { readonly why: string; readonly hint: string } | undefined,
): Pick<Check, 'why' | 'hint'> {
  return { why: from?.why ?? null, hint: from?.hint ?? null };
}
