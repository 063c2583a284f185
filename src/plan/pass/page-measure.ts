/**
 * Measures all candidates over the pages of a source. Each page is scanned once. Invariant: a page counts for every
 * candidate or for none, and a document that changes while the source is read counts once.
 */
import type { Taken } from '../../cosmos/feed/fenced-pass.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { decodeNumber, decodeScalar, isComposite, type Scalar } from '../../documents/scalar.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import { History, type SavedHistory } from '../forecast/history.ts';
import {
  CandidateMeasure,
  type MeasureParts,
  type RowFacts,
  type SavedMeasure,
} from './candidate-measure.ts';
import { RowHashes } from './row-hashes.ts';

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
};

export class PageMeasure {
  readonly totals: SourceTotals;
  /** When documents were created, or last written if no property has that date. */
  readonly history: History;
  readonly candidates: readonly CandidateMeasure[];
  readonly #scan: PageScan;
  readonly #hashes: RowHashes;
  /** The list with the id alone, in `#hashes`. */
  readonly #idList: number;
  readonly #nowTs: number;
  /** The node of the creation date; undefined: `_ts` has to do. */
  readonly #created: number | undefined;
  readonly #facts: RowFacts = {
    row: 0,
    bytes: 0,
    ts: 0,
    idWord: 0,
    isOfLastDay: false,
    isOfLastHour: false,
  };

  /**
   * `nowTs` is the service's time when the plan began: the last hour and the last day end there. `created` is the path of
   * the creation date, if documents have one.
   */
  constructor(
    candidates: readonly MeasureParts[],
    nowTs: number,
    { saved, created }: { readonly saved?: SavedPages | undefined; readonly created?: Path | undefined } = {},
  ) {
    this.#nowTs = nowTs;
    const paths: readonly Path[] = candidates.flatMap(({ plan }) => rekeyPaths(plan));
    this.#scan = latestVersionScan(created === undefined ? paths : [...paths, created]);
    this.#created = created === undefined ? undefined : this.#scan.nodeAt(created);
    this.history = new History(nowTs, saved?.totals.history);
    this.#hashes = new RowHashes(this.#scan);
    this.#idList = this.#hashes.listOf([this.#scan.nodes.id]);
    this.candidates = candidates.map(
      (parts, at) => new CandidateMeasure(this.#scan, this.#hashes, parts, saved?.candidates[at]),
    );
    const { history: _history, ...totals } = saved?.totals ?? { history: undefined };
    this.totals = { ...NOTHING, ...totals };
  }

  /** Adds the documents of a page up to the fence. `check` gets the LSN of its first document before they are added. */
  take(page: Buffer, fenceLsn: number, check?: (firstLsn: number) => void): Taken {
    const scan = this.#scan.scan(page);
    if (scan.count > 0) check?.(this.#numberAt(0, scan.nodes.lsn));
    this.#hashes.nextPage();
    let taken = 0;
    for (let row = 0; row < scan.count; row += 1) {
      if (this.#numberAt(row, scan.nodes.lsn) > fenceLsn) continue;
      this.#add(row);
      taken += 1;
    }
    this.totals.behind += scan.count - taken;
    return { documents: taken, isBeyond: taken < scan.count };
  }

  /** What is saved of all documents, whatever the key. */
  savedTotals(): SavedPages['totals'] {
    return { ...this.totals, history: this.history.save() };
  }

  #add(row: number): void {
    const scan = this.#scan;
    const { nodes } = scan;
    const bytes = scan.end(row, nodes.document) - scan.start(row, nodes.document);
    const ts = this.#numberAt(row, nodes.ts);
    const { totals } = this;
    totals.documents += 1;
    totals.bytes += bytes;
    totals.bytesMax = Math.max(totals.bytesMax, bytes);
    totals.firstTs = totals.firstTs === 0 ? ts : Math.min(totals.firstTs, ts);
    totals.lastTs = Math.max(totals.lastTs, ts);
    if (this.#created === undefined) this.history.add(ts, bytes);
    else this.history.addDated(this.#scalarAt(row, this.#created), bytes);
    const facts = this.#facts;
    facts.row = row;
    facts.bytes = bytes;
    facts.ts = ts;
    facts.idWord = this.#hashes.words[this.#hashes.read(row, this.#idList)] ?? 0;
    facts.isOfLastDay = ts > this.#nowTs - DAY;
    facts.isOfLastHour = ts > this.#nowTs - HOUR;
    const { candidates } = this;
    for (let at = 0; at < candidates.length; at += 1) candidates[at]?.add(facts);
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
