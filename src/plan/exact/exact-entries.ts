/**
 * Collects the entries of all documents and candidates, and writes them to the file in chunks. Each section of a chunk is
 * sorted, so that the file is read in order later without another copy of it. Invariant: what was written since the last
 * checkpoint is not part of the file until the plan file has recorded it.
 */
import { assert, must } from '../../lib/assert.ts';
import type { Recent } from '../pass/candidate-measure.ts';
import { ROW_STATE, type KeyColumn, type KeyColumns } from '../pass/key-columns.ts';
import type { ConflictSink } from '../unique/unique-measure.ts';
import {
  AFTER_KEY,
  EntryList,
  EntrySorter,
  OF_LAST_DAY,
  OF_LAST_HOUR,
  ADDRESS_ENTRY,
  SIZE_BITS,
  sumOf,
  UNIQUE_ENTRY,
} from './entries.ts';
import { SectionCheck, type ExactChunk, type ExactFile, type IntervalPair } from './exact-file.ts';
import { EntryMerge, type EntryRun } from './merge.ts';

/** So many documents are collected in memory at most: a few dozen bytes of each for every candidate. */
const DOCUMENTS_MAX = 65_536;
/** Documents are numbered by a word. */
const NUMBERS_MAX = 2 ** 32 - 1;
/** The number of an interval shares a word with the upper half of an LSN. */
const INTERVALS_MAX = 2 ** 16 - 1;

/** What the entries are of. */
export interface ExactLayout {
  /** For each candidate: how many levels its key has. */
  readonly levels: readonly number[];
  /** How many unique keys the container has. */
  readonly uniqueKeys: number;
}

/** Where a document was found. */
export interface FeedAddress {
  readonly interval: IntervalPair;
  readonly lsn: number;
}

/** Returns how many bytes a document has in the file. */
export function entryBytes({ levels, uniqueKeys }: ExactLayout): number {
  const words = levels.map((count) => 2 * count + AFTER_KEY.words + uniqueKeys * UNIQUE_ENTRY.words);
  return 4 * (ADDRESS_ENTRY.words + words.reduce((sum, each) => sum + each, 0));
}

export class ExactEntries {
  readonly #file: ExactFile;
  readonly #layout: ExactLayout;
  readonly #sections: readonly EntryList[];
  readonly #sorter = new EntrySorter();
  readonly #chunks: ExactChunk[];
  #saved: number;
  #end = 0;
  #documents = 0;
  #intervals: IntervalPair[] = [];
  #interval = 0;
  #page: KeyColumns | undefined;
  /** The number of the first document of the page. */
  #first = 0;

