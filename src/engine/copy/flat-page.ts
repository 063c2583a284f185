/**
 * The documents of a page that were read value by value, as pieces of the page and added texts. All data is in flat arrays
 * that the next page uses again. Invariant: `entry` is the number of a document in all arrays.
 */
import { putCreate } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { Pieces } from '../../documents/page-pieces.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { keyStart } from '../../documents/scalar.ts';
import { refreshTtl, shifted, type Lifetime } from '../../documents/ttl.ts';
import type { Rekey } from '../../keys/rekey.ts';

/*
 * The marks of an entry. The first six are three positions, each given twice: where its operation begins, where its
 * document begins, and where both end; first as indexes in `pieces`, then as offsets in the bytes of all pieces. Then come
 * the start and the end of its etag in the page.
 */
const OPERATION_PIECE = 0;
const DOCUMENT_PIECE = 1;
const END_PIECE = 2;
const OPERATION_BYTE = 3;
const DOCUMENT_BYTE = 4;
const END_BYTE = 5;
const ETAG = 6;
const ETAG_END = 7;
const MARKS = 8;
/** Ends an operation, after its document. */
const CLOSING_BRACE = 0x7d;
const NO_PAGE = Buffer.alloc(0);

export class FlatPage {
  count = 0;
  #page: Buffer = NO_PAGE;
  /** Eight 32-bit words for each entry: four of its identity's hash, then four of its slot's. */
  hashes = new Uint32Array(0);
  readonly effectiveKeys: string[] = [];
  /** The memory of the segments of these documents. */
  readonly segments = new ByteOutput(0);
  readonly #pieces = new Pieces();
  #marks = new Int32Array(0);
  /** The lifetimes by entry. The array is sparse, since only documents that expire have a lifetime. */
  readonly #lifetimes: Lifetime[] = [];

  begin(page: Buffer, rows: number): void {
    if (this.#marks.length < rows * MARKS) {
      this.hashes = new Uint32Array(rows * 8);
      this.#marks = new Int32Array(rows * MARKS);
    }
    this.#page = page;
    this.#pieces.begin(page);
    this.segments.clear();
    this.count = 0;
    this.#lifetimes.length = 0;
  }

  /** Drops all references to the bytes of the page. */
  end(): void {
    this.#page = NO_PAGE;
    this.#pieces.begin(NO_PAGE);
    this.count = 0;
  }

  /** Adds the document of the row that `rekey` has read last. */
  add(scan: PageScan, row: number, rekey: Rekey): void {
    const pieces = this.#pieces;
    const { count } = this;
    const marks = this.#marks;
    const mark = count * MARKS;
    const { texts } = pieces;
    const from = texts.length;
    marks[mark + OPERATION_PIECE] = pieces.count;
    marks[mark + OPERATION_BYTE] = pieces.length;
    putCreate(texts, rekey.key);
    pieces.own(from);
    marks[mark + DOCUMENT_PIECE] = pieces.count;
    marks[mark + DOCUMENT_BYTE] = pieces.length;
    rekey.write(pieces);
    marks[mark + END_PIECE] = pieces.count;
    marks[mark + END_BYTE] = pieces.length;
    marks[mark + ETAG] = keyStart(scan, row, scan.nodes.etag);
    marks[mark + ETAG_END] = scan.end(row, scan.nodes.etag);
    if (rekey.lifetime !== undefined) this.#lifetimes[count] = rekey.lifetime;
    this.hashes.set(rekey.hashes, count * 8);
    this.effectiveKeys[count] = rekey.effectiveKey();
    this.count = count + 1;
  }

  /** Returns the index in `hashes` at which the hash of an entry's identity begins. The hash of its slot follows. */
  hashAt(entry: number): number {
    return entry * 8;
  }

  operationBytes(entry: number): number {
    return this.#mark(entry, END_BYTE) - this.#mark(entry, OPERATION_BYTE) + 1;
  }

  /**
   * Writes an operation into the body of a batch. The `ttl` of a document that expires is set to the seconds that are
   * left at `nowTs`.
   */
  writeOperation(entry: number, body: Buffer, at: number, nowTs: number): void {
    const end = this.#pieces.write(
      this.#mark(entry, OPERATION_PIECE),
      this.#mark(entry, END_PIECE),
      body,
      at,
    );
    body[end] = CLOSING_BRACE;
    const lifetime = this.#lifetimeFrom(entry, OPERATION_BYTE);
    if (lifetime !== undefined) refreshTtl(body.subarray(at, end + 1), lifetime, nowTs);
  }

  /** Returns a copy of the document of an entry. */
  document(entry: number): Buffer {
    const memory = Buffer.alloc(this.#mark(entry, END_BYTE) - this.#mark(entry, DOCUMENT_BYTE));
    this.#pieces.write(this.#mark(entry, DOCUMENT_PIECE), this.#mark(entry, END_PIECE), memory, 0);
    return memory;
  }

  /** Returns when a document expires, with the offset of its `ttl` in the document; undefined if it does not. */
  lifetime(entry: number): Lifetime | undefined {
    return this.#lifetimeFrom(entry, DOCUMENT_BYTE);
  }

  /** Returns the etag of an entry, as JSON text; '' if it has none. */
  etag(entry: number): string {
    const start = this.#mark(entry, ETAG);
    return start === 0 ? '' : this.#page.toString('utf8', start, this.#mark(entry, ETAG_END));
  }

  #lifetimeFrom(entry: number, mark: number): Lifetime | undefined {
    const lifetime = this.#lifetimes[entry];
    return lifetime && shifted(lifetime, this.#mark(entry, mark));
  }

  #mark(entry: number, which: number): number {
    return this.#marks[entry * MARKS + which] ?? 0;
  }
}
