/**
 * Reads the ledger while the mover may write it. The ledger is opened briefly for each look, because a connection that
 * stays open would keep the mover from closing the file cleanly. Each look opens the file and reads its schema, so
 * callers look once for many documents. Invariant: no byte of the ledger is changed.
 */
import { inSteps } from '../lib/group.ts';
import type { MigrationRecord } from '../state/migration.ts';
import type { Lease } from '../state/leases.ts';
import { Ledger } from '../state/ledger.ts';
import type { KnownDocuments } from '../state/index/known-documents.ts';
import type { SessionToken } from '../state/session-tokens.ts';

/** What the mover had committed at one moment. */
export interface Moment {
  readonly migration: MigrationRecord;
  readonly leases: readonly Lease[];
  readonly tokens: readonly SessionToken[];
  readonly targetTokens: readonly SessionToken[];
}

export class LedgerView {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  look<T>(body: (ledger: Ledger) => T): T {
    using ledger = Ledger.openReadonly(this.#path);
    return body(ledger);
  }

  /**
   * Returns how many documents the mover knows on both sides, and which of `some` are among them; null: the copy is not
   * indexed yet.
   */
  async known(signal: AbortSignal, some: readonly Buffer[] = []): Promise<KnownDocuments | null> {
    using ledger = Ledger.openReadonly(this.#path);
    const steps = ledger.known(some);
    try {
      return await inSteps(steps, signal);
    } finally {
      // Ends the transaction after an abort.
      steps.return(null);
    }
  }

  moment(): Moment {
    return this.momentAnd(() => undefined).moment;
  }

  /** Returns what the mover has committed, and what `body` reads from the ledger at the same moment. */
  momentAnd<T>(body: (ledger: Ledger) => T): { readonly moment: Moment; readonly rest: T } {
    return this.look((ledger) =>
      ledger.atOnce(() => ({
        moment: {
          migration: ledger.migration.read(),
          leases: ledger.leases.live(),
          tokens: ledger.tokens.all(),
          targetTokens: ledger.targetTokens.all(),
        },
        rest: body(ledger),
      })),
    );
  }
}
