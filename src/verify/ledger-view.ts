/**
 * The mover's ledger, looked at for a moment at a time: a connection that stays open would keep the mover from leaving
 * its file in good order. What always holds: no byte of it is changed. A look opens the file and reads its
 * schema, so it is not done for each of many documents.
 */
import type { MigrationRecord } from '../state/migration.ts';
import type { Lease } from '../state/leases.ts';
import { Ledger } from '../state/ledger.ts';
import type { SessionToken } from '../state/session-tokens.ts';

/** What a mover had committed at one moment. */
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

  moment(): Moment {
    return this.momentAnd(() => undefined).moment;
  }

  /** A moment, and what `body` reads of the same one. */
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
