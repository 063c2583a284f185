/**
 * Owns the dead letters. A letter may wait for a slot or for a target key value, and the engine looks up the next
 * letter to retry by the slot or by the key value. Closed and discarded letters are kept as history. Invariants: a
 * document has at most one open letter; a discarded letter is closed by the same transaction that records that its
 * document was moved, changed or deleted later, so it never claims more than the ledger knows.
 */
import { HASH_BYTES } from '../documents/hash.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { bytes, jsonText, number, oneOf, orNull, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import { packKey, unpackKey } from './segments/key-bytes.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

export const REASONS = [
  'collision',
  'missing-key',
  'invalid-key',
  'key-conflict',
  'too-large',
  'key-too-long',
  'partition-full',
  'bad-id',
  'unique-key',
  'foreign-document',
  'changed-by-others',
  'rejected',
] as const;
export type Reason = (typeof REASONS)[number];

export const LETTER_STATES = ['open', 'closed', 'discarded'] as const;
export type LetterState = (typeof LETTER_STATES)[number];

/**
 * What a refused document waits for. `slot`: another document leaves this slot. `key`: another document with this target
 * key value changes or leaves, which may free a unique value.
 */
export type Waits =
  | { readonly for: 'slot'; readonly slot: Buffer }
  | { readonly for: 'key'; readonly key: readonly KeyComponent[] }
  | { readonly for: 'nothing' };

export interface Letter {
  /** Letters with lower numbers are retried first. */
  readonly number: number;
  readonly identity: Buffer;
  readonly state: LetterState;
  readonly reason: Reason;
  /** A code for scripts: the status of the service, or a word of cosmig. */
  readonly code: string;
  readonly why: string;
  /** The id as JSON text, exactly as in the document. */
  readonly id: string;
  /** The source key as a JSON array. */
  readonly sourceKey: string;
  /** The target key as a JSON array; null if the document has no target key. */
  readonly targetKey: string | null;
  readonly slot: Buffer | null;
  readonly waits: Waits;
  readonly attempts: number;
  readonly atMs: number;
}

/** A change of a letter. `open` opens a letter, or adds attempts to an open one. A later success closes the letter. */
export type LetterChange =
  | {
      readonly change: 'open';
      readonly letter: Omit<Letter, 'number' | 'state' | 'attempts'>;
      /** Attempts since the last change of the letter; 1 by default. */
      readonly attempts?: number;
    }
  | { readonly change: 'close' | 'discard'; readonly identity: Buffer; readonly atMs: number };

/** Which letters to list. A long list is read in parts. */
export interface LetterWindow {
  readonly state: LetterState | 'any';
  /** The number of the last letter of the previous part; 0 for the first part. */
  readonly after: number;
  readonly limit: number;
}

const LISTED_MAX = 1000;

