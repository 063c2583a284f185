/**
 * Makes one page of an answer, in four ways. A plain page continues after the last row. An ordered page scans all
 * documents, keeps the positions of rows instead of their texts, and fetches only the documents that it returns. A
 * gathered page, of DISTINCT or GROUP BY, makes the whole answer each time and returns a part of it. An aggregate has a
 * single page.
 *
 * Invariant: memory depends on the size of a page, and for a gathered page on the number of different items.
 */
import { must } from '../../../lib/assert.ts';
import { aggregation } from '../evaluate/aggregate.ts';
import { writeToken, type Resume } from './continuation.ts';
import { compareKeys, FirstPositions, orderKeys, type OrderedPosition, type OrderKeys } from './ordering.ts';
import { evaluator } from '../evaluate/evaluator.ts';
import { canonicalText, QueryRow, type SqlValue } from '../evaluate/values.ts';
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
  /** Whether a full page looks for a further result, so that it has a token only if one follows. */
  readonly looksAhead?: boolean;
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
  /** Makes the rows of one document: several if FROM or JOIN takes the items of an array. */
  readonly rows: (document: QueryRow) => Iterable<QueryRow>;
  readonly keeps: (row: QueryRow) => boolean;
  readonly project: Project;
}

/** A position lower than that of every document. */
const BEFORE_ALL = -1;

/** A row of a query, with the position of its document and its number among the rows of that document. */
interface FoundRow {
  readonly position: number;
  readonly index: number;
  readonly row: QueryRow;
}

/** Reads documents, and counts their number and bytes. */
class Scan {
  #scanned = 0;
  #scannedBytes = 0;
  readonly #documents: Documents;
  readonly #query: CompiledQuery;

  constructor({ documents, query }: Question) {
    this.#documents = documents;
    this.#query = query;
  }

  /** Yields the rows after row number `index` of the document at `position`. */
  *rowsAfter(position: number, index: number): Generator<FoundRow> {
    // The document of that row is read again, since it may have more rows.
    for (const { position: at, text } of this.#documents(position - 1)) {
      this.#scanned++;
      this.#scannedBytes += Buffer.byteLength(text);
      let number = 0;
      for (const row of this.#query.rows(QueryRow.of(text))) {
        if (at > position || number > index) yield { position: at, index: number, row };
        number += 1;
      }
    }
  }

