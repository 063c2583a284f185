/**
 * One page of an answer, three ways. A plain page goes on behind the last position. An ordered page scans
 * everything, keeps places instead of texts, and fetches only the documents it returns. An aggregate is one page.
 */
import { must } from '../../../lib/assert.ts';
import { aggregation } from '../evaluate/aggregate.ts';
import { writeToken } from './continuation.ts';
import type { Resume } from './continuation.ts';
import type { CompiledQuery, Documents, QueryPage, PageLimits } from './contract.ts';
import { FirstPlaces } from './first-places.ts';
import type { OrderedPosition } from './first-places.ts';
import { compareKeys, orderKey } from './order-key.ts';
import { QueryRow } from '../evaluate/row.ts';
import type { OrderBy } from '../parse/syntax.ts';

/** Lower than any position. */
const BEFORE_ALL = -1;

/** Counts what is looked at, whichever way it is looked at. */
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

/** The items of one page and the room that is left for more. */
class Tray {
  readonly items: string[] = [];
  readonly #limits: PageLimits;
  #bytes = 0;

  constructor(limits: PageLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.items.length >= countMax(this.#limits);
  }

  /** False when the item belongs on the next page. One item always has room, or nothing would ever move. */
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

/** What a page is made from. */
export interface Question {
  readonly query: CompiledQuery;
  readonly documents: Documents;
  readonly limits: PageLimits;
  readonly start: Resume | undefined;
}

export function plainPage({ query, documents, limits, start }: Question): QueryPage {
  const { offset, limit } = query.statement;
  const scan = new Scan(documents);
  const tray = new Tray(limits);
  let { position, skipped, taken } = start ?? { position: BEFORE_ALL, skipped: 0, taken: 0 };
  if (taken >= limit) return scan.page([]);
  for (const next of scan.rowsAfter(position)) {
    const item = !tray.isFull && query.keeps(next.row) ? query.project(next.row) : undefined;
    if (item !== undefined && skipped < offset) skipped++;
    else if (tray.isFull || (item !== undefined && !tray.put(item))) {
      const resume: Resume = { position, skipped, taken, key: undefined };
      return scan.page(tray.items, writeToken(query.fingerprint, resume));
    } else if (item !== undefined) {
      taken++;
      if (taken >= limit) break;
    }
    position = next.position;
  }
  return scan.page(tray.items);
}

export function orderedPage(question: Question, orderBy: OrderBy): QueryPage {
  const { query, documents, limits, start } = question;
  const { offset, limit } = query.statement;
  const scan = new Scan(documents);
  const tray = new Tray(limits);
  let taken = start?.taken ?? 0;
  if (taken >= limit) return scan.page([]);
  // The first page passes over the whole OFFSET; places behind it start where it ended.
  const skip = start === undefined ? offset : 0;
  const first = firstPlaces(question, { scan, orderBy, skip });
  let resume: Resume | undefined;
  for (const place of first.slice(skip)) {
    if (taken >= limit) break;
    const item = tray.isFull ? undefined : query.project(new QueryRow(textAt(documents, place.position)));
    if (item === undefined || !tray.put(item)) {
      return scan.page(tray.items, resume && writeToken(query.fingerprint, resume));
    }
    taken++;
    resume = { ...place, skipped: offset, taken };
  }
  return scan.page(tray.items);
}

/** As many places as the page can hold, and one more that tells whether a next page is needed. */
function firstPlaces(
  { query, limits, start }: Question,
  { scan, orderBy, skip }: { readonly scan: Scan; readonly orderBy: OrderBy; readonly skip: number },
): readonly OrderedPosition[] {
  const compare = sorting(orderBy);
  const places = new FirstPlaces(skip + countMax(limits) + 1, compare);
  const last = start?.key && { key: start.key, position: start.position };
  // Only VALUE can make no item of a document.
  const mayYieldNothing = query.statement.selection.kind === 'value';
  for (const { position, row } of scan.rowsAfter(BEFORE_ALL)) {
    if (!query.keeps(row)) continue;
    const place = { key: orderKey(row.at(orderBy.steps)), position };
    if ((last && compare(place, last) <= 0) || !places.wants(place)) continue;
    if (!mayYieldNothing || query.project(row) !== undefined) places.add(place);
  }
  return places.sorted();
}

function sorting({ descending }: OrderBy): (left: OrderedPosition, right: OrderedPosition) => number {
  const direction = descending ? -1 : 1;
  return (left, right) => compareKeys(left.key, right.key) * direction || left.position - right.position;
}

/** The same document again: nothing can have changed since the scan, because nobody waited in between. */
function textAt(documents: Documents, position: number): string {
  const [document] = documents(position - 1);
  return must(document, 'a document that was just scanned is still there').text;
}

/** The answer to a query that only counts: no document is looked at. */
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
