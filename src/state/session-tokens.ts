/**
 * Owns the newest known session token of each range. With the tokens of the source, a point read in this or a later run
 * never sees an older state than earlier reads. With the tokens of the target, a comparison sees every committed write.
 * Invariant: the row of a side has the newest token of every range that was ever kept.
 */
import type { Database } from '../lib/sqlite/sqlite.ts';
import { text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';

export interface SessionToken {
  readonly rangeId: string;
  /** `<range>:<what was seen of it>`. It contains no comma. */
  readonly token: string;
}

export class TokenStore {
  readonly #side: 'source' | 'target';
  readonly #sql;
  /**
   * The tokens by range, read when the first one is kept; only this process changes them. A transaction that is rolled back
   * leaves newer tokens here than in the file. They are true as well: they say what was seen.
   */
  #newest: Map<string, string> | undefined;

  constructor(database: Database, side: 'source' | 'target') {
    this.#side = side;
    this.#sql = {
      keep: database.prepare(
        `INSERT INTO session_tokens (side, tokens) VALUES (?, ?)
         ON CONFLICT (side) DO UPDATE SET tokens = excluded.tokens`,
      ),
      get: database.prepare<[string], Columns>('SELECT tokens FROM session_tokens WHERE side = ?'),
    };
  }

  /** Stores tokens, which the caller knows to be newer. Called inside a transaction of units.ts; opens none. */
  keep(tokens: readonly SessionToken[]): void {
    if (tokens.length === 0) return;
    this.#newest ??= new Map(this.all().map(({ rangeId, token }) => [rangeId, token]));
    for (const { rangeId, token } of tokens) this.#newest.set(rangeId, token);
    this.#sql.keep.run(this.#side, [...this.#newest.values()].join(','));
  }

  all(): SessionToken[] {
    const row = this.#sql.get.get(this.#side);
    if (row === undefined) return [];
    const tokens = text(row, 'tokens').split(',');
    return tokens.map((token) => ({ rangeId: token.slice(0, token.indexOf(':')), token }));
  }
}