  all(): Generator<FoundRow> {
    return this.rowsAfter(BEFORE_ALL, BEFORE_ALL);
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

export function plainPage(question: Question): QueryPage {
  const { query, limits, start } = question;
  const { offset, limit } = query.statement;
  const scan = new Scan(question);
  const page = new PageBuilder(limits);
  let { position, index, skipped, taken } = start ?? {
    position: BEFORE_ALL,
    index: BEFORE_ALL,
    skipped: 0,
    taken: 0,
  };
  if (taken >= limit) return scan.page([]);
  const resume = (): string => writeToken(query.fingerprint, { position, index, skipped, taken, keys: [] });
  for (const next of scan.rowsAfter(position, index)) {
    const item = query.keeps(next.row) ? query.project(next.row) : undefined;
    if (item !== undefined && skipped < offset) skipped++;
    else if (item !== undefined) {
      if (!page.put(item)) return scan.page(page.items, resume());
      taken++;
    }
    ({ position, index } = next);
    if (taken >= limit) break;
    if (page.isFull && limits.looksAhead !== true) return scan.page(page.items, resume());
  }
  return scan.page(page.items);
}

export function orderedPage(question: Question): QueryPage {
  const { query, limits, start } = question;
  const { offset, limit } = query.statement;
  const scan = new Scan(question);
  const page = new PageBuilder(limits);
  let taken = start?.taken ?? 0;
  if (taken >= limit) return scan.page([]);
  // The first page skips the whole OFFSET. A later page starts where the previous page ended.
  const skip = start === undefined ? offset : 0;
  const first = firstPositions(question, scan, skip);
  let last: Resume | undefined;
  const resume = (): string | undefined => last && writeToken(query.fingerprint, last);
  for (const at of first.slice(skip)) {
    if (taken >= limit) break;
    const item = query.project(rowAt(question, at));
    if (item === undefined || !page.put(item)) return scan.page(page.items, resume());
    taken++;
    last = { ...at, skipped: offset, taken };
  }
  return scan.page(page.items, page.isFull && taken < limit ? resume() : undefined);
}

/** Finds the first positions after the start: as many as OFFSET skips and the page can have. */
function firstPositions(
  { query, limits, start }: Question,
  scan: Scan,
  skip: number,
): readonly OrderedPosition[] {
  const { orderBy, selection } = query.statement;
  const keysOf = keyReader(orderBy);
  const compare = sorting(orderBy);
  const positions = new FirstPositions(skip + countMax(limits), compare);
  // Only a selection with VALUE may yield no item for a row.
  const mayYieldNothing = selection.kind === 'value';
  for (const { position, index, row } of scan.all()) {
    if (!query.keeps(row)) continue;
    const at = { keys: keysOf(row), position, index };
    if ((start && compare(at, start) <= 0) || !positions.wants(at)) continue;
    if (!mayYieldNothing || query.project(row) !== undefined) positions.add(at);
  }
  return positions.sorted();
}

function keyReader(orderBy: readonly OrderBy[]): (row: QueryRow) => OrderKeys {
  return (row) => orderKeys(orderBy.map(({ of }) => row.at(of.root, of.steps)));
}

type Ordered = Pick<OrderedPosition, 'keys' | 'position' | 'index'>;

function sorting(orderBy: readonly OrderBy[]): (left: Ordered, right: Ordered) => number {
  const directions = orderBy.map(({ descending }) => (descending ? -1 : 1));
  return (left, right) =>
    compareKeys(left.keys, right.keys, directions) ||
    left.position - right.position ||
    left.index - right.index;
}

/**
 * Returns a row that was just scanned. Its document cannot have changed, because a page is made synchronously.
 */
function rowAt({ query, documents }: Question, { position, index }: OrderedPosition): QueryRow {
  const [document] = documents(position - 1);
  const { text } = must(document, 'a document that was just scanned is still there');
  return must([...query.rows(QueryRow.of(text))][index], 'a document has the rows that it had');
}

/**
 * Makes a page of DISTINCT or GROUP BY. The page begins after the items of earlier pages; the token has their number.
 */
export function gatheredPage(question: Question): QueryPage {
  const { query, limits, start } = question;
  const { offset, limit, groupBy } = query.statement;
  const scan = new Scan(question);
  const page = new PageBuilder(limits);
  const items = groupBy.length > 0 ? groups(question, scan) : differentItems(question, scan);
  let taken = start?.taken ?? 0;
  for (const item of items.slice(offset + taken, offset + limit)) {
    if (!page.put(item)) break;
    taken++;
  }
  const isDone = taken >= Math.min(limit, items.length - offset);
  const resume = { position: BEFORE_ALL, index: BEFORE_ALL, skipped: offset, taken, keys: [] };
  return scan.page(page.items, isDone ? undefined : writeToken(query.fingerprint, resume));
}

function differentItems({ query }: Question, scan: Scan): readonly string[] {
  const { orderBy } = query.statement;
  const keysOf = keyReader(orderBy);
  const found = new Map<string, Ordered & { readonly item: string }>();
  for (const { position, index, row } of scan.all()) {
    const item = query.keeps(row) ? query.project(row) : undefined;
    if (item === undefined) continue;
    const key = canonicalText(JSON.parse(item) as SqlValue);
    if (!found.has(key)) found.set(key, { keys: keysOf(row), position, index, item });
  }
  return [...found.values()].sort(sorting(orderBy)).map(({ item }) => item);
}

function groups({ query }: Question, scan: Scan): readonly string[] {
  const { groupBy, selection } = query.statement;
  const keys = groupBy.map(({ of }) => evaluator(of));
  const found = new Map<string, ReturnType<typeof aggregation>>();
  for (const { row } of scan.all()) {
    if (!query.keeps(row)) continue;
    // The values are put into an object, because in an array JSON writes a missing value as null.
    const key = canonicalText(Object.fromEntries(keys.map((keyOf, level) => [level, keyOf(row)])));
    let group = found.get(key);
    if (group === undefined) {
      group = aggregation(selection, evaluator);
      found.set(key, group);
    }
    group.add(row);
  }
  return [...found.values()].map((group) => group.result()).filter((item) => item !== undefined);
}

/** Answers a query that only counts, without reading a document. */
export function countPage({ statement }: CompiledQuery, documents: number): QueryPage {
  const item = aggregation(statement.selection, evaluator, documents).result();
  return { items: item === undefined ? [] : [item], continuation: undefined, scanned: 0, scannedBytes: 0 };
}

export function aggregatePage(question: Question): QueryPage {
  const { query } = question;
  const scan = new Scan(question);
  const total = aggregation(query.statement.selection, evaluator);
  for (const { row } of scan.all()) if (query.keeps(row)) total.add(row);
  const item = total.result();
  return scan.page(item === undefined ? [] : [item]);
}