  /** `chunks` are those that the plan file has recorded. */
  constructor(file: ExactFile, layout: ExactLayout, chunks: readonly ExactChunk[]) {
    this.#file = file;
    this.#layout = layout;
    const { levels, uniqueKeys } = layout;
    this.#sections = [
      new EntryList(ADDRESS_ENTRY.words),
      ...levels.flatMap((count) => [
        new EntryList(2 * count + AFTER_KEY.words),
        ...Array.from({ length: uniqueKeys }, () => new EntryList(UNIQUE_ENTRY.words)),
      ]),
    ];
    this.#chunks = [...chunks];
    this.#saved = chunks.length;
    for (const chunk of chunks) {
      this.#end = this.#startOf(chunk, this.#sections.length);
      this.#documents += chunk.sections[0]?.count ?? 0;
    }
    if (!file.reaches(this.#end)) throw file.damaged('it is shorter than what was recorded of it');
    file.cut(this.#end);
  }

  get path(): string {
    return this.#file.path;
  }

  get sizeBytes(): number {
    return this.#end;
  }

  /** Sets the part of the key space from which the next documents come. */
  beginPart({ min, max }: { readonly min: string; readonly max: string }): void {
    const known = this.#intervals.findIndex(([low, high]) => low === min && high === max);
    this.#interval = known >= 0 ? known : this.#intervals.push([min, max]) - 1;
    assert(this.#interval <= INTERVALS_MAX, 'a container has fewer ranges');
  }

  /** Begins a page. The entries of its documents for the candidates follow. */
  beginPage(columns: KeyColumns, lsnOf: (row: number) => number): void {
    const addresses = must(this.#sections[0], 'the addresses of documents are the first section');
    const { count, rows } = columns;
    assert(this.#documents + addresses.count + count < NUMBERS_MAX, 'documents are numbered by a word');
    this.#page = columns;
    this.#first = this.#documents + addresses.count;
    for (let i = 0; i < count; i += 1) {
      const lsn = lsnOf(rows[i] ?? 0);
      const at = addresses.add();
      const { target } = addresses;
      target[at + ADDRESS_ENTRY.lsnLow] = lsn;
      target[at + ADDRESS_ENTRY.intervalAndLsnHigh] =
        this.#interval * 2 ** 16 + (Math.floor(lsn / 2 ** 32) & 0xffff);
    }
  }

  /** Adds the rows of the page that have a key under a candidate. */
  takeKeys(candidate: number, { states, words }: KeyColumn, { dayTs, hourTs }: Recent): void {
    const keys = must(this.#sections[this.#sectionOf(candidate)], 'each candidate has a section');
    const { count, ids, bytes, ts } = must(this.#page, 'a page has begun');
    const keyWords = keys.width - AFTER_KEY.words;
    for (let i = 0; i < count; i += 1) {
      if (states[i] === ROW_STATE.odd) continue;
      const at = keys.add();
      const { target } = keys;
      // The columns have the low word of a hash first. Entries have the high word first, by which they are sorted.
      for (let word = 0; word < keyWords; word += 1)
        target[at + word] = words[keyWords * i + (word ^ 1)] ?? 0;
      const after = at + keyWords;
      target[after + AFTER_KEY.id] = ids[2 * i + 1] ?? 0;
      target[after + AFTER_KEY.id + 1] = ids[2 * i] ?? 0;
      const writtenTs = ts[i] ?? 0;
      target[after + AFTER_KEY.size] =
        Math.min(bytes[i] ?? 0, SIZE_BITS) +
        (writtenTs > dayTs ? OF_LAST_DAY : 0) +
        (writtenTs > hourTs ? OF_LAST_HOUR : 0);
      target[after + AFTER_KEY.number] = this.#first + i;
    }
  }

  /** Returns what takes the rows of the page for the unique keys under a candidate. */
  conflictsOf(candidate: number): ConflictSink {
    const section = this.#sectionOf(candidate) + 1;
    return (uniqueKey, i, hash) => {
      const list = must(this.#sections[section + uniqueKey], 'each unique key has a section');
      const at = list.add();
      const { target } = list;
      for (let word = 0; word < UNIQUE_ENTRY.number; word += 1) target[at + word] = hash[word] ?? 0;
      target[at + UNIQUE_ENTRY.number] = this.#first + i;
    };
  }

  /** Writes a chunk if much is in memory. Called between two pages. */
  spillIfFull(): void {
    if ((this.#sections[0]?.count ?? 0) >= DOCUMENTS_MAX) this.#spill();
  }

  /** Writes what is in memory; returns the chunks that were not recorded yet, whose bytes are now on the disk. */
  unsaved(): readonly ExactChunk[] {
    if ((this.#sections[0]?.count ?? 0) > 0) this.#spill();
    if (this.#chunks.length > this.#saved) this.#file.sync();
    return this.#chunks.slice(this.#saved);
  }

  /** Called when all chunks are recorded. */
  markSaved(): void {
    this.#saved = this.#chunks.length;
  }

  /** Reads the key entries of a candidate in order. */
  keysOf(candidate: number): OrderedEntries {
    return this.#ordered(this.#sectionOf(candidate));
  }

  /** Reads the entries of a unique key of a candidate in order. */
  uniqueOf(candidate: number, uniqueKey: number): OrderedEntries {
    return this.#ordered(this.#sectionOf(candidate) + 1 + uniqueKey);
  }

  /** Returns where a document was found. */
  addressOf(number: number): FeedAddress {
    let before = 0;
    for (const chunk of this.#chunks) {
      const count = chunk.sections[0]?.count ?? 0;
      if (number < before + count) {
        const words = new Uint32Array(ADDRESS_ENTRY.words);
        this.#file.read(chunk.start + (number - before) * 4 * ADDRESS_ENTRY.words, words);
        const high = words[ADDRESS_ENTRY.intervalAndLsnHigh] ?? 0;
        const interval = chunk.intervals[Math.floor(high / 2 ** 16)];
        if (interval === undefined) throw this.#file.damaged('the address of a document has no range');
        return { interval, lsn: (high & 0xffff) * 2 ** 32 + (words[ADDRESS_ENTRY.lsnLow] ?? 0) };
      }
      before += count;
    }
    throw this.#file.damaged('a document has no address');
  }

  #sectionOf(candidate: number): number {
    return 1 + candidate * (1 + this.#layout.uniqueKeys);
  }

  #ordered(section: number): OrderedEntries {
    const { width } = must(this.#sections[section], 'the section exists');
    const check = new SectionCheck(
      this.#file,
      this.#chunks.flatMap(({ sections }) => sections[section] ?? []),
    );
    const runs = this.#chunks.map((chunk): EntryRun => ({
      start: this.#startOf(chunk, section),
      count: chunk.sections[section]?.count ?? 0,
    }));
    return { merge: new EntryMerge({ runs, width, read: check.read }), width, end: () => check.end() };
  }

  #spill(): void {
    const start = this.#end;
    let end = start;
    const sections = this.#sections.map((list, index) => {
      const { words, width, count } = list;
      // Addresses are found by the number of their document, and stay in this order.
      end = this.#file.write(end, index === 0 ? words : this.#sorter.sort(words, width));
      return { count, sum: sumOf(words) };
    });
    this.#chunks.push({ start, sections, intervals: this.#intervals });
    this.#end = end;
    this.#documents += sections[0]?.count ?? 0;
    for (const list of this.#sections) list.clear();
    const current = this.#intervals[this.#interval];
    this.#intervals = current === undefined ? [] : [current];
    this.#interval = 0;
  }

  /** Returns where a section of a chunk begins in the file. */
  #startOf({ start, sections }: ExactChunk, section: number): number {
    let at = start;
    for (let before = 0; before < section; before += 1)
      at += (sections[before]?.count ?? 0) * 4 * (this.#sections[before]?.width ?? 0);
    return at;
  }
}

/** Entries in order. */
export interface OrderedEntries {
  readonly merge: EntryMerge;
  readonly width: number;
  /** Called when all entries were read; throws if they are not those that were written. */
  readonly end: () => void;
}