export class LetterStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    const open = "state = 'open'";
    this.#sql = {
      lastNumber: database.prepare<[], number>('SELECT ifnull(max(number), 0) FROM dead_letters').pluck(),
      // Opening a letter takes two statements. A single INSERT that becomes an UPDATE would use up a number, and each
      // number has to have had a row.
      openAgain: database.prepare(
        `UPDATE dead_letters SET reason = @reason, code = @code, why = @why, id = @id, source_key = @sourceKey,
           target_key = @targetKey, slot = @slot, waits_for_slot = @waitsForSlot, waits_for_key = @waitsForKey,
           attempts = attempts + @attempts, updated_at_ms = @atMs
         WHERE identity = @identity AND ${open}`,
      ),
      open: database.prepare(
        `INSERT INTO dead_letters (identity, state, reason, code, why, id, source_key, target_key, slot,
           waits_for_slot, waits_for_key, attempts, updated_at_ms)
         VALUES (@identity, 'open', @reason, @code, @why, @id, @sourceKey, @targetKey, @slot,
           @waitsForSlot, @waitsForKey, max(1, @attempts), @atMs)`,
      ),
      end: database.prepare(
        `UPDATE dead_letters SET state = @state, updated_at_ms = @atMs WHERE identity = @identity AND ${open}`,
      ),
      endDiscarded: database.prepare(
        "UPDATE dead_letters SET state = 'closed', updated_at_ms = @atMs WHERE identity = @identity AND state = 'discarded'",
      ),
      discardedOf: database
        .prepare<[Buffer], number>("SELECT 1 FROM dead_letters WHERE identity = ? AND state = 'discarded'")
        .pluck(),
      get: database.prepare<[number], Columns>('SELECT * FROM dead_letters WHERE number = ?'),
      openOf: database.prepare<[Buffer], Columns>(
        `SELECT * FROM dead_letters WHERE identity = ? AND ${open}`,
      ),
      bySlot: database.prepare<[{ slot: Buffer; after: number }], Columns>(
        `SELECT * FROM dead_letters
         WHERE ${open} AND waits_for_slot = @slot AND number > @after ORDER BY number LIMIT 1`,
      ),
      byKey: database.prepare<[{ key: Buffer; after: number }], Columns>(
        `SELECT * FROM dead_letters
         WHERE ${open} AND waits_for_key = @key AND number > @after ORDER BY number LIMIT 1`,
      ),
      list: database.prepare<[LetterWindow], Columns>(
        'SELECT * FROM dead_letters WHERE state = @state AND number > @after ORDER BY number LIMIT @limit',
      ),
      listAll: database.prepare<[LetterWindow], Columns>(
        'SELECT * FROM dead_letters WHERE number > @after ORDER BY number LIMIT @limit',
      ),
      newest: database.prepare<[number], Columns>(
        `SELECT * FROM dead_letters WHERE ${open} ORDER BY number DESC LIMIT ?`,
      ),
      discardAll: database.prepare(
        `UPDATE dead_letters SET state = 'discarded', updated_at_ms = @atMs WHERE reason = @reason AND ${open}`,
      ),
      counts: database.prepare<[], Columns>(
        'SELECT state, reason, count(*) AS letters FROM dead_letters GROUP BY state, reason',
      ),
      openCount: database.prepare<[], number>(`SELECT count(*) FROM dead_letters WHERE ${open}`).pluck(),
    };
  }

  /** Stores a change of a letter. Called inside a transaction; opens none. */
  change(change: LetterChange): void {
    if (change.change === 'open') {
      const { letter: opened, attempts = 1 } = change;
      const { waits, ...letter } = opened;
      const values = {
        ...letter,
        attempts,
        waitsForSlot: waits.for === 'slot' ? waits.slot : null,
        waitsForKey: waits.for === 'key' ? packKey(waits.key) : null,
      };
      if (this.#sql.openAgain.run(values).changes > 0) return;
      // A document whose letter was discarded gets another one only when it has changed.
      this.#sql.endDiscarded.run({ identity: letter.identity, atMs: letter.atMs });
      this.#sql.open.run(values);
    } else {
      const { identity, atMs } = change;
      if (change.change === 'close') this.#sql.endDiscarded.run({ identity, atMs });
      this.#sql.end.run({ identity, atMs, state: change.change === 'close' ? 'closed' : 'discarded' });
    }
  }

  /** Discards a letter and returns whether it was open. Durable. */
  discard(letter: number, atMs: number): boolean {
    return this.#transactions.durable(() => {
      const found = this.get(letter);
      if (found?.state !== 'open') return false;
      this.change({ change: 'discard', identity: found.identity, atMs });
      return true;
    });
  }

  /** Discards all open letters with this reason and returns how many they were. Durable. */
  discardAll(reason: Reason, atMs: number): number {
    return this.#transactions.durable(() => this.#sql.discardAll.run({ reason, atMs }).changes);
  }

  get(letter: number): Letter | null {
    return this.#one(() => this.#sql.get.get(letter));
  }

  findOpen(identity: Buffer): Letter | null {
    return this.#one(() => this.#sql.openOf.get(identity));
  }

  /** Whether the operator has discarded a letter of this document, which was not moved, changed or deleted since. */
  isDiscarded(identity: Buffer): boolean {
    return this.#sql.discardedOf.get(identity) !== undefined;
  }

  /** Returns the first open letter with a number above `after` that waits for this slot. */
  nextForSlot({ slot, after }: { readonly slot: Buffer; readonly after: number }): Letter | null {
    return this.#one(() => this.#sql.bySlot.get({ slot, after }));
  }

  /** Returns the first open letter with a number above `after` that waits for this target key value. */
  nextForKey({
    key,
    after,
  }: {
    readonly key: readonly KeyComponent[];
    readonly after: number;
  }): Letter | null {
    return this.#one(() => this.#sql.byKey.get({ key: packKey(key), after }));
  }

  list(window: LetterWindow): Letter[] {
    const statement = window.state === 'any' ? this.#sql.listAll : this.#sql.list;
    return this.#transactions.read(() => statement.all(window).map(parseLetter));
  }

  /** Returns the newest open letters, the newest first. */
  newest(limit: number): Letter[] {
    return this.#transactions.read(() => this.#sql.newest.all(limit).map(parseLetter));
  }

  /**
   * Yields all letters in a state with a number above `after`, by number. It reads them in parts, so letters may be
   * opened and closed in between.
   */
  *each(state: LetterState | 'any', after = 0): Generator<Letter> {
    for (const letters of this.inLists(state, LISTED_MAX, after)) yield* letters;
  }

  /** Yields the letters as `each` does, in lists of at most `limit`. */
  *inLists(state: LetterState | 'any', limit: number, after = 0): Generator<Letter[]> {
    for (let passed = after; ;) {
      const letters = this.list({ state, after: passed, limit });
      const last = letters.at(-1);
      if (last === undefined) return;
      yield letters;
      passed = last.number;
    }
  }

  /** Returns the highest number of a letter; 0: there is none. */
  lastNumber(): number {
    return this.#sql.lastNumber.get() ?? 0;
  }

  openCount(): number {
    return this.#sql.openCount.get() ?? 0;
  }

  counts(): ReadonlyArray<{ state: LetterState; reason: Reason; letters: number }> {
    return this.#sql.counts.all().map((row) => ({
      state: oneOf(row, 'state', LETTER_STATES),
      reason: oneOf(row, 'reason', REASONS),
      letters: number(row, 'letters'),
    }));
  }

  #one(get: () => Columns | undefined): Letter | null {
    const row = this.#transactions.read(get);
    return row === undefined ? null : parseLetter(row);
  }
}

