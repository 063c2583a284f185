/**
 * Owns the two transactions of a unit of work. INTENT stores what may be written, removed or taken over. It is on the
 * disk before the first byte is sent. COMMIT stores the outcomes and the position, when every outcome is known.
 *
 * Invariant: an intent stays until its unit is committed or settled. A lease's position moves past a page only when
 * every older page of that lease is committed. A segment without outcomes belongs to a unit that is not committed, and
 * is not indexed.
 */
import { HASH_BYTES } from '../documents/hash.ts';
import { assert } from '../lib/assert.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { bytes, number, oneOf, orNull } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import { checksumOf, refuseChanged } from '../lib/sqlite/table-sums.ts';
import type { CounterStore } from './counters.ts';
import { packKey, unpackKey } from './segments/key-bytes.ts';
import type { LeaseStore } from './leases.ts';
import type { LetterStore } from './dead-letters.ts';
import { packMarks } from './segments/outcome-numbers.ts';
import { FEEDS } from './rows.ts';
import type { Override, LedgerRow, RowStore } from './rows.ts';
import { packName, readEntry, readNames, type FinishedSegment } from './segments/segment.ts';
import type { TokenStore } from './session-tokens.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';
import { CLAIM_KINDS } from './unit-records.ts';
import type { Alongside, Claim, Commit, Intent, Settlement, StoredClaim, Unsettled } from './unit-records.ts';

interface Parts {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly rows: RowStore;
  readonly leases: LeaseStore;
  readonly letters: LetterStore;
  readonly counters: CounterStore;
  readonly tokens: TokenStore;
  readonly targetTokens: TokenStore;
}

