/**
 * Reads what is new in the journal of a ledger while another part of the process works with it. Invariant: it changes
 * nothing, and a ledger that cannot be read is silence: the run itself reports what is wrong with it.
 */
import { existsSync } from 'node:fs';
import { CosmigError } from '../lib/errors.ts';
import type { JournalEntry } from '../state/journal.ts';
import { Ledger } from '../state/ledger.ts';

/** How many entries are read at once. A cutover that goes on for long may write one for each late write. */
const ENTRIES_MAX = 1000;

export class JournalReader {
  /** The number of open dead letters when the reading began; null: not known. */
  readonly openLetters: number | null;
  readonly #path: string;
  /** The number of the last entry that is not new; null: not known yet. */
  #after: number | null;

  /** Begins after the newest entry. */
  constructor(path: string) {
    this.#path = path;
    if (!existsSync(path)) {
      [this.#after, this.openLetters] = [0, 0];
      return;
    }
    const begin = this.#read((ledger) => ({
      after: newestOf(ledger),
      openLetters: ledger.letters.openCount(),
    }));
    this.#after = begin?.after ?? null;
    this.openLetters = begin?.openLetters ?? null;
  }

  /** Returns the entries that were written since the last call. */
  next(): readonly JournalEntry[] {
    const after = this.#after;
    if (after === null) {
      // The run has made the ledger readable, such as that of an older cosmig. What it holds may be old.
      this.#after = this.#read(newestOf) ?? null;
      return [];
    }
    const entries = this.#read((ledger) => ledger.journal.entries({ after, limit: ENTRIES_MAX })) ?? [];
    this.#after = entries.at(-1)?.number ?? after;
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

function newestOf({ journal }: Ledger): number {
  return journal.newest(1)[0]?.number ?? 0;
}
