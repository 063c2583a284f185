/**
 * Reads what is new in the journal of a ledger while another part of the process works with it. Invariant: it changes
 * nothing, and a ledger that cannot be read is silence: the run itself reports what is wrong with it.
 */
import { CosmigError } from '../lib/errors.ts';
import type { JournalEntry } from '../state/journal.ts';
import { Ledger } from '../state/ledger.ts';

/** How many entries are read at once. A cutover that goes on for long may write one for each late write. */
const ENTRIES_MAX = 1000;

export class JournalReader {
  /** The number of open dead letters when the reading began. */
  readonly openLetters: number;
  readonly #path: string;
  #after: number;

  /** Begins after the newest entry. */
  constructor(path: string) {
    this.#path = path;
    const begin = this.#read((ledger) => ({
      after: ledger.journal.newest(1)[0]?.number ?? 0,
      openLetters: ledger.letters.openCount(),
    }));
    this.#after = begin?.after ?? 0;
    this.openLetters = begin?.openLetters ?? 0;
  }

  /** Returns the entries that were written since the last call. */
  next(): readonly JournalEntry[] {
    const entries =
      this.#read((ledger) => ledger.journal.entries({ after: this.#after, limit: ENTRIES_MAX })) ?? [];
    this.#after = entries.at(-1)?.number ?? this.#after;
    return entries;
  }

  #read<T>(read: (ledger: Ledger) => T): T | undefined {
    try {
      using ledger = Ledger.openReadonly(this.#path);
      return read(ledger);
    } catch (error) {
      if (error instanceof CosmigError) return undefined;
      throw error;
    }
  }
}
