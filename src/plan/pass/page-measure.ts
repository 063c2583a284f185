/**
 * Measures all candidates over the pages of a source. Each page is scanned once. Invariant: a page counts for every
 * candidate or for none, and a document that changes while the source is read counts once.
 */
import type { Taken } from '../../cosmos/feed/fenced-pass.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { decodeNumber, decodeScalar, isComposite, type Scalar } from '../../documents/scalar.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import { History, type SavedHistory } from '../forecast/history.ts';
import { CandidateMeasure, type MeasureParts, type Recent, type SavedMeasure } from './candidate-measure.ts';
import { KeyColumns, TYPES } from './key-columns.ts';
import { writeKeyWords } from './key-words.ts';
import type { ExactEntries } from '../exact/exact-entries.ts';
import { UniquePage, type UniqueKey } from '../unique/unique-values.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** What is measured of all documents, whatever the key. */
export interface SourceTotals {
  documents: number;
  bytes: number;
  /** The largest document. */
  bytesMax: number;
  /** The time of the oldest and the newest write, in seconds since the epoch; 0: no document was read. */
  firstTs: number;
  lastTs: number;
  /** Documents behind the fence: they changed while the source was read. */
  behind: number;
  /** The number of documents that the service reported when everything was read; null: not asked yet, or not reported. */
  reported: number | null;
  /** The share of the source that is read. */
  share: number;
  /** The candidates that were proposed. Another sample may lead to others, so an interrupted pass keeps its own. */
  proposals: readonly Proposal[];
}

export interface Proposal {
  readonly key: string;
  readonly proposed: string;
}

export interface SavedPages {
  readonly totals: SourceTotals & { readonly history: SavedHistory };
  readonly candidates: readonly SavedMeasure[];
}

const NOTHING: Readonly<SourceTotals> = {
  documents: 0,
  bytes: 0,
  bytesMax: 0,
  firstTs: 0,
  lastTs: 0,
  behind: 0,
  reported: null,
  share: 1,
  proposals: [],
};

export interface PageMeasureParts {
  readonly saved?: SavedPages | undefined;
  /** The path of the creation date, if documents have one. */
  readonly created?: Path | undefined;
  /** The unique keys of the container. */
  readonly uniqueKeys?: readonly UniqueKey[];
  /** Takes an entry of each document and candidate (`--exact`). */
  readonly exact?: ExactEntries | undefined;
}

export class PageMeasure {
  readonly totals: SourceTotals;
  /** When documents were created, or last written if no property has that date. */
  readonly history: History;
  readonly candidates: readonly CandidateMeasure[];
  readonly #scan: PageScan;
  readonly #columns: KeyColumns;
  readonly #recent: Recent;
  /** The node of the creation date; undefined: `_ts` has to do. */
  readonly #created: number | undefined;
  readonly #unique: UniquePage | undefined;
  readonly #exact: ExactEntries | undefined;

  /** `nowTs` is the service's time when the plan began: the last hour and the last day end there. */
  constructor(
    candidates: readonly MeasureParts[],
    nowTs: number,
    { saved, created, uniqueKeys = [], exact }: PageMeasureParts = {},
  ) {
    this.#recent = { hourTs: nowTs - HOUR, dayTs: nowTs - DAY };
    const paths: readonly Path[] = [
      ...candidates.flatMap(({ plan }) => rekeyPaths(plan)),
      ...uniqueKeys.flatMap((key) => key.paths),
    ];
    this.#scan = latestVersionScan(created === undefined ? paths : [...paths, created]);
    this.#created = created === undefined ? undefined : this.#scan.nodeAt(created);
    this.history = new History(nowTs, saved?.totals.history);
    this.#columns = new KeyColumns(
      this.#scan,
      candidates.map(({ plan }) => plan),
    );
    this.candidates = candidates.map(
      (parts, at) => new CandidateMeasure(this.#scan, parts, uniqueKeys.length, saved?.candidates[at]),
    );
    if (uniqueKeys.length > 0) this.#unique = new UniquePage(this.#scan, uniqueKeys);
    this.#exact = exact;
    const { history: _history, ...totals } = saved?.totals ?? { history: undefined };
    this.totals = { ...NOTHING, ...totals };
  }

  /** Adds the documents of a page up to the fence. `check` gets the LSN of its first document before they are added. */
  take(
    page: Buffer,
    fenceLsn: number,
    check?: (firstLsn: number) => void,
  ): Taken & { readonly lastLsn: number } {
    const scan = this.#scan.scan(page);
    if (scan.count > 0) check?.(this.#numberAt(0, scan.nodes.lsn));
    const columns = this.#columns;
    columns.read(fenceLsn);
    this.#addTotals();
    this.#exact?.beginPage(columns, (row) => this.#numberAt(row, scan.nodes.lsn));
    this.#unique?.read(columns);
    for (const [at, candidate] of this.candidates.entries()) {
      const column = must(columns.keys[at], 'each candidate has its column');
      candidate.take(columns, column, this.#recent);
      candidate.addTypes(columns.types.subarray(at * TYPES.length));
      this.#exact?.takeKeys(at, column, this.#recent);
      if (this.#unique !== undefined)
        candidate.takeUnique(columns, column, this.#unique, this.#exact?.conflictsOf(at));
    }
    this.totals.behind += scan.count - columns.count;
    const lastLsn = scan.count === 0 ? 0 : this.#numberAt(scan.count - 1, scan.nodes.lsn);
    return { documents: columns.count, isBeyond: columns.count < scan.count, lastLsn };
  }

  /** What is saved of all documents, whatever the key. */
  savedTotals(): SavedPages['totals'] {
    return { ...this.totals, history: this.history.save() };
  }

  /** Adds what is counted whatever the key. */
  #addTotals(): void {
    const { count, rows, bytes: sizes, ts: times, ids } = this.#columns;
    const { totals } = this;
    for (let i = 0; i < count; i += 1) {
      const bytes = sizes[i] ?? 0;
      const ts = times[i] ?? 0;
      totals.documents += 1;
      totals.bytes += bytes;
      totals.bytesMax = Math.max(totals.bytesMax, bytes);
      totals.firstTs = totals.firstTs === 0 ? ts : Math.min(totals.firstTs, ts);
      totals.lastTs = Math.max(totals.lastTs, ts);
      const row = rows[i] ?? 0;
      if (this.#created === undefined) this.history.add(ts, bytes);
      else this.history.addDated(this.#scalarAt(row, this.#created), bytes);
      if (ids[2 * i] === 0 && ids[2 * i + 1] === 0) this.#readOddId(row, i);
    }
  }

  /** Hashes the id of a row for which the kernel has not done so. */
  #readOddId(row: number, i: number): void {
    const id = this.#scalarAt(row, this.#scan.nodes.id);
    if (id !== undefined) writeKeyWords([id], this.#columns.ids.subarray(2 * i, 2 * i + 2));
  }

  #scalarAt(row: number, node: number): Scalar | undefined {
    const start = this.#scan.start(row, node);
    if (start === 0 || isComposite(this.#scan.page, start)) return undefined;
    return decodeScalar(this.#scan.page, start, this.#scan.end(row, node));
  }

  /** Returns a number of the row; 0 if it is missing. */
  #numberAt(row: number, node: number): number {
    const start = this.#scan.start(row, node);
    return start === 0 ? 0 : decodeNumber(this.#scan.page, start, this.#scan.end(row, node));
  }
}
