/**
 * Makes one page of an answer, in three ways. A plain page continues after the last position. An ordered page scans
 * all documents, keeps their positions instead of their texts, and fetches only the documents that it returns. An
 * aggregate has a single page.
 *
 * Invariant: memory depends on the size of a page, not on the number of documents.
 */
import { must } from '../../../lib/assert.ts';
import { aggregation } from '../evaluate/aggregate.ts';
import { writeToken, type Resume } from './continuation.ts';
import { compareKeys, FirstPositions, orderKey, type OrderedPosition } from './ordering.ts';
import { QueryRow } from '../evaluate/values.ts';
import type { Project } from '../evaluate/project.ts';
import type { OrderBy, Statement } from '../parse/syntax.ts';

export interface StoredDocument {
  /** A number that grows from document to document and never changes for a document. */
  readonly position: number;
  /** The whole document as JSON text, system properties included. */
  readonly text: string;
}

/**
 * Returns the documents after a position, in ascending order. An ordered page calls it for each item that it returns.
 */
export type Documents = (afterPosition: number) => Iterable<StoredDocument>;

export interface QueryPage {
  /** The items as JSON texts. */
  readonly items: string[];
  readonly continuation: string | undefined;
  /** How many documents were read, and how many bytes they have. */
  readonly scanned: number;
  readonly scannedBytes: number;
}

export interface PageLimits {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly continuation: string | undefined;
}

export interface CompiledQuery {
  /** If set, only documents with this id can be results, and the caller may omit all others. */
  readonly idEquals: string | undefined;
  /** Returns whether only documents that have one certain value at this path can be results. */
  readonly requires: (path: readonly string[]) => boolean;
  /**
   * Whether the query asks only for the number of all documents, which `countPage` answers without reading documents.
   */
  readonly countsAll: boolean;
  readonly fingerprint: string;
  readonly statement: Statement;
  readonly keeps: (row: QueryRow) => boolean;
  readonly project: Project;
}

/** A position lower than that of every document. */
const BEFORE_ALL = -1;

/** Reads documents, and counts their number and bytes. */
class Scan {
  #scanned = 0;
  #scannedBytes = 0;
  readonly #documents: Documents;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  *rowsAfter(start: number): Generator<{ readonly position: number; readonly row: QueryRow }> {
    for (const { position, text } of this.#documents(start)) {
      this.#scanned++;
      this.#scannedBytes += Buffer.byteLength(text);
      yield { position, row: new QueryRow(text) };
    }
  }

  page(items: string[], continuation?: string): QueryPage {
    return { items, continuation, scanned: this.#scanned, scannedBytes: this.#scannedBytes };
  }
}

/** Collects the items of one page, within the limits of the page. */
class PageBuilder {
  readonly items: string[] = [];
  readonly #limits: PageLimits;
  #bytes = 0;

  constructor(limits: PageLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.items.length >= countMax(this.#limits);
  }

  /**
   * Adds an item; false if it belongs on the next page. The first item always fits, so that every page makes progress.
   */
  put(item: string): boolean {
    const bytes = Buffer.byteLength(item) + 1;
    if (this.isFull || (this.items.length > 0 && this.#bytes + bytes > this.#limits.maxBytes)) return false;
    this.#bytes += bytes;
    this.items.push(item);
    return true;
  }
}

function countMax(limits: PageLimits): number {
  return Math.max(1, limits.maxItems);
}

/** What a page is made from: the query, the documents, the limits, and where the page starts. */
interface Question {
  readonly query: CompiledQuery;
  readonly documents: Documents;
  readonly limits: PageLimits;
  readonly start: Resume | undefined;
}

export function plainPage({ query, documents, limits, start }: Question): QueryPage {
  const { offset, limit } = query.statement;
  const scan = new Scan(documents);
  const page = new PageBuilder(limits);
  let { position, skipped, taken } = start ?? { position: BEFORE_ALL, skipped: 0, taken: 0 };
  if (taken >= limit) return scan.page([]);
  const resume = (): string => writeToken(query.fingerprint, { position, skipped, taken, key: undefined });
  for (const next of scan.rowsAfter(position)) {
    const item = query.keeps(next.row) ? query.project(next.row) : undefined;
    if (item !== undefined && skipped < offset) skipped++;
    else if (item !== undefined) {
      if (!page.put(item)) return scan.page(page.items, resume());
      taken++;
    }
    position = next.position;
    if (taken >= limit) break;
    // As on the service, a full page does not look ahead. If nothing follows, the next page is empty.
    if (page.isFull) return scan.page(page.items, resume());
  }
  return scan.page(page.items);
}

export function orderedPage(question: Question, orderBy: OrderBy): QueryPage {
  const { query, documents, limits, start } = question;
  const { offset, limit } = query.statement;
  const scan = new Scan(documents);
  const page = new PageBuilder(limits);
  let taken = start?.taken ?? 0;
  if (taken >= limit) return scan.page([]);
  // The first page skips the whole OFFSET. A later page starts where the previous page ended.
  const skip = start === undefined ? offset : 0;
  const first = firstPositions(question, { scan, orderBy, skip });
  let last: Resume | undefined;
  const resume = (): string | undefined => last && writeToken(query.fingerprint, last);
  for (const at of first.slice(skip)) {
    if (taken >= limit) break;
    const item = query.project(new QueryRow(textAt(documents, at.position)));
    if (item === undefined || !page.put(item)) return scan.page(page.items, resume());
    taken++;
    last = { ...at, skipped: offset, taken };
  }
  return scan.page(page.items, page.isFull && taken < limit ? resume() : undefined);
}

/** Finds as many positions as fit on the page. */
function firstPositions(
  { query, limits, start }: Question,
  { scan, orderBy, skip }: { readonly scan: Scan; readonly orderBy: OrderBy; readonly skip: number },
): readonly OrderedPosition[] {
  const compare = sorting(orderBy);
  const positions = new FirstPositions(skip + countMax(limits), compare);
  const last = start?.key && { key: start.key, position: start.position };
  // Only a selection with VALUE may yield no item for a document.
  const mayYieldNothing = query.statement.selection.kind === 'value';
  for (const { position, row } of scan.rowsAfter(BEFORE_ALL)) {
    if (!query.keeps(row)) continue;
    const at = { key: orderKey(row.at(orderBy.steps)), position };
    if ((last && compare(at, last) <= 0) || !positions.wants(at)) continue;
    if (!mayYieldNothing || query.project(row) !== undefined) positions.add(at);
  }
  return positions.sorted();
}

function sorting({ descending }: OrderBy): (left: OrderedPosition, right: OrderedPosition) => number {
  const direction = descending ? -1 : 1;
  return (left, right) => compareKeys(left.key, right.key) * direction || left.position - right.position;
}

/**
 * Returns the text of a document that was just scanned. It cannot have changed, because a page is made synchronously.
 */
function textAt(documents: Documents, position: number): string {
  const [document] = documents(position - 1);
  return must(document, 'a document that was just scanned is still there').text;
}

/** Answers a query that only counts, without reading a document. */
export function countPage({ statement }: CompiledQuery, documents: number): QueryPage {
  const item = aggregation(statement.selection, documents).result();
  return { items: item === undefined ? [] : [item], continuation: undefined, scanned: 0, scannedBytes: 0 };
}

export function aggregatePage({ query, documents }: Question): QueryPage {
  const scan = new Scan(documents);
  const total = aggregation(query.statement.selection);
  for (const { row } of scan.rowsAfter(BEFORE_ALL)) if (query.keeps(row)) total.add(row);
  const item = total.result();
  return scan.page(item === undefined ? [] : [item]);
}
