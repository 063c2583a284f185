/**
 * Owns the newest known session token of each range. With the tokens of the source, a point read in this or a later run
 * never sees an older state than earlier reads. With the tokens of the target, a comparison sees every committed write.
 */
import type { Database } from '../lib/sqlite/sqlite.ts';
import { text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';

export interface SessionToken {
  readonly rangeId: string;
  readonly token: string;
}

export class TokenStore {
  readonly #sql;

  constructor(database: Database, table: 'source_session_tokens' | 'target_session_tokens') {
    this.#sql = {
      keep: database.prepare(
        `INSERT INTO ${table} (range_id, token) VALUES (@rangeId, @token)
         ON CONFLICT (range_id) DO UPDATE SET token = @token WHERE token <> @token`,
      ),
      all: database.prepare<[], Columns>(`SELECT range_id, token FROM ${table} ORDER BY range_id`),
    };
  }

  /** Stores a token, which the caller knows to be newer. Called inside a transaction of units.ts; opens none. */
  keep({ rangeId, token }: SessionToken): void {
    this.#sql.keep.run({ rangeId, token });
  }

  all(): SessionToken[] {
    return this.#sql.all.all().map((row) => ({ rangeId: text(row, 'range_id'), token: text(row, 'token') }));
  }
}
