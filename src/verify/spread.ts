/**
 * How many documents each physical partition has, on both sides, from the last time that all of them were counted.
 * Invariant: a number is a count. Where partitions were counted together, because they were split meanwhile, they have
 * one number.
 */
import type { ReadPart } from '../cosmos/feed/fenced-pass.ts';
import type { SideName } from '../cosmos/side.ts';
import { json, number, text, type Columns } from '../lib/sqlite/column.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';
import type { RangeCount } from './counts/count-ranges.ts';
import { readVerifyFile } from './read-verify-file.ts';

/** An interval of the key space, its documents, and the physical partitions that it consists of. */
export interface PartitionCount {
  readonly ids: readonly string[];
  readonly min: string;
  readonly max: string;
  readonly documents: number;
}

export type SpreadCounts = Readonly<Record<SideName, readonly PartitionCount[]>>;

/** The counts, when they were made, and for which settings of the migration. */
export interface CountedSpread {
  readonly atMs: number;
  readonly fingerprint: string;
  readonly counts: SpreadCounts;
}

export class SpreadRecord {
  readonly #transactions: Transactions;
  readonly #put;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#put = database.prepare(
      'INSERT OR REPLACE INTO spread (id, at_ms, fingerprint, counts) VALUES (1, @atMs, @fingerprint, @counts)',
    );
  }

  put({ counts, ...made }: CountedSpread): void {
    this.#transactions.run(() => this.#put.run({ ...made, counts: JSON.stringify(counts) }));
  }
}

/** Returns the last counts in a verify file; null: none. Needs no lock. */
export function lastSpread(path: string): CountedSpread | null {
  return readVerifyFile(path, 'spread', (database) => {
    const row = database.prepare<[], Columns>('SELECT * FROM spread').get();
    if (row === undefined) return null;
    return {
      atMs: number(row, 'at_ms'),
      fingerprint: text(row, 'fingerprint'),
      counts: json(row, 'counts') as SpreadCounts,
    };
  });
}

/** Returns the counts of ranges that a query has counted. */
export function countsOfRanges(ranges: readonly RangeCount[]): PartitionCount[] {
  return joined(ranges.map((range) => ({ ...range, joins: null })));
}

/** Returns the counts of parts that were read. */
export function countsOfParts(parts: readonly ReadPart[]): PartitionCount[] {
  return joined(parts.map((part) => ({ ...part, id: part.rangeId, joins: part.countedWith ?? null })));
}

/** A count, and the beginning of the interval whose count includes a part of its documents. */
type Joining = RangeCount & { readonly joins: string | null };

/** Joins neighbours that belong to one partition since a merge, or were counted together before a split. */
function joined(counts: readonly Joining[]): PartitionCount[] {
  const found: PartitionCount[] = [];
  for (const { id, min, max, documents, joins } of counts.toSorted((a, b) => (a.min < b.min ? -1 : 1))) {
    const last = found.at(-1);
    if (last !== undefined && (last.ids.includes(id) || (joins !== null && joins >= last.min))) {
      const ids = [...new Set([...last.ids, id])];
      found[found.length - 1] = { ids, min: last.min, max, documents: last.documents + documents };
    } else found.push({ ids: [id], min, max, documents });
  }
  return found;
}