/** Returns the levels of a key, from the JSON array that a letter has of it. A level that is missing is `{}` there. */
export function keyLevels(json: string): KeyComponent[] {
  const levels: unknown = JSON.parse(json);
  return (Array.isArray(levels) ? levels : []).map((level: unknown) => {
    if (typeof level === 'string' || typeof level === 'number' || typeof level === 'boolean') return level;
    return level === null ? null : undefined;
  });
}

function parseLetter(row: Columns): Letter {
  const hash = (from: Columns, name: string): Buffer => bytes(from, name, HASH_BYTES);
  const slot = orNull(row, 'waits_for_slot', hash);
  const key = orNull(row, 'waits_for_key', bytes);
  const forKey: Waits = key === null ? { for: 'nothing' } : { for: 'key', key: unpackKey(key) };
  return {
    number: number(row, 'number'),
    identity: hash(row, 'identity'),
    state: oneOf(row, 'state', LETTER_STATES),
    reason: oneOf(row, 'reason', REASONS),
    code: text(row, 'code'),
    why: text(row, 'why'),
    id: jsonText(row, 'id'),
    sourceKey: jsonText(row, 'source_key'),
    targetKey: orNull(row, 'target_key', jsonText),
    slot: orNull(row, 'slot', hash),
    waits: slot === null ? forKey : { for: 'slot', slot },
    attempts: number(row, 'attempts'),
    atMs: number(row, 'updated_at_ms'),
  };
}