export class UnitStore {
  readonly #parts: Parts;
  readonly #sql;
  #newestUnit: number;
  #sequence: number;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { database } = parts;
    this.#sql = {
      newest: database.prepare<[], number>('SELECT ifnull(max(unit), 0) FROM intents').pluck(),
      sequence: database.prepare<[], number>('SELECT ifnull(max(last_sequence), 0) FROM migration').pluck(),
      keepSequence: database.prepare('UPDATE migration SET last_sequence = max(last_sequence, ?)'),
      oldest: database
        .prepare<[number], number | null>('SELECT min(unit) FROM intents WHERE lease = ?')
        .pluck(),
      intend: database.prepare(
        'INSERT INTO intents (unit, lease, feed) VALUES (@unit, @lease, @feed) ON CONFLICT DO NOTHING',
      ),
      segment: database.prepare(
        `INSERT INTO segments (index_id, feed, documents, lsn_base, checksum, entries)
         VALUES (@indexId, @feed, @count, @lsnBase, @checksum, @data)`,
      ),
      names: database.prepare(
        'INSERT INTO segment_names (unit, segment, checksum, names) VALUES (?, ?, ?, ?)',
      ),
      claims: database
        .prepare<[number], number>('SELECT ifnull(max(number), 0) FROM claims WHERE unit = ?')
        .pluck(),
      claim: database.prepare(
        `INSERT INTO claims (unit, number, kind, identity, slot, target_key, name)
         VALUES (@unit, @number, @kind, @identity, @slot, @targetKey, @name)`,
      ),
      segmentsOf: database.prepare<[number], Columns>(
        `SELECT segment, documents FROM segment_names JOIN segments ON segments.number = segment
         WHERE unit = ? ORDER BY segment`,
      ),
      outcome: database.prepare(
        'INSERT INTO outcomes (segment, first_sequence, checksum, offsets) VALUES (?, ?, ?, ?)',
      ),
      dropSegments: database.prepare(
        'DELETE FROM segments WHERE number IN (SELECT segment FROM segment_names WHERE unit = ?)',
      ),
      dropNames: database.prepare('DELETE FROM segment_names WHERE unit = ?'),
      dropClaims: database.prepare('DELETE FROM claims WHERE unit = ?'),
      dropClaim: database.prepare('DELETE FROM claims WHERE unit = @unit AND number = @number'),
      dropIntent: database.prepare('DELETE FROM intents WHERE unit = ?'),
      units: database.prepare<[], number>('SELECT unit FROM intents ORDER BY unit').pluck(),
      intent: database.prepare<[number], Columns>('SELECT * FROM intents WHERE unit = ?'),
      readSegments: database.prepare<[number], Columns>(
        `SELECT feed, documents, lsn_base, segments.checksum, entries, segment,
           segment_names.checksum AS names_checksum, names
         FROM segment_names JOIN segments ON segments.number = segment WHERE unit = ? ORDER BY segment`,
      ),
      readClaims: database.prepare<[number], Columns>('SELECT * FROM claims WHERE unit = ? ORDER BY number'),
    };
    this.#newestUnit = this.#sql.newest.get() ?? 0;
    this.#sequence = this.#sql.sequence.get() ?? 0;
  }

  /** Returns the number of the next unit of work. Pages get their numbers in the order in which they are read. */
  nextUnit(): number {
    this.#newestUnit += 1;
    return this.#newestUnit;
  }

  /** Returns the next number of an outcome or an override. The numbers follow the order in which these become known. */
  nextSequence(): number {
    return this.nextSequences(1);
  }

  /** Returns the first of the next `count` numbers. */
  nextSequences(count: number): number {
    const first = this.#sequence + 1;
    this.#sequence += count;
    return first;
  }

  /**
   * Takes the numbers of that many outcomes at once, and returns the first. Called inside a transaction of the map, with
   * which they become durable; opens none.
   */
  takeSequences(count: number): number {
    const first = this.nextSequences(count);
    this.#sql.keepSequence.run(this.#sequence);
    return first;
  }

  /** Writes the INTENT of any number of units with one sync. All are on the disk when it returns. */
  intend(intents: readonly Intent[], { tokens = [] }: Alongside = {}): void {
    this.#parts.transactions.durable(() => {
      for (const intent of intents) this.#intend(intent);
      this.#parts.tokens.keep(tokens);
    });
  }

  /**
   * Writes the COMMIT of any number of units, all or none. A power cut may undo the last commits; a crash of cosmig does
   * not.
   */
  commit(
    commits: readonly Commit[],
    { tokens = [], targetTokens = [], counters = {} }: Alongside = {},
  ): void {
    this.#parts.transactions.run(() => {
      for (const commit of commits) this.#commit(commit);
      this.#parts.tokens.keep(tokens);
      this.#parts.targetTokens.keep(targetTokens);
      this.#count(counters);
      this.#sql.keepSequence.run(this.#sequence);
    });
  }

  /** Returns the unit numbers that have an intent and no commit, oldest first. */
  unsettled(): number[] {
    return this.#parts.transactions.read(() => this.#sql.units.all());
  }

  /**
   * Reads the intent of a unit. `keyLevels`: how many levels the source key has, which the names of documents contain.
   * The segments of the intent are first replaced by single claims, because these can be settled one by one.
   */
  readIntent(unit: number, keyLevels: number): Unsettled {
    const width = 1 + keyLevels;
    return this.#parts.transactions.run(() => {
      const row = this.#sql.intent.get(unit);
      assert(row !== undefined, 'an intent is read while it is there');
      this.#unpackSegments(unit, width);
      return {
        unit,
        lease: orNull(row, 'lease', number),
        feed: oneOf(row, 'feed', FEEDS),
        claims: this.#sql.readClaims.all(unit).map((one) => parseClaim(one, width)),
      };
    });
  }

  /**
   * Stores what settling has found, and deletes the claims and units that are settled, in one transaction. A later run
   * can settle the rest. Durable.
   */
  settle({ units = [], claims = [], rows = [], overrides = [], counters = {} }: Settlement): void {
    this.#parts.transactions.durable(() => {
      for (const { unit, number: claim } of claims) this.#sql.dropClaim.run({ unit, number: claim });
      for (const unit of units) {
        this.#sql.dropSegments.run(unit);
        this.#drop(unit);
      }
      this.#keep({ rows, overrides });
      this.#count(counters);
      this.#sql.keepSequence.run(this.#sequence);
    });
  }

  #count(counters: Readonly<Record<string, number>>): void {
    for (const [name, delta] of Object.entries(counters)) this.#parts.counters.add(name, delta);
  }

  #intend({ unit, lease, feed, copied, claims = [] }: Intent): void {
    this.#sql.intend.run({ unit, lease, feed });
    if (lease !== null && copied !== undefined) {
      // A merge of ranges may have joined the lease's index to another one. Documents with the old index id would be
      // missing there.
      assert(
        this.#parts.leases.get(lease).indexId === copied.indexId,
        'a page goes to the index that its lease has now',
      );
    }
    for (const part of copied?.parts ?? []) {
      const { count, lsnBase, data } = part;
      const indexId = copied?.indexId ?? 0;
      const checksum = checksumOf(feed, count, lsnBase, data);
      const { lastInsertRowid } = this.#sql.segment.run({ indexId, feed, count, lsnBase, checksum, data });
      const segment = Number(lastInsertRowid);
      this.#sql.names.run(unit, segment, checksumOf(segment, part.names), part.names);
    }
    this.#claim(unit, claims);
  }

  #claim(unit: number, claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    let next = this.#sql.claims.get(unit) ?? 0;
    for (const claim of claims) {
      next += 1;
      const [targetKey, name] = [packKey(claim.targetKey), packName(claim.name)];
      this.#sql.claim.run({ ...claim, unit, number: next, targetKey, name });
    }
  }

  #unpackSegments(unit: number, width: number): void {
    const segments = this.#sql.readSegments.all(unit);
    if (segments.length === 0) return;
    for (const segment of segments) {
      const part = parseIntended(segment);
      const claims = readNames(part.names, width).map((name, at): Claim => {
        const { identity, slot, targetKey } = readEntry(part, at);
        return { kind: 'write', identity: Buffer.from(identity), slot: Buffer.from(slot), targetKey, name };
      });
      this.#claim(unit, claims);
    }
    this.#sql.dropSegments.run(unit);
    this.#sql.dropNames.run(unit);
  }

  #commit({ unit, move, outcomes = [], rows = [], overrides = [], letters = [] }: Commit): void {
    if (move !== null) {
      const oldest = this.#sql.oldest.get(move.lease) ?? unit;
      assert(oldest >= unit, 'a position moves when all older pages of its lease are committed');
      this.#parts.leases.move(move);
    }
    let from = 0;
    for (const segment of this.#sql.segmentsOf.all(unit)) {
      const count = number(segment, 'documents');
      const { base, marks } = packMarks(outcomes.slice(from, from + count));
      const ofSegment = number(segment, 'segment');
      this.#sql.outcome.run(ofSegment, base, checksumOf(ofSegment, base, marks), marks);
      from += count;
    }
    assert(from === outcomes.length, 'every copied document of a page has an outcome, and no other');
    this.#keep({ rows, overrides });
    for (const letter of letters) this.#parts.letters.change(letter);
    this.#drop(unit);
  }

  #keep({ rows, overrides }: { rows: readonly LedgerRow[]; overrides: readonly Override[] }): void {
    for (const row of rows) this.#parts.rows.put(row);
    for (const override of overrides) this.#parts.rows.override(override);
  }

  #drop(unit: number): void {
    this.#sql.dropNames.run(unit);
    this.#sql.dropClaims.run(unit);
    this.#sql.dropIntent.run(unit);
  }
}

/** Reads a segment with its names; refuses one that was damaged. */
function parseIntended(row: Columns): FinishedSegment {
  const count = number(row, 'documents');
  const lsnBase = number(row, 'lsn_base');
  const [data, names] = [bytes(row, 'entries'), bytes(row, 'names')];
  refuseChanged(number(row, 'checksum'), oneOf(row, 'feed', FEEDS), count, lsnBase, data);
  refuseChanged(number(row, 'names_checksum'), number(row, 'segment'), names);
  return { count, lsnBase, data, names };
}

function parseClaim(row: Columns, width: number): StoredClaim {
  const [name = []] = readNames(bytes(row, 'name'), width);
  return {
    unit: number(row, 'unit'),
    number: number(row, 'number'),
    kind: oneOf(row, 'kind', CLAIM_KINDS),
    identity: bytes(row, 'identity', HASH_BYTES),
    slot: bytes(row, 'slot', HASH_BYTES),
    targetKey: unpackKey(bytes(row, 'target_key')),
    name,
  };
}
