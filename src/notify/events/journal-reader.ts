/**
 * Reads what is new in the journal of a ledger while another part of the process works with it. Invariant: it changes
 * nothing, and a ledger that cannot be read is silence: the run itself reports what is wrong with it.
 */
import { existsSync } from 'node:fs';
import { CosmigError } from '../../lib/errors.ts';
import type { JournalEntry } from '../../state/journal.ts';
import { Ledger } from '../../state/ledger.ts';
import type { NamedRun } from './happening.ts';

/** How many entries are read at once. A cutover that goes on for long may write one for each late write. */
const ENTRIES_MAX = 1000;

/** The run of this process, as the ledger names it. */
export interface OwnRun extends NamedRun {
  /** What the migration has moved so far, as a text. */
  readonly moved: string;
}

export class JournalReader {
  /** The number of open dead letters when the reading began; null: not known. */
  readonly openLetters: number | null;
  readonly #path: string;
  /** The number of the last entry that is not new; null: not known yet. */
  #after: number | null;
  /** The number of the newest run of the past; null: not known yet. */
  #runBefore: number | null;
  #ledgerName: string | null = null;

  /** Begins after the newest entry. */
  constructor(path: string) {
    this.#path = path;
    if (!existsSync(path)) {
      [this.#after, this.#runBefore, this.openLetters] = [0, 0, 0];
      return;
    }
    const begin = this.#read((ledger) => ({
      ...newestOf(ledger),
      openLetters: ledger.letters.openCount(),
    }));
    this.#after = begin?.after ?? null;
    this.#runBefore = begin?.run ?? null;
    this.openLetters = begin?.openLetters ?? null;
  }

  /** Returns the entries that were written since the last call. */
  next(): readonly JournalEntry[] {
    const after = this.#after;
    if (after === null) {
      // The run has made the ledger readable, such as that of an older cosmig. What it holds may be old.
      const newest = this.#read(newestOf);
      this.#after = newest?.after ?? null;
      // The run of this process has begun, since only a run changes such a ledger.
      this.#runBefore = newest === undefined ? null : newest.run - 1;
      return [];
    }
    const entries = this.#read((ledger) => ledger.journal.entries({ after, limit: ENTRIES_MAX })) ?? [];
    this.#after = entries.at(-1)?.number ?? after;
    return entries;
  }

  /** Returns the random name of the ledger; null: it cannot be read. */
  ledgerName(): string | null {
    this.#ledgerName ??= this.#read(({ migration }) => migration.read().ledgerName) ?? null;
    return this.#ledgerName;
  }

  /** Returns the newest run of this process; null: it has begun none, or the ledger cannot be read. */
  ownRun(): OwnRun | null {
    const before = this.#runBefore;
    const own = this.#read(({ runs, counters }) => {
      const last = runs.last();
      if (last === null || before === null || last.number <= before || last.pid !== process.pid) return null;
      return { number: last.number, startedAtMs: last.startedAtMs, moved: movedText(counters.all()) };
    });
    return own ?? null;
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

function newestOf({ journal, runs }: Ledger): { readonly after: number; readonly run: number } {
  return { after: journal.newest(1)[0]?.number ?? 0, run: runs.last()?.number ?? 0 };
}

/** Returns what all runs have moved, as a text that changes with each commit. */
export function movedText(totals: Readonly<Record<string, number>>): string {
  const { documentsRead = 0, documentsWritten = 0, documentsDeleted = 0, documentsMoved = 0 } = totals;
  return [documentsRead, documentsWritten, documentsDeleted, documentsMoved].join(' ');
}
