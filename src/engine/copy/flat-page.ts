/**
 * What the copy takes out of a page, in one pass: the operations that create its documents, the segment that claims
 * them, and apart from these the few documents that are not created. Flat, because a page has a thousand documents and
 * nearly none of them is ever looked at again.
 *
 * The rule of scans: everything is taken out of a page in one go, before anybody awaits.
 */
import { putCreate } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { shifted, type Lifetime } from '../../documents/ttl.ts';
import { Pieces } from '../../documents/page-pieces.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import type { Rekey } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import { readEntry, SegmentBuilder, type Part, type Stored } from '../../state/segments/segment.ts';
import type { Change } from '../apply/apply.ts';
import { CopyOperation, type Ends, type PageOfOperations } from './copy-operation.ts';
import type { RunContext } from '../context.ts';
import type { RowFilter } from './row-filter.ts';
import { versionPaths, VersionReader } from '../tail/source-version.ts';

export interface Reading {
  readonly anchorLsn: number;
  /** The service's time in seconds. */
  readonly nowTs: number;
  readonly indexId: number;
}

/**
 * What is noted of each: its first piece, the first of its document, and the one behind it; how much was put before its
 * operation, before its document, and up to its end; then where each value that names it starts and ends in the page,
 * and last its etag.
 */
const MARKS = 6;
/** Closes an operation, behind its document. */
const END = 0x7d;
const NO_PAGE = Buffer.alloc(0);

/** The page must stand until it is over; then another one is put here, and nothing is allocated for it. */
export class FlatPage implements PageOfOperations {
  /** How many documents are created. */
  count = 0;
  /** Documents up to the anchor, those that are not created as well. */
  documents = 0;
  /** Some lie beyond it: they belong to the tail, and the copy of the range ends here. */
  beyond = false;
  /** Identity and slot of each. */
  hashes = new Uint32Array(0);
  places: string[] = [];
  lsns = new Float64Array(0);
  /** The number of the outcome of each; 0 while there is no copy of ours. */
  outcomes = new Float64Array(0);
  parts: readonly Part[] = [];
  /** Those that do not move: refused, or deleted and perhaps known. */
  others: Change[] = [];
  readonly pieces = new Pieces();
  readonly memory = new ByteOutput(128 * 1024);
  readonly #texts: number;
  #marks = new Int32Array(0);
  #page: Buffer = NO_PAGE;
  readonly #operations: CopyOperation[] = [];
  /** Of documents that end; nothing where none of them does. */
  readonly #lifetimes: Lifetime[] = [];

  /** So many values name a document. */
  constructor(texts: number) {
    this.#texts = texts;
  }

  begin(page: Buffer, rows: number): void {
    if (this.lsns.length < rows) {
      this.hashes = new Uint32Array(rows * 8);
      this.lsns = new Float64Array(rows);
      this.outcomes = new Float64Array(rows);
      this.#marks = new Int32Array(rows * this.#width);
    }
    this.#page = page;
    this.outcomes.fill(0);
    this.pieces.begin(page);
    this.memory.clear();
    this.count = this.documents = 0;
    this.beyond = false;
    this.parts = [];
    this.others = [];
    this.#lifetimes.length = 0;
  }

  /** It is over: its page is no longer looked at, nor kept from the collector. */
  end(): void {
    this.#page = NO_PAGE;
    this.pieces.begin(NO_PAGE);
    this.parts = [];
    this.others = [];
  }

  /** Adds what moves: `names` are the nodes of the values that name it, the etag's last. */
  add(scan: PageScan, row: number, rekey: Rekey, names: readonly number[]): void {
    const { count, pieces } = this;
    const marks = this.#marks;
    let mark = count * this.#width;
    const { texts } = pieces;
    const from = texts.length;
    marks[mark] = pieces.count;
    marks[mark + 3] = pieces.length;
    putCreate(texts, rekey.key);
    pieces.own(from);
    marks[mark + 1] = pieces.count;
    marks[mark + 4] = pieces.length;
    rekey.write(pieces);
    marks[mark + 2] = pieces.count;
    marks[mark + 5] = pieces.length;
    if (rekey.lifetime !== undefined) this.#lifetimes[count] = rekey.lifetime;
    mark += MARKS;
    for (let name = 0; name < names.length; name += 1) {
      const node = names[name] ?? 0;
      marks[mark] = scan.start(row, node);
      marks[mark + 1] = scan.end(row, node);
      mark += 2;
    }
    const { hashes } = rekey;
    for (let word = 0; word < 8; word += 1) this.hashes[count * 8 + word] = hashes[word] ?? 0;
    this.places[count] = rekey.effectiveKey();
    this.count = count + 1;
  }

