/**
 * Owns the newest session token that is known of each range. Those of the source are the floor of every point read, in
 * later runs too; those of the target tell who compares both sides how far the mover's writes had brought it.
 */
import type { Database } from '../lib/sqlite.ts';
import { text } from './column.ts';
import type { Columns } from './column.ts';

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

  /** Within a transaction. Which of two tokens is newer is the engine's to know. */
  keep({ rangeId, token }: SessionToken): void {
    this.#sql.keep.run({ rangeId, token });
  }

  all(): SessionToken[] {
    return this.#sql.all.all().map((row) => ({ rangeId: text(row, 'range_id'), token: text(row, 'token') }));
  }
}