  /** The operation that creates a document, and its turn. */
  operation(entry: number, ends: Ends): CopyOperation {
    const operation = (this.#operations[entry] ??= new CopyOperation(this, entry));
    operation.begin(ends);
    return operation;
  }

  operationBytes(entry: number): number {
    return this.#mark(entry, 5) - this.#mark(entry, 3) + 1;
  }

  /** When a document ends, as its operation says. */
  lifetime(entry: number): Lifetime | undefined {
    return this.#lifetimeFrom(entry, 3);
  }

  writeOperation(entry: number, body: Buffer, at: number): void {
    body[this.pieces.write(this.#mark(entry, 0), this.#mark(entry, 2), body, at)] = END;
  }

  /** The same document for the long way. */
  change(entry: number, indexId: number): Change {
    const [document, behind] = [this.#mark(entry, 1), this.#mark(entry, 2)];
    const room = Buffer.alloc(this.operationBytes(entry));
    const body = room.subarray(0, this.pieces.write(document, behind, room, 0));
    const texts = Array.from({ length: this.#texts + 1 }, (_, i) => this.#text(entry, i));
    const etag = texts.pop() ?? null;
    const { identity, slot, targetKey } = this.#stored(entry);
    return {
      identity: { hash: Buffer.from(identity), name: texts },
      kind: 'upsert',
      version: {
        etag: etag === null ? '' : decodedEtag(etag),
        slot: { hash: Buffer.from(slot), key: targetKey },
        refusal: null,
        body,
        lifetime: this.#lifetimeFrom(entry, 4),
      },
      feed: 'LV',
      lsn: this.lsns[entry] ?? null,
      indexId,
    };
  }

  get #width(): number {
    return MARKS + 2 * (this.#texts + 1);
  }

  #lifetimeFrom(entry: number, mark: number): Lifetime | undefined {
    const lifetime = this.#lifetimes[entry];
    return lifetime && shifted(lifetime, this.#mark(entry, mark));
  }

  #stored(entry: number): Stored {
    let place = entry;
    const part = this.parts.find(({ count }) => place < count || ((place -= count), false));
    return readEntry(must(part, 'a document that is created is in the segments of its page'), place);
  }

  #text(entry: number, text: number): string | null {
    const start = this.#mark(entry, MARKS + 2 * text);
    return start === 0 ? null : this.#page.toString('utf8', start, this.#mark(entry, MARKS + 2 * text + 1));
  }

  #mark(entry: number, which: number): number {
    return this.#marks[entry * this.#width + which] ?? 0;
  }
}

function decodedEtag(text: string): string {
  const etag: unknown = JSON.parse(text);
  return typeof etag === 'string' ? etag : '';
}

/** More pages than these are hardly ever under way, and memory that lies about is memory used. */
const IDLE_MAX = 64;

/** What it needs of a run. */
type ReaderParts = Pick<RunContext, 'plan' | 'versions'> & {
  readonly pending: { readonly filter: Pick<RowFilter, 'mayHave'> };
};

/** Takes documents out of pages; one is enough for all ranges. */
export class CopyReader {
  readonly #context: ReaderParts;
  readonly #scan: PageScan;
  readonly #versions: VersionReader;
  readonly #segment = new SegmentBuilder();
  /** What names a document, and last its etag. */
  readonly #names: readonly number[];
  /** Of pages that are over. */
  readonly #idle: FlatPage[] = [];

  constructor(context: ReaderParts) {
    this.#context = context;
    this.#scan = latestVersionScan(versionPaths(context.versions));
    this.#versions = new VersionReader(this.#scan, context.versions);
    const { id, etag } = this.#scan.nodes;
    this.#names = [id, ...context.plan.sourcePaths.map((path) => this.#scan.nodeAt(path)), etag];
  }

  /** Throws a PageError for a damaged page, which must stand until it is over; `giveBack` says so. */
  read(page: Buffer, { anchorLsn, nowTs, indexId }: Reading): FlatPage {
    const scan = this.#scan.scan(page);
    const copied = this.#idle.pop() ?? new FlatPage(this.#names.length - 1);
    copied.begin(page, scan.count);
    this.#segment.begin(copied.memory);
    const versions = this.#versions;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = versions.lsn(row) ?? 0;
      if (lsn > anchorLsn) {
        copied.beyond = true;
        continue;
      }
      copied.documents += 1;
      if (versions.rekey.read(row, nowTs) === 'moves' && !versions.isMarked(row)) this.#add(row, copied, lsn);
      else this.#addOther(row, { copied, nowTs, indexId });
    }
    copied.parts = this.#segment.finish();
    return copied;
  }

  giveBack(copied: FlatPage): void {
    copied.end();
    if (this.#idle.length < IDLE_MAX) this.#idle.push(copied);
  }

  #add(row: number, copied: FlatPage, lsn: number): void {
    const { rekey } = this.#versions;
    const scan = this.#scan;
    copied.lsns[copied.count] = lsn;
    copied.add(scan, row, rekey, this.#names);
    const segment = this.#segment;
    segment.add({ hashes: rekey.hashes, targetKey: rekey.key, etag: null, lsn });
    const { etag } = scan.nodes;
    segment.etag(scan.page, scan.start(row, etag), scan.end(row, etag));
    for (let name = 0; name < this.#names.length - 1; name += 1) {
      const node = this.#names[name] ?? 0;
      segment.name(scan.page, scan.start(row, node), scan.end(row, node));
    }
  }

  /** A document that is not created; there may be nothing to do about it. */
  #addOther(
    row: number,
    {
      copied,
      nowTs,
      indexId,
    }: { readonly copied: FlatPage; readonly nowTs: number; readonly indexId: number },
  ): void {
    const { identity, version, lsn } = this.#versions.read(row, nowTs);
    if (version !== 'gone')
      copied.others.push({ identity, kind: 'upsert', version, feed: 'LV', lsn, indexId });
    else if (this.#context.pending.filter.mayHave(this.#versions.rekey.hashes, 0))
      copied.others.push({ identity, kind: 'delete', version: null, feed: 'LV', lsn, indexId });
  }
}
